#!/bin/sh
# Builds newlib (libc.a, libm.a and their headers) from Debian's newlib-source
# into the folder given, once: called by make with
#     newlib.sh DESTINATION
# The work is done beside the destination and moved there as its last act, so
# that an interrupted build leaves nothing that looks finished. The file
# "stamp" in the destination names the configuration; when it already names
# this one there is nothing to do.
set -eu

mkdir -p "$(dirname "$1")"
dest=$(cd "$(dirname "$1")" && pwd)/$(basename "$1")
here=$(cd "$(dirname "$0")" && pwd)
tarball=$(ls /usr/src/newlib/newlib-*.tar.* 2>/dev/null | sort | tail -n 1)
if [ -z "$tarball" ]; then
	echo "newlib.sh: no newlib source in /usr/src/newlib; install the package newlib-source" >&2
	exit 1
fi
cc=${CC:-gcc}

# What an application is compiled with, as far as it changes code in libraries.
flags="-O2 -g1 -gno-column-info -gno-statement-frontiers -std=gnu17 \
-fstack-clash-protection -fno-omit-frame-pointer -fno-pic -no-pie -mcmodel=small \
-fcf-protection=none -fno-stack-protector -ffunction-sections -fdata-sections \
-fno-strict-aliasing -U_FORTIFY_SOURCE -U__linux__ -U__gnu_linux__ -Ulinux -U__unix__ -Uunix \
-D__margay__ -w"
# Debian's gcc looks into /usr/include by itself: take only its own headers.
flags="$flags -nostdinc -isystem $($cc -print-file-name=include)"
# sleep() and usleep() through nanosleep, stdio buffers of st_blksize bytes; no
# files of users and terminals.
features="-DHAVE_NANOSLEEP -DHAVE_BLKSIZE -DHAVE_FCNTL -DHAVE_RENAME \
-D_NO_GETLOGIN -D_NO_GETPWENT -D_NO_GETUT -D_NO_GETPASS"
options="--target=x86_64-elf --disable-multilib --disable-libgloss \
--disable-newlib-supplied-syscalls --enable-newlib-io-c99-formats \
--enable-newlib-io-long-long --enable-newlib-io-long-double \
--enable-newlib-io-pos-args --enable-newlib-mb --disable-newlib-atexit-alloc \
--disable-nls"

# Two makes at once: the second finds the work of the first.
exec 9>"$dest.lock"
flock 9

stamp=$(cat "$0" "$here/dirent.h" "$here/tgmath.h" "$tarball" | sha256sum; $cc -dumpfullversion)
if [ -f "$dest/stamp" ] && [ "$(cat "$dest/stamp")" = "$stamp" ]; then
	touch "$dest/stamp"
	exit 0
fi

work=$dest.work
rm -rf "$work"
mkdir -p "$work/source" "$work/build" "$work/install"
log=$work/log

fail() {
	tail -n 20 "$log" >&2
	echo "newlib.sh: $1 failed; the whole output is in $log" >&2
	exit 1
}

echo "newlib: unpacking $(basename "$tarball")"
tar -xf "$tarball" -C "$work/source" --strip-components=1
# An unknown system gets system calls without the underscore, which would take
# names like link and times away from applications: choose the wrappers.
sed -i '/^  z8k-\*-\*)/,/^esac/{
	s/-DMISSING_SYSCALL_NAMES"/'"$features"'"/
	s/syscall_dir=$/syscall_dir=syscalls\
	posix_dir=posix\
	unix_dir=unix/
}' "$work/source/newlib/configure.host"
# What this system has, for the headers to declare: clocks, a clock() in
# microseconds as POSIX wants it, long double functions.
include=$work/source/newlib/libc/include
cp "$here/dirent.h" "$include/sys/dirent.h"
cp "$here/tgmath.h" "$include/tgmath.h"
sed -i '/^#ifdef __rtems__/i\
#ifdef __margay__\
#define _POSIX_TIMERS 1\
#define _POSIX_MONOTONIC_CLOCK 200112L\
#define _POSIX_CLOCK_SELECTION 1\
#define _POSIX_CPUTIME 1\
#define _POSIX_THREAD_CPUTIME 1\
#endif' "$include/sys/features.h"
sed -i 's/^#if defined (_LDBL_EQ_DBL) || defined (__CYGWIN__)$/& || defined (__margay__)/' \
	"$include/math.h"
