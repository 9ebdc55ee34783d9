#!/bin/sh
# Builds libgfortran, and libquadmath for real(16), for nodes from GCC's source: see
# common.sh. The modules (ieee_arithmetic.mod ...) are those that the compiler has.
here=$(cd "$(dirname "$0")" && pwd)
title=Fortran
. "$here/common.sh"

begin "$1" "two minutes"
need make tar xz strip
unpack libquadmath libgfortran libtool-ldflags gcc/fortran/libgfortran.h
wrapper cc "$MARGAY_CC"
wrapper fc "$MARGAY_FC"

# Replaces libtool, whose script takes as long as the compiler: makes only one form of each object.
cat >"$work/bin/libtool" <<'END'
#!/bin/sh
while [ "$1" != --mode=compile ]; do
	shift
done
shift
exec "$@"
END
chmod 755 "$work/bin/libtool"

# Replaces libbacktrace: the kernel prints the frames, and margay run names them. A program that
# ends by a signal has its report anyway.
mkdir "$work/build/libbacktrace"
echo '#define BACKTRACE_SUPPORTED 0
#define BACKTRACE_USES_MALLOC 0' >"$work/build/libbacktrace/backtrace-supported.h"
cat >"$work/build/libbacktrace/backtrace.h" <<'END'
#include <margay.h>
#include <stdint.h>
struct backtrace_state;
#define backtrace_create_state(name, threads, error, data) ((struct backtrace_state *)1)
#define backtrace_full(at, skip, full, error, data) ((void)full_callback)
#define backtrace_simple(at, skip, simple, error, data) \
	((void)simple_callback, (void)(in_signal_handler || (margay_backtrace(), 0)))
END

# corrections SCRIPT FILE: fails if it changes nothing.
corrections() {
	sed -i.before "$1" "$2"
	! cmp -s "$2" "$2.before" || fail "correcting $2"
}
cd "$source/libgfortran"
# The C library has no Bessel functions of long double: see below.
corrections 's/^#define MATHFUNC(funcname) funcname ## l$/&\
long double jnl(int, long double), ynl(int, long double);/' generated/bessel_r10.c
# Asynchronous input and output needs a thread; without one, it is synchronous.
corrections 's/#define ASYNC_IO 1/#define ASYNC_IO 0/' io/async.h
# abort ends with the kernel's report, which has the backtrace.
corrections '/^sys_abort (void)/,/^}/{
	/Program aborted/d
	/show_backtrace/d
}' runtime/error.c
# execute_command_line, without cmdstat
corrections 's/"Termination status of .*"/"a node runs one process and starts no command"/
' intrinsics/execute_command_line.c

# configured NAME: in its folder
configured() {
	mkdir "$work/build/$1"
	cd "$work/build/$1"
	CC=$work/bin/cc FC=$work/bin/fc GFORTRAN=$work/bin/fc CFLAGS=-O2 FCFLAGS=-O2 AR=ar \
		RANLIB=ranlib "$source/$1/configure" $two_names --prefix=/ --libdir=/lib \
		--disable-shared --disable-multilib --disable-nls --disable-cet --disable-werror \
		--disable-dependency-tracking >>"$log" 2>&1 || fail "configuring $1"
}

# archive NAME: NAME.a of the objects that the Makefile names
archive() {
	printf '\n%s.a: $(%s_la_OBJECTS)\n\t$(AR) rcs $@ $^\nARCHIVES += %s.a\n' "$1" "$1" "$1" \
		>>Makefile
}

# made: all archives of this folder. Generated files come first, as no object's rule names them.
made() {
	sed -i "s,^LIBTOOL = .*,LIBTOOL = $work/bin/libtool," Makefile
	printf '\nmargay-sources: $(BUILT_SOURCES)\nmargay-archives: $(ARCHIVES)\n' >>Makefile
	for goal in margay-sources margay-archives; do
		make -j"$jobs" $goal >>"$log" 2>&1 || fail "making $goal"
	done
	mkdir -p "$work/install/lib"
	cp ./*.a "$work/install/lib"
}

configured libquadmath
archive libquadmath
made
# Those of real(10) are those of real(16), rounded.
cat >bessel.c <<'END'
#include "quadmath.h"
#define ONE(name) long double name##l(long double x) { return name##q(x); }
#define MANY(name) long double name##l(int n, long double x) { return name##q(n, x); }
ONE(j0) ONE(j1) ONE(y0) ONE(y1) MANY(jn) MANY(yn)
END
"$work/bin/cc" -O2 -I"$source/libquadmath" -c bessel.c >>"$log" 2>&1 || fail "compiling bessel.c"
ar rs "$work/install/lib/libquadmath.a" bessel.o >>"$log" 2>&1 || fail "adding bessel.o"

export gcc_cv_math_func_jnl=yes gcc_cv_math_func_ynl=yes
configured libgfortran
for name in HAVE_STRTOLD HAVE_GETTIMEOFDAY HAVE_CLOCK_GETTIME HAVE_NEWLOCALE HAVE_USELOCALE \
	HAVE_MKOSTEMP HAVE_FTRUNCATE HAVE_LINK HAVE_SYMLINK HAVE_CHDIR HAVE_UMASK HAVE_GETRUSAGE \
	HAVE_HYPOTL HAVE_SINL HAVE_CEXPL HAVE_CATANHL HAVE_FLOAT128 \
	HAVE_FEENABLEEXCEPT HAVE_UNLINK_OPEN_FILE HAVE_WORKING_STAT; do
	grep -q "^#define $name 1" config.h || fail "looking for $name"
done
archive libgfortran
archive libcaf_single
made
for file in libgfortran libquadmath libcaf_single; do
	[ -s "$work/install/lib/$file.a" ] || fail "installing $file"
done
finish
