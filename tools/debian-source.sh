#!/bin/sh
# Puts the source of a Debian package into a folder, as its authors released it:
#     debian-source.sh [--in-package | --package] [--suite SUITE] PACKAGE TARBALL SHA256 FOLDER
# TARBALL is the file's name in Debian, which contains the version. It is kept in the user's cache.
# apt-get fetches it with its own lists, under build/, so that the system does not change and no
# rights are needed. With --in-package it is not part of a source package but inside a package like
# gcc-12-source, and is taken from /usr/src if that is installed. With --package TARBALL is the
# package itself, PACKAGE_VERSION_all.deb, for libraries of headers only. --suite takes it from
# another suite of Debian than the system's. SHA256 may be -: apt-get has checked the signature.
set -eu

kind=deb-src
lists=apt
what="source package"
case $1 in
--in-package | --package)
	kind=deb
	lists=apt-packages
	[ "$1" = --in-package ] || what=package
	shift
	;;
esac
suite=
if [ "$1" = --suite ]; then
	suite=$2
	lists=$lists-$suite
	shift 2
fi
package=$1
tarball=$2
sum=$3
mkdir -p "$4"
folder=$(cd "$4" && pwd)
here=$(cd "$(dirname "$0")" && pwd)
case ${XDG_CACHE_HOME-} in
/*) cache=$XDG_CACHE_HOME/margay ;;
*) cache=${HOME:-/nonexistent}/.cache/margay ;; # a relative one does not count (as in paths.py)
esac
apt=$here/../build/$lists
[ -f "$here/../Makefile" ] || apt=$folder/$lists         # installed

is_right() {
	[ -f "$1" ] && { [ "$sum" = - ] || echo "$sum  $1" | sha256sum --check --status; }
}

fail() {
	echo "debian-source.sh: $1" >&2
	exit 1
}

# The system's own package sources, with source packages added; the keys are the system's.
prepare() {
	mkdir -p "$apt/sources.list.d" "$apt/lists/partial" "$apt/cache/archives/partial"
	apt=$(cd "$apt" && pwd)
	for list in /etc/apt/sources.list.d/*.sources; do
		if [ -f "$list" ]; then
			sed "s/^Types:.*/Types: $kind/${suite:+; s/^Suites:.*/Suites: $suite/}" "$list" \
				>"$apt/sources.list.d/$(basename "$list")"
		fi
	done
	for list in /etc/apt/sources.list /etc/apt/sources.list.d/*.list; do
		if [ -f "$list" ]; then
			sed -n "s/^deb[[:space:]]/$kind /p" "$list" | if [ -n "$suite" ]; then
				sed -E "s,^([a-z-]+( +\[[^]]*\])? +[^ ]+ +)[^ ]+,\1$suite,"
			else
				cat
			fi
		fi
	done >"$apt/sources.list"
	cat >"$apt/apt.conf" <<-END
		#clear APT::Update::Post-Invoke;
		#clear APT::Update::Post-Invoke-Success;
		APT::Sandbox::User "root";
		Dir::Etc::sourcelist "$apt/sources.list";
		Dir::Etc::sourceparts "$apt/sources.list.d";
		Dir::State::lists "$apt/lists";
		Dir::Cache "$apt/cache";
		Acquire::Languages "none";
	END
}

# The versions of the source package that contain the tarball. All have the same one, but a mirror
# may lack the newest version's.
versions() {
	apt-cache -c "$apt/apt.conf" showsrc "$package" 2>>"$log" |
		awk -v tarball="$tarball" '$1 == "Version:" { version = $2 }
			$NF == tarball { print version }' | uniq
}

# Only the authors' file is needed: other files of the package may be missing.
get() {
	rm -rf "$apt/got"
	mkdir -p "$apt/got"
	status=0
	if [ $kind = deb-src ]; then
		for version in "" $(versions); do
			status=0
			(cd "$apt/got" && apt-get -c "$apt/apt.conf" source --download-only \
				--tar-only "$package${version:+=$version}") >>"$log" 2>&1 ||
				status=$?
			[ ! -f "$apt/got/$tarball" ] || break
		done
	elif [ "$what" = package ]; then
		(cd "$apt/got" && apt-get -c "$apt/apt.conf" download "$package") \
			>>"$log" 2>&1 || status=$?
	else
		(cd "$apt/got" && apt-get -c "$apt/apt.conf" download "$package" &&
			{ dpkg-deb --fsys-tarfile "$package"_*.deb |
				tar -x --wildcards --transform='s,.*/,,' "*/$tarball" || true; }
			) >>"$log" 2>&1 || status=$?
		rm -f "$apt/got/$package"_*.deb
	fi
	[ -f "$apt/got/$tarball" ]
}

download() {
	mkdir -p "$apt"
	exec 8>"$apt/lock"
	flock 8
	prepare
	log=$apt/log
	: >"$log"
	echo "$package: downloading Debian's $what"
	# The lists of an earlier call are good while they find the package. A list that cannot be
	# fetched matters only if it has the package.
	get || {
		apt-get -c "$apt/apt.conf" update >>"$log" 2>&1 || true
		get || {
			[ $status != 0 ] || fail "Debian has another version of $package:
put $tarball into $cache"
			tail -n 5 "$log" >&2
			fail "apt-get could not download the $what $package;
without a network put $tarball into $cache$other"
		}
	}
	is_right "$apt/got/$tarball" || fail "$tarball is not the one that was expected (sha256 $sum)"
}

if is_right "$folder/$tarball"; then
	exit 0
fi
other=
[ $kind = deb-src ] || [ "$what" = package ] || other=", or install $package"
for place in "$cache" "/usr/src/${package%-source}"; do
	if is_right "$place/$tarball"; then
		cp "$place/$tarball" "$folder/$tarball"
		exit 0
	fi
done
download
# First under another name, then moved: another build may look for it now.
if mkdir -p "$cache" 2>/dev/null && cp "$apt/got/$tarball" "$cache/$tarball.$$" 2>/dev/null; then
	mv "$cache/$tarball.$$" "$cache/$tarball"
fi
mv "$apt/got/$tarball" "$folder/$tarball"
rm -rf "$apt/got"
