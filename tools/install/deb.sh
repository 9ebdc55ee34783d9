#!/bin/sh
# Makes Debian packages of what make has built:  tools/install/deb.sh FOLDER
# FOLDER gets margay_VERSION-1_amd64.deb, and margay-mpi_VERSION-1_amd64.deb if make mpi has built
# MPI. What the first depends on is in tools/packages.txt; the
# times in it are SOURCE_DATE_EPOCH, or of the last commit. The maintainer is DEBFULLNAME
# and DEBEMAIL; with that set lintian finds no error.
set -eu
umask 022

if ! command -v dpkg-deb >/dev/null; then
	echo "deb: dpkg-deb is not installed: packages are made on Debian" >&2
	exit 1
fi
folder=$1
cd "$(dirname "$0")/../.."
version=$(sed -n 's/^VERSION = "\(.*\)"/\1/p' tools/margaylib/__init__.py)-1
maintainer="${DEBFULLNAME:-The Margay authors} <${DEBEMAIL:-margay@localhost}>"
if [ -z "${SOURCE_DATE_EPOCH:-}" ]; then
	SOURCE_DATE_EPOCH=$(git log -1 --format=%ct 2>/dev/null || stat -c %Y CHANGES.md)
fi
export SOURCE_DATE_EPOCH
work=$(mktemp -d "$(realpath "$folder")/deb-XXXXXX") # beside the target, for a rename at the end
trap 'rm -rf "$work"' EXIT
trap 'exit 130' INT
trap 'exit 143' TERM
root=$work/root

tools/install/install.sh --no-bytecode "$root" /usr
# The package of MPI: its libraries, and the commands that need them.
mpi=$work/mpi
if [ -f "$root/usr/lib/margay/pkgconfig/mpich.pc" ]; then
	install -d "$mpi/usr/bin" "$mpi/usr/share/man/man1" "$mpi/usr/lib/margay/languages" \
		"$mpi/usr/lib/margay/pkgconfig" "$mpi/usr/share/doc/margay-mpi"
	mv "$root"/usr/lib/margay/languages/mpi-* "$mpi/usr/lib/margay/languages"
	mv "$root/usr/lib/margay/pkgconfig/mpich.pc" "$mpi/usr/lib/margay/pkgconfig"
	cat "$root/usr/share/doc/margay/copyright" "$mpi"/usr/lib/margay/languages/mpi-*/COPYRIGHT \
		>"$mpi/usr/share/doc/margay-mpi/copyright"
	mv "$root"/usr/bin/mpi*.margay "$mpi/usr/bin"
	mv "$root"/usr/share/man/man1/mpi*.margay.1 "$mpi/usr/share/man/man1"
	find "$mpi/usr/share/man" -type f -exec gzip -9n {} +
else
	rm "$root"/usr/bin/mpi*.margay "$root"/usr/share/man/man1/mpi*.margay.1
fi
find "$root/usr/share/man" -type f -exec gzip -9n {} +
mv "$root/usr/share/doc/margay/CHANGES.md" "$root/usr/share/doc/margay/changelog"
cat >"$root/usr/share/doc/margay/changelog.Debian" <<END
margay ($version) bookworm; urgency=medium

  * Made by the project itself; its changes are in changelog.gz.

 -- $maintainer  $(LC_ALL=C date -u -d "@$SOURCE_DATE_EPOCH" '+%a, %d %b %Y %T +0000')
END
gzip -9n "$root/usr/share/doc/margay/changelog" "$root/usr/share/doc/margay/changelog.Debian"

# Lintian's warnings that do not apply.
install -d "$root/usr/share/lintian/overrides"
cat >"$root/usr/share/lintian/overrides/margay" <<'END'
# POSIX's other libraries are empty: everything is in libc.a.
margay: no-code-sections
# The flags are for programs of nodes, which are not for Linux.
margay: pkg-config-bad-directive
margay: pkg-config-unavailable-for-cross-compilation
# Static, because it starts each QEMU and must start fast itself.
margay: statically-linked-binary
END

# The packages of the given needs, without duplicates: `a, b`.
packages() {
	for need in "$@"; do
		sed -n "s/^$need  *//p" tools/packages.txt
	done | tr -s ' ' '\n' | LC_ALL=C sort -u | sed ':a; N; $!ba; s/\n/, /g'
}

# The C library's version that the one dynamically linked program needs.
libc=$(objdump -T "$root/usr/lib/margay/tools/switch" |
	sed -n 's/.*GLIBC_\([0-9.]*\).*/\1/p' | sort -uV | tail -n 1)
# What the statically linked program contains.
glibc=$(dpkg-query -W -f '${source:Version}' libc6-dev)
# The source of the libraries of C++ and Fortran, if the package has them.
gcc=
if grep -q 'libraries of GCC' "$root/usr/share/doc/margay/copyright"; then
	gcc=", $(dpkg-query -W -f '${source:Package} (= ${source:Version})' gcc-12)"
