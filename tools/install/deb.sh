#!/bin/sh
# Makes a Debian package of what make has built:  tools/install/deb.sh FOLDER
# FOLDER gets margay_VERSION-1_amd64.deb. What it depends on is in tools/packages.txt; the
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
work=$(mktemp -d "$(realpath "$folder")/deb-XXXXXX") # beside the package, which then appears at once
trap 'rm -rf "$work"' EXIT
trap 'exit 130' INT
trap 'exit 143' TERM
root=$work/root

tools/install/install.sh --no-bytecode "$root" /usr
find "$root/usr/share/man" -type f -exec gzip -9n {} +
mv "$root/usr/share/doc/margay/CHANGES.md" "$root/usr/share/doc/margay/changelog"
cat >"$root/usr/share/doc/margay/changelog.Debian" <<END
margay ($version) bookworm; urgency=medium

  * Made by the project itself; its changes are in changelog.gz.

 -- $maintainer  $(LC_ALL=C date -u -d "@$SOURCE_DATE_EPOCH" '+%a, %d %b %Y %T +0000')
END
gzip -9n "$root/usr/share/doc/margay/changelog" "$root/usr/share/doc/margay/changelog.Debian"

# What lintian need not say.
install -d "$root/usr/share/lintian/overrides"
cat >"$root/usr/share/lintian/overrides/margay" <<'END'
# Those that POSIX names are empty: all is in libc.a.
margay: no-code-sections
# The flags are for programs of nodes, which are not for Linux.
margay: pkg-config-bad-directive
margay: pkg-config-unavailable-for-cross-compilation
# It starts the QEMUs, and itself in no time.
margay: statically-linked-binary
END

# The packages of the needs given, each once: `a, b`.
packages() {
	for need in "$@"; do
		sed -n "s/^$need  *//p" tools/packages.txt
	done | tr -s ' ' '\n' | LC_ALL=C sort -u | sed ':a; N; $!ba; s/\n/, /g'
}

# What the one program that is linked dynamically wants of the C library.
libc=$(objdump -T "$root/usr/lib/margay/tools/switch" |
	sed -n 's/.*GLIBC_\([0-9.]*\).*/\1/p' | sort -uV | tail -n 1)
# What the one that is linked statically contains.
glibc=$(dpkg-query -W -f '${source:Version}' libc6-dev)
# What the libraries of C++ and Fortran are, if they are in it.
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
(cd "$root" && find usr -type f | LC_ALL=C sort | xargs md5sum) >"$root/DEBIAN/md5sums"

package=margay_${version}_amd64.deb
dpkg-deb --root-owner-group --build "$root" "$work/$package" >/dev/null
mv "$work/$package" "$folder/$package"
echo "deb: $folder/$package"
