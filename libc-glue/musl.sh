#!/bin/sh
# Builds musl (libc.a and its headers) from Debian's source package into the
# folder given, once: called by make with
#     musl.sh DESTINATION
# The source is Debian's (tools/debian-source.sh). The work is done beside the destination and moved
# there at the end, so that an interrupted build leaves nothing that looks finished. The file
# "stamp" in the destination names the configuration; if it already names this one there is nothing
# to do.
set -eu

version=1.2.3
sum=7d5b0b6062521e4627e099e4c9dc8248d32a30285e959b7eecaa780cf8cfd4a4
tarball=musl_$version.orig.tar.gz

mkdir -p "$(dirname "$1")"
dest=$(cd "$(dirname "$1")" && pwd)/$(basename "$1")
here=$(cd "$(dirname "$0")" && pwd)
cc=${CC:-gcc}

# Compiler flags of applications that also affect library code.
# Tables for unwinding: a report, and an exception of C++, passes through qsort.
flags="-O2 -g1 -gno-column-info -gno-statement-frontiers -fexceptions \
-fasynchronous-unwind-tables -fstack-clash-protection -fno-omit-frame-pointer -fno-pic -no-pie \
-mcmodel=small -fcf-protection=none -fno-stack-protector -ffunction-sections -fdata-sections \
-U_FORTIFY_SOURCE -U__linux__ -U__gnu_linux__ -Ulinux -D__margay__ -w"

# Two makes at once: the second uses the result of the first.
exec 9>"$dest.lock"
flock 9

# Macros that tell configure scripts what always fails.
failing=$(sed -n 's/^ALWAYS_FAILS(\(.*\))$/#define __stub_\1/p' "$here/processes.c")

stamp=$( (cat "$0"; find "$here/musl" -type f | LC_ALL=C sort | xargs cat; echo "$failing") |
		sha256sum
	 $cc -dumpfullversion)
if [ -f "$dest/stamp" ] && [ "$(cat "$dest/stamp")" = "$stamp" ]; then
	touch "$dest/stamp"
	exit 0
fi

work=$dest.work
rm -rf "$work"
mkdir -p "$work/build" "$work/install"
log=$work/log

fail() {
	tail -n 20 "$log" >&2
	echo "musl.sh: $1 failed; the whole output is in $log" >&2
	exit 1
}

# ---- the source ----

"$here/../tools/debian-source.sh" musl "$tarball" "$sum" "$work"

echo "musl: unpacking $tarball"
tar -xf "$work/$tarball" -C "$work"
source=$work/musl-$version
cd "$source"

# ---- corrections ----

# There is no Linux: every system call is a call of margay_linux (linux.c), and
# pthread_create says that there is one thread.
cp -r "$here/musl/." .
# Assembly with system calls in it, where C does the same or nothing is to do.
rm src/thread/x86_64/*.s src/signal/x86_64/restore.s src/process/x86_64/vfork.s
# libc-glue/malloc.c and string.c are faster, especially on an emulated processor.
rm src/malloc/oldmalloc/*.c
(cd src/malloc && rm calloc.c free.c libc_calloc.c lite_malloc.c realloc.c replaced.c)
rm src/stdlib/qsort_nr.c		# libc-glue/sort.c
rm src/string/x86_64/*.s
(cd src/string && rm memcpy.c memmove.c memset.c memcmp.c strlen.c strcmp.c strncmp.c)
# Long double functions that are exact to a unit in C but not in assembly, and
# remquol, for which the emulated x87 gives no quotient. powl: libc-glue/powl.c.
(cd src/math && rm x86_64/expl.s x86_64/exp2l.s x86_64/expm1l.s x86_64/remquol.c powl.c)
# Complex functions: libc-glue/complex.c.
(cd src/complex && rm clog*.c casin.c casinf.c casinl.c cacos.c cacosf.c cacosl.c catan.c catanf.c \
	catanl.c cexpl.c csqrtl.c csinhl.c ccoshl.c ctanhl.c cpow.c cpowf.c)
# Near its largest result expm1l is inf - inf.
sed -i 's/^	px = scalbnl(1.0, k);/	if (k > 16383) return scalbnl(qx + 1, k);\
&/' src/math/expm1l.c
# acosh of a number below 1 is not a number, of -10 as of 0. Of no number it raises nothing.
sed -i 's/^[[:space:]]*\(unsigned\|int\|uint32_t\) [ea] = .*/&\
	if (isless(x, 1)) return (x-x)\/(x-x);/' src/math/acosh.c src/math/acoshf.c src/math/acoshl.c
# The sign of tgammal of negative numbers goes by the whole part, not by the nearest whole number.
sed -i 's/if (0.5 \* p == floorl(q \* 0.5))/if (0.5 * floorl(q) == floorl(q * 0.5))/' \
	src/math/tgammal.c
# ftw and nftw visit all folders, also those deeper than the descriptors that they may have open.
sed -i 's/do_nftw(path, fn, fd_limit-1,/do_nftw(path, fn, fd_limit-(fd_limit>1),/' \
	src/misc/nftw.c