fi

mkdir "$root/DEBIAN"
cat >"$root/DEBIAN/control" <<END
Package: margay
Version: $version
Architecture: amd64
Maintainer: $maintainer
Installed-Size: $(du -sk --apparent-size --exclude=DEBIAN "$root" | cut -f 1)
Depends: libc6 (>= $libc), $(packages run cc)
Recommends: $(packages languages)
Suggests: $(packages gdb iso), pkgconf, cmake
Built-Using: glibc (= $glibc)$gcc
Section: devel
Priority: optional
Description: parallel programs on a kernel for compute nodes
 Margay is a kernel for the compute nodes of parallel machines, in the line of
 SUNMOS, Puma and Cougar: one kernel, one application, one image, and messages
 by Portals 3 that the kernel delivers into the application's memory.
 .
 This package has the compiler driver (margay cc) with the C library of the
 nodes, and the launcher (margay run), which boots nodes under QEMU as an
 ordinary user, runs a job on them and returns its exit status.
END
cat >"$root/DEBIAN/postinst" <<'END'
#!/bin/sh
set -e
if [ "$1" = configure ] && command -v py3compile >/dev/null; then
	py3compile -p margay /usr/lib/margay
fi
END
cat >"$root/DEBIAN/prerm" <<'END'
#!/bin/sh
set -e
rm -rf /usr/lib/margay/tools/margaylib/__pycache__
END
chmod 755 "$root/DEBIAN/postinst" "$root/DEBIAN/prerm"

# packed NAME TREE: its last file and the package
packed() {
	(cd "$2" && find usr -type f | LC_ALL=C sort | xargs md5sum) >"$2/DEBIAN/md5sums"
	package=$1_${version}_amd64.deb
	dpkg-deb --root-owner-group --build "$2" "$work/$package" >/dev/null
	mv "$work/$package" "$folder/$package"
	echo "deb: $folder/$package"
}
packed margay "$root"
[ -d "$mpi" ] || exit 0

changelog=usr/share/doc/margay/changelog.Debian.gz
gunzip -c "$root/$changelog" | sed '1s/^margay /margay-mpi /' | gzip -9n \
	>"$mpi/usr/share/doc/margay-mpi/changelog.Debian.gz"
install -d "$mpi/usr/share/lintian/overrides" "$mpi/DEBIAN"
echo 'margay-mpi: pkg-config-unavailable-for-cross-compilation' \
	>"$mpi/usr/share/lintian/overrides/margay-mpi"
cat >"$mpi/DEBIAN/control" <<END
Package: margay-mpi
Source: margay
Version: $version
Architecture: amd64
Maintainer: $maintainer
Installed-Size: $(du -sk --apparent-size --exclude=DEBIAN "$mpi" | cut -f 1)
Depends: margay (= $version)
Recommends: $(packages languages)
Section: devel
Priority: optional
Description: MPI on a kernel for compute nodes
 MPI for programs in C, C++ and Fortran on the nodes of Margay: MPICH over Portals 3.
 Its commands are mpicc.margay, mpicxx.margay, mpifort.margay and mpiexec.margay;
 update-alternatives --config mpi makes them mpicc and so on.
END
# Debian's MPIs have 40 and 50: this one is chosen by hand, or if it is the only one.
cat >"$mpi/DEBIAN/postinst" <<'END'
#!/bin/sh
set -e
if [ "$1" = configure ]; then
	update-alternatives --install /usr/bin/mpicc mpi /usr/bin/mpicc.margay 5 \
		--slave /usr/bin/mpic++ mpic++ /usr/bin/mpicxx.margay \
		--slave /usr/bin/mpicxx mpicxx /usr/bin/mpicxx.margay \
		--slave /usr/bin/mpiCC mpiCC /usr/bin/mpicxx.margay \
		--slave /usr/bin/mpifort mpifort /usr/bin/mpifort.margay \
		--slave /usr/bin/mpif77 mpif77 /usr/bin/mpifort.margay \
		--slave /usr/bin/mpif90 mpif90 /usr/bin/mpifort.margay
	update-alternatives --install /usr/bin/mpirun mpirun /usr/bin/mpirun.margay 5 \
		--slave /usr/bin/mpiexec mpiexec /usr/bin/mpiexec.margay
fi
END
cat >"$mpi/DEBIAN/prerm" <<'END'
#!/bin/sh
set -e
if [ "$1" = remove ] || [ "$1" = deconfigure ]; then
	update-alternatives --remove mpi /usr/bin/mpicc.margay
	update-alternatives --remove mpirun /usr/bin/mpirun.margay
fi
END
chmod 755 "$mpi/DEBIAN/postinst" "$mpi/DEBIAN/prerm"
packed margay-mpi "$mpi"