sed -i 's/^#if defined(__CYGWIN__)$/& || defined(__margay__)/' "$include/complex.h"
sed -i 's/^#if defined(__rtems__) ||/#if defined(__margay__) || defined(__rtems__) ||/' \
	"$include/machine/time.h"
# %La at full precision: libc-glue/math/ has the frexpl that newlib does without.
sed -i 's/^#  define FREXP(f,e) .*/#  define FREXP frexpl/' \
	"$work/source/newlib/libc/stdio/vfprintf.c" "$work/source/newlib/libc/stdio/vfwprintf.c"

# A segment can be larger than 4 GiB, and so can one piece of it.
sed -i 's/nb > INT_MAX || nb < bytes/nb > LONG_MAX || nb < bytes/' \
	"$work/source/newlib/libc/stdlib/mallocr.c"
# The digits of floating point end with an exponent that sprintf wrote, for which
# every application got a second copy of the large printf.
sed -i '/^#include <string.h>/a\
static void exponent (char *to, int value)\
{\
  unsigned rest = value < 0 ? -(unsigned) value : (unsigned) value;\
  char digits[12];\
  int n = 0;\
\
  *to++ = '\''E'\'';\
  if (value < 0)\
    *to++ = '\''-'\'';\
  do\
    digits[n++] = '\''0'\'' + rest % 10;\
  while (rest /= 10);\
  while (n)\
    *to++ = digits[--n];\
  *to = 0;\
}
s/\bsprintf (ss, "E%d", expon)/exponent (ss, expon)/
s/\bsprintf (string,/strcpy (string,/' "$work/source/newlib/libc/stdlib/ldtoa.c"
# "%2$s": a va_list that is a parameter is a pointer here, whose address is not
# the list's; so take the address of a copy.
(cd "$work/source/newlib/libc/stdio" && sed -i '/^_VFW\{0,1\}PRINTF_R (struct/,/^{/{
	s/va_list ap)/va_list given)/
	s/^{/{\
	va_list ap;\
	va_copy(ap, given);/
}
/^__SVFW\{0,1\}SCANF_R (struct/,/^{/{
	s/va_list ap)/va_list given)/
	s/^{/{\
	va_list ap;\
	va_copy(ap, given);/
}' vfprintf.c vfwprintf.c vfscanf.c vfwscanf.c)

echo "newlib: configuring"
cd "$work/build"
# The flags of the make that called this one are not for newlib's makefiles.
unset MAKELEVEL MAKEFILES
MAKEINFO=true CC=$cc \
CC_FOR_TARGET=$cc AS_FOR_TARGET=as AR_FOR_TARGET=ar LD_FOR_TARGET=ld \
RANLIB_FOR_TARGET=ranlib NM_FOR_TARGET=nm STRIP_FOR_TARGET=strip \
CFLAGS_FOR_TARGET="$flags" \
	../source/configure --prefix="$work/install" $options >"$log" 2>&1 || fail configuring

jobs=$(nproc)
echo "newlib: compiling with $jobs jobs (about a minute)"
MAKEFLAGS= make -j"$jobs" all-target-newlib MAKEINFO=true >>"$log" 2>&1 || fail compiling
MAKEFLAGS= make install-target-newlib MAKEINFO=true >>"$log" 2>&1 || fail installing
for file in include/stdio.h lib/libc.a lib/libm.a; do
	[ -s "$work/install/x86_64-elf/$file" ] || fail "installing $file"
done

# libc-glue/ has its own.
ar d "$work/install/x86_64-elf/lib/libc.a" lib_a-_isatty.o lib_a-isatty.o lib_a-sysisatty.o \
	lib_a-getcwd.o lib_a-syskill.o lib_a-abort.o lib_a-system.o
ar d "$work/install/x86_64-elf/lib/libm.a" lib_a-sqrtl.o lib_a-hypotl.o

# Every image would hold the lines of what it calls. The functions' names stay.
strip --strip-debug "$work/install/x86_64-elf/lib/libc.a" "$work/install/x86_64-elf/lib/libm.a"

printf '%s\n' "$stamp" >"$work/install/x86_64-elf/stamp"
rm -rf "$dest"
mv "$work/install/x86_64-elf" "$dest"
rm -rf "$work"
echo "newlib: ready in $dest"