# setlocale refuses a locale that does not exist.
sed -i 's/^	if (!new && (new = malloc(sizeof \*new))) {/	if (!new) return LOC_MAP_FAILED;\
&/' src/locale/locale_map.c
# What one process with one thread on one node cannot do is left out, so that the link fails: threads,
# sockets, memory shared between processes, and the calls that only Linux has. Calls of other processes
# link and fail: libc-glue/processes.c.
rm -r src/process src/ipc src/mq src/aio
(cd src/thread && rm clone.c __unmapself.c syscall_cp.c pthread_cancel.c sem_open.c sem_unlink.c)
(cd src/mman && rm shm_open.c)
(cd src/time && rm timer_*.c)
(cd src/stdio && rm popen.c pclose.c)
(cd src/legacy && rm daemon.c)
(cd src/misc && rm initgroups.c forkpty.c login_tty.c openpty.c pty.c ptsname.c syslog.c \
	wordexp.c)
(cd src/unistd && rm faccessat.c)          # libc-glue/file.c has one that needs no fork
(cd src/passwd && rm nscd_query.c)         # libc-glue/missing.c
keep() {
	folder=$1
	shift
	mkdir kept
	for name; do
		mv "src/$folder/$name".* kept/
	done
	rm -r "src/$folder"
	mv kept "src/$folder"
}
keep network htonl htons ntohl ntohs inet_addr inet_aton inet_legacy inet_ntoa inet_ntop inet_pton \
	in6addr_any in6addr_loopback ether gai_strerror h_errno herror hstrerror
keep linux brk copy_file_range fallocate flock getdents getrandom gettid ppoll prctl prlimit \
	readahead sbrk sync_file_range syncfs sysinfo utimes
# Standard output is line buffered, although it is no terminal.
sed -i 's/TIOCGWINSZ/0x4d00/' src/stdio/__fdopen.c src/stdio/__stdout_write.c
# A stream that appends begins at the end of its file, as with glibc: programs ask ftell, or tellp
# of a C++ stream, whether a file is new.
sed -i 's/^		f->flags |= F_APP;/&\
		if (!strchr(mode, 43)) __syscall(SYS_lseek, fd, 0, SEEK_END); \/* no plus *\//' \
	src/stdio/__fdopen.c
# %Lu and its like are %llu, as with glibc: programs for Linux use them.
sed -i "/S('E') = LDBL, S('F') = LDBL/a S('d') = LLONG, S('i') = LLONG, S('o') = ULLONG, \
S('u') = ULLONG, S('x') = ULLONG, S('X') = ULLONG," src/stdio/vfprintf.c src/stdio/vfwprintf.c
# A file's buffer: each system call sends a message or copies memory.
sed -i 's/#define BUFSIZ 1024/#define BUFSIZ 8192/' include/stdio.h
# Thread-local C++ objects are destroyed before those of the program.
sed -i 's/^weak_alias(dummy, __funcs_on_exit);/&\
weak_alias(dummy, __margay_thread_exit);/
s/^	__funcs_on_exit();/	__margay_thread_exit();\
&/' src/exit/exit.c
printf '%s\n' "$failing" "#endif" >>include/bits/glibc.h
echo '#include <bits/glibc.h>' >>include/features.h
# C++ has basename in <string.h>, too. In C++ <libgen.h> replaces it.
sed -i '/^#ifndef __cplusplus/{N;s,$,\
#elif !defined basename\
#include <bits/basename.h>,}' include/string.h
sed -i 's/^char \*basename(char \*);/#ifdef __cplusplus\
char *__xpg_basename(char *);\
#define basename __xpg_basename\
#else\
&\
#endif/' include/libgen.h
# The tables for unwinding of functions in assembly must be in the image.
sed -i '/cfi_sections/d' tools/add-cfi.x86_64.awk

# ---- the build ----

echo "musl: configuring"
cd "$work/build"
# The flags of the make that called this one are not for musl's makefile.
unset MAKELEVEL MAKEFILES
MAKEFLAGS= CC=$cc CFLAGS=$flags "$source/configure" --prefix="$work/install" --target=x86_64 \
	--disable-shared --disable-wrapper --with-malloc=oldmalloc AR=ar RANLIB=ranlib \
	>"$log" 2>&1 || fail configuring

jobs=$(nproc)
echo "musl: compiling with $jobs jobs (about a minute)"
MAKEFLAGS= make -j"$jobs" >>"$log" 2>&1 || fail compiling
MAKEFLAGS= make install >>"$log" 2>&1 || fail installing
for file in include/stdio.h lib/libc.a; do
	[ -s "$work/install/$file" ] || fail "installing $file"
done

rm "$work/install"/lib/*.o               # crt0.o is ours
cp "$source/COPYRIGHT" "$work/install/COPYRIGHT"
# Without this every image would have musl's line numbers. The functions' names stay.
strip --strip-debug "$work/install/lib/libc.a"

printf '%s\n' "$stamp" >"$work/install/stamp"
rm -rf "$dest"
mv "$work/install" "$dest"
rm -rf "$work"
echo "musl: ready in $dest"
