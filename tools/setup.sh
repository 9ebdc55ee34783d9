#!/bin/sh
# Installs the Debian packages that are missing for the needs given:
#     tools/setup.sh [--dry-run] NEED...     (build run iso languages check ...)
# tools/packages.txt lists them. Called by make before everything else, so it
# costs one dpkg-query when nothing is missing. As root or with sudo it runs
# apt-get with the sources that apt has; otherwise it prints the command.
set -eu

list=$(dirname "$0")/packages.txt
dry=no
if [ "${1:-}" = --dry-run ]; then
	dry=yes
	shift
fi

wanted=
for need in "$@"; do
	found=no
	while read -r name packages; do
		if [ "$name" = "$need" ]; then
			wanted="$wanted $packages"
			found=yes
		fi
	done <"$list"
	if [ $found = no ]; then
		echo "setup: unknown need '$need'; $list lists them" >&2
		exit 2
	fi
done
[ -n "$wanted" ] || exit 0

if ! command -v dpkg-query >/dev/null; then
	echo "setup: this is not Debian: install the equivalents of:$wanted" >&2
	exit 0
fi
# shellcheck disable=SC2086 # a list of words
present=$(dpkg-query -W -f='${db:Status-Status} ${Package}\n' $wanted 2>/dev/null || true)
missing=
for package in $wanted; do
	case "
$present
" in
	*"
installed $package
"*) continue ;;
	esac
	case " $missing " in
	*" $package "*) ;;
	*) missing="${missing:+$missing }$package" ;;
	esac
done
[ -n "$missing" ] || exit 0

install="apt-get install --no-install-recommends -y $missing"
if [ $dry = yes ]; then
	echo "$install"
	exit 0
fi

if [ "$(id -u)" = 0 ]; then
	sudo=
elif command -v sudo >/dev/null && sudo -n true 2>/dev/null; then
	sudo=sudo
elif command -v sudo >/dev/null && [ -t 0 ] && [ -t 2 ]; then
	echo "setup: sudo is needed to install: $missing"
	sudo=sudo
else
	echo "setup: these packages are missing: $missing" >&2
	echo "setup: install them as root, then try again:" >&2
	echo "    $install" >&2
	exit 1
fi

root() {
	if [ -n "$sudo" ]; then
		sudo env DEBIAN_FRONTEND=noninteractive "$@"
	else
		DEBIAN_FRONTEND=noninteractive "$@"
	fi
}

log=$(mktemp)
trap 'rm -f "$log"' EXIT
trap 'exit 130' INT
trap 'exit 143' TERM

# Names the step; shows its output only when it fails.
step() {
	echo "setup: $1"
	shift
	root "$@" >"$log" 2>&1
}

failed() {
	tail -n 20 "$log" >&2
	echo "setup: $1; by hand:" >&2
	echo "    apt-get update && $install" >&2
	exit 1
}

# Package lists may be absent, or older than the mirror's versions.
# shellcheck disable=SC2086
if ! step "installing $missing" $install; then
	step "apt-get update" apt-get update || failed "apt-get update failed"
	step "installing again" $install || failed "the packages could not be installed"
fi
echo "setup: done"
