# What the scripts that build the libraries of C++ and Fortran share with mpi/mpich.sh. Each of them
# reads this file, sets `title`, and is called by tools/margaylib/languages.py with
#     NAME.sh DESTINATION
# which builds the library into that folder, once. The work is done beside the destination and moved
# there at the end; two builders wait for each other. The environment, all of it shell text:
#     MARGAY_CC MARGAY_CXX MARGAY_FC   the host's compilers
#     MARGAY_VERSION                   their version, which is that of the source
#     MARGAY_COMPILE MARGAY_LINK       what `margay cc` adds to compile and to link
# It speaks on standard error: standard output belongs to the compiler.
set -eu
umask 022
exec 1>&2

# The source's project, and its licence files.
origin=GCC
licences="COPYING.RUNTIME COPYING3"

# Sets dest, work, log and jobs, and takes the lock.
#     begin DESTINATION MINUTES
begin() {
	mkdir -p "$(dirname "$1")"
	dest=$(cd "$(dirname "$1")" && pwd)/$(basename "$1")
	case $dest in
	*[[:space:]]*)
		echo "margay: error: $origin cannot be built in a folder with a space in its name: $dest"
		echo "margay: name another place: XDG_CACHE_HOME=FOLDER"
		exit 1
		;;
	esac
	exec 9>"$dest.lock"
	flock 9
	if [ -f "$dest/stamp" ]; then
		exit 0                   # another builder was faster
	fi
	echo "margay: building the $title library for nodes, once: about $2"
	work=$dest.work
	rm -rf "$work"
	mkdir -p "$work/bin" "$work/build" "$work/install"
	log=$work/log
	: >"$log"
	jobs=$(nproc)
	unset MAKELEVEL MAKEFILES MAKEFLAGS MFLAGS MAKEOVERRIDES CFLAGS CXXFLAGS FCFLAGS LDFLAGS \
		CONFIG_SITE CPATH LIBRARY_PATH CPLUS_INCLUDE_PATH C_INCLUDE_PATH
	export LC_ALL=C CONFIG_SHELL=/bin/sh
}

fail() {
	tail -n 20 "$log"
	echo "$title: $1 failed; the whole output is in $log"
	exit 1
}

need() {
	for name; do
		command -v "$name" >/dev/null || {
			echo "margay: error: $name is not installed, and building the $title library needs it"
			echo "margay: install what is missing of: apt install make xz-utils $MARGAY_PACKAGES"
			exit 1
		}
	done
}

# Unpacks the named parts of GCC's source into $source, without tests and pages.
#     unpack PART...
unpack() {
	case $MARGAY_VERSION in
	12.2.0) sum=50c63ff82919323c25fbbb4a9eae259edc974118a0fb30c905190cb782ec11c2 ;;
	*) sum=- ;;                      # the package is signed
	esac
	package=gcc-${MARGAY_VERSION%%.*}-source
	tarball=gcc-$MARGAY_VERSION-dfsg.tar.xz
	"$here/../tools/debian-source.sh" --in-package "$package" "$tarball" "$sum" "$work" || exit 1
	source=$work/gcc-$MARGAY_VERSION
	tar -xf "$work/$tarball" -C "$work" --no-same-owner --exclude='*/testsuite' --exclude='*/doc' \
		--exclude='*/ChangeLog*' $(printf "gcc-$MARGAY_VERSION/%s " "$@" config include libgcc \
		config.guess config.sub config.rpath config-ml.in install-sh ltmain.sh missing \
		mkinstalldirs move-if-change compile depcomp multilib.am COPYING.RUNTIME COPYING3 \
		gcc/BASE-VER gcc/DATESTAMP) >>"$log" 2>&1 || fail "unpacking $tarball"
	rm "$work/$tarball"
	# The C library's thread functions, for one thread; GCC's own configure makes this link.
	mkdir -p "$work/build/libgcc"
	cp "$source/libgcc/gthr-posix.h" "$work/build/libgcc/gthr-default.h"
}

# $work/bin/NAME: a compiler that makes and links programs for nodes, so that configure finds what
# nodes have. Its result cannot run on the host, and configure is told so.
#     wrapper NAME COMPILER [WHAT LINKING ADDS]
wrapper() {
	cat >"$work/bin/$1" <<-EOF
		#!/bin/sh
		for word; do
			case \$word in
			-c | -S | -E | -M | -MM | -fsyntax-only | -v | -V | -qversion | -dump* | -print* | --version)
				exec $2 $MARGAY_COMPILE $library_flags "\$@" ;;
			esac
		done
		exec $2 $MARGAY_COMPILE $library_flags "\$@" -x none ${3:-$MARGAY_LINK}
	EOF
	chmod 755 "$work/bin/$1"
}

# Tables for unwinding, and one section for each function, so that the linker drops unused ones.
library_flags="-ffunction-sections -fdata-sections -fexceptions -fasynchronous-unwind-tables -w"

# Two names for one machine: configure then only links programs, and runs none.
machine=x86_64-margay-linux-musl
two_names="--build=amd64-margay-linux-musl --host=$machine --target=$machine"

# Moves $work/install to its place.
finish() {
	find "$work/install" -name '*.a' -exec strip --strip-debug {} +
	find "$work/install" -name '*.la' -delete
	# shellcheck disable=SC2086 # names
	(cd "$source" && cp $licences "$work/install")
	echo "$MARGAY_VERSION" >"$work/install/stamp"
	rm -rf "$dest"
	mv "$work/install" "$dest"
	rm -rf "$work" "$dest.lock"
}
