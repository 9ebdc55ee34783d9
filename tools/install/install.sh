#!/bin/sh
# Installs what make has built, or removes it:
#     tools/install/install.sh [--no-bytecode] DESTDIR PREFIX
#     tools/install/install.sh --uninstall DESTDIR PREFIX
# DESTDIR may be empty; the tree below it may be moved, as nothing in it contains its path.
#
#     PREFIX/bin/margay, mpicc.margay, mpicxx.margay, mpifort.margay, mpiexec.margay,
#         mpirun.margay, x86_64-margay-gcc, x86_64-margay-ar ...   links into lib/margay/tools
#     PREFIX/lib/margay                    laid out like the checkout, without pages:
#         tools/ include/ cmake/ languages/ mpi/ lib/ linker.ld and, of build/, the kernels, the
#         C library ..., and the libraries of C++, Fortran and MPI if make languages and make mpi
#         have built them
#     PREFIX/lib/margay/pkgconfig/         mpich.pc, if MPI is there, margay.pc, and a file for
#         each library of lib/ that has headers for programs
#     PREFIX/lib/pkgconfig/margay.pc
#     PREFIX/share/man/man1, share/bash-completion/completions, share/doc/margay
#
# The plain names mpicc and mpich.pc belong to the system's MPI. Margay's are mpicc.margay ..., as
# Debian's are mpicc.mpich ...: the Debian package registers them with update-alternatives.
set -eu
umask 022

here=$(cd "$(dirname "$0")" && pwd)
python=/usr/bin/python3
bytecode=yes
remove=no
case ${1:-} in
--no-bytecode) bytecode=no; shift ;;
--uninstall) remove=yes; shift ;;
esac
destdir=$1
prefix=$2
case $destdir$prefix in
/*) ;;
*)
	echo "install: PREFIX=$prefix is not an absolute path" >&2
	exit 2
	;;
esac
case $prefix in
/*) ;;
*)
	echo "install: PREFIX=$prefix is not an absolute path" >&2
	exit 2
	;;
esac
at=$destdir${prefix%/}
top=$at/lib/margay
man=$at/share/man/man1

rm -rf "$top" "$at/share/doc/margay"
rm -f "$at/bin/margay" "$at"/bin/mpi*.margay "$at"/bin/x86_64-margay-* "$man/margay.1" \
	"$man"/margay-*.1 "$man"/mpi*.margay.1 "$at/share/bash-completion/completions/margay" \
	"$at/lib/pkgconfig/margay.pc"
[ $remove = no ] || exit 0

cd "$here/../.."
install -d "$at/bin" "$top/tools/margaylib" "$top/tools/wireshark" "$top/sysroot" \
	"$top/languages" "$top/mpi" "$top/lib/pmi/slurm" "$top/pkgconfig" \
	"$at/lib/pkgconfig" "$man" "$at/share/bash-completion/completions" \
	"$at/share/doc/margay/examples"

# -B: no run writes bytecode into this tree, not even root's.
for script in margay mpicc; do
	sed '1s/ -IS$/ -ISB/' tools/$script >"$top/tools/$script"
	chmod 755 "$top/tools/$script"
done
find tools -name 'mpi*' -type l -exec cp -P -t "$top/tools" {} +
cp -P tools/x86_64-margay-* "$top/tools"
install -m 755 tools/debian-source.sh "$top/tools"
install -m 644 languages/*.sh "$top/languages"
install -m 644 mpi/*.sh mpi/*.c "$top/mpi"
install -m 644 lib/pmi/pmi.h "$top/lib/pmi"
install -m 644 lib/pmi/slurm/pmi.h "$top/lib/pmi/slurm"
for folder in lib/*/include; do
	install -d "$top/$folder"
	install -m 644 "$folder"/*.h "$top/$folder"
done
if [ -d build/libtirpc/include ]; then           # make vrpc
	cp -R build/libtirpc/include "$top/lib/vmmc/tirpc"
fi
install -m 644 build/lib/*.a "$top/lib"
install -m 644 tools/margaylib/*.py "$top/tools/margaylib"
install -m 644 tools/wireshark/*.lua "$top/tools/wireshark"
install -s -m 755 build/tools/spawn build/tools/switch "$top/tools"
cp -R include cmake "$top"
cp -R build/sysroot/include build/sysroot/lib build/sysroot/COPYRIGHT \
	build/sysroot/stamp "$top/sysroot"
install -m 644 linker.ld build/crt0.o build/kernel.o build/kernel-selftests.o build/libmargay.a \
	build/region.json "$top"
libraries=no
for words in c++ fortran "cc -fopenmp"; do
	# shellcheck disable=SC2086 # two words
	if folder=$(tools/margay $words --where 2>/dev/null); then
		cp -R "$folder" "$top/languages"
		libraries=yes
	fi
done
if folder=$(tools/mpicc --where 2>/dev/null); then
	cp -R "$folder" "$top/languages"
	# shellcheck disable=SC2016 # the variables are pkg-config's
	$python -IBS tools/install/pkgconfig.py "$top/pkgconfig/mpich.pc" \
		"\${pcfiledir}/../languages/$(basename "$folder")" '${pcfiledir}/../lib'
fi
# shellcheck disable=SC2016 # the variables are pkg-config's
$python -IBS tools/install/pkgconfig.py "$top/pkgconfig/margay.pc" '${pcfiledir}/..' '${root}'
if [ -d build/libtirpc/include ]; then
	# shellcheck disable=SC2016 # the variables are pkg-config's
	$python -IBS tools/install/pkgconfig.py "$top/pkgconfig/vrpc.pc" '${pcfiledir}/..' \
		'${root}/lib'
fi
for folder in lib/*/include; do
	name=$(basename "$(dirname "$folder")")
	# shellcheck disable=SC2016 # the variables are pkg-config's
	$python -IBS tools/install/pkgconfig.py "$top/pkgconfig/$name.pc" '${pcfiledir}/..' \
		'${root}/lib'
done
chmod -R u=rwX,go=rX "$top"
ln -s ../lib/margay/tools/margay "$at/bin/margay"
for name in mpicc mpicxx mpifort mpiexec mpirun; do
	ln -s ../lib/margay/tools/$name "$at/bin/$name.margay"
done
for name in tools/x86_64-margay-*; do
	[ "$name" != tools/x86_64-margay-binutils ] || continue
	ln -s "../lib/margay/$name" "$at/bin/$(basename "$name")"
done

# shellcheck disable=SC2016 # the variable is pkg-config's
$python -IBS tools/install/pkgconfig.py "$at/lib/pkgconfig/margay.pc" \
	'${pcfiledir}/../margay' '${root}'
$python -IBS tools/install/pages.py "$man" "$at/share/bash-completion/completions/margay"
install -m 644 README.md CHANGES.md docs/*.md docs/*.json docs/*.svg "$at/share/doc/margay"
install -m 644 apps/*.c apps/*.h "$at/share/doc/margay/examples"
{
	cat LICENSE
	echo
	echo "The folder lib/margay/sysroot is musl, with changes; applications contain it:"
	echo
	cat build/sysroot/COPYRIGHT
	echo
	if [ $libraries = yes ]; then
		echo "The folders in lib/margay/languages are libraries of GCC, whose licence is the GNU"
		echo "General Public License, version 3, with the GCC Runtime Library Exception: the files"
		echo "COPYING3 and COPYING.RUNTIME in each of them. Applications contain them. Their source"
		echo "is in Debian's package gcc-12-source."
		echo
	fi
	echo "The folder lib/margay/languages/mpi-..., if it is there, is MPICH, from Debian's source"
	echo "package mpich. Its licence is the file COPYRIGHT in it. Applications of mpicc contain it."
	echo
	if [ -d build/libtirpc ]; then
		echo "The library lib/margay/lib/libvrpc.a and the folder lib/margay/lib/vmmc/tirpc are"
		echo "parts of libtirpc, from Debian's source package libtirpc; applications contain them:"
		echo
		cat build/libtirpc/COPYING
		echo
	fi
	echo "The program lib/margay/tools/spawn contains parts of the GNU C library, whose"
	echo "licence is the GNU Lesser General Public License, version 2.1 or later."
	echo "On Debian it is /usr/share/common-licenses/LGPL-2.1; the source of the library is"
	echo "Debian's source package glibc."
} >"$at/share/doc/margay/copyright"
chmod 644 "$at/lib/pkgconfig/margay.pc" "$man"/*margay*.1 "$at/share/doc/margay/copyright" \
	"$at/share/bash-completion/completions/margay"

if [ $bytecode = yes ]; then
	if [ -n "$destdir" ]; then
		set -- -s "$destdir" -p /
	else
		set --
	fi
	$python -IS -m compileall -q "$@" "$top/tools/margaylib"
fi
