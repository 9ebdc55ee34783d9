#!/bin/sh
# Builds libstdc++ for nodes from GCC's source: see common.sh.
here=$(cd "$(dirname "$0")" && pwd)
title=C++
. "$here/common.sh"

begin "$1" "a minute"
need make tar xz strip
unpack libstdc++-v3 libiberty
wrapper cc "$MARGAY_CC"
wrapper c++ "$MARGAY_CXX"

# configure wants these to exist, but nothing of them is built.
mkdir -p "$source/libstdc++-v3/doc/xsl" "$source/libstdc++-v3/testsuite"
for file in doc/xsl/customization.xsl.in doc/Makefile.in testsuite/Makefile.in; do
	: >"$source/libstdc++-v3/$file"
done

mkdir "$work/build/libstdc++"
cd "$work/build/libstdc++"
CC=$work/bin/cc CXX=$work/bin/c++ CFLAGS=-O2 CXXFLAGS=-O2 AR=ar RANLIB=ranlib \
	"$source/libstdc++-v3/configure" $two_names --prefix=/ --libdir=/lib \
	--with-gxx-include-dir="/include/c++/$MARGAY_VERSION" \
	--disable-shared --disable-multilib --disable-nls --disable-cet --disable-werror \
	--disable-libstdcxx-pch --enable-libstdcxx-time=yes >>"$log" 2>&1 || fail configuring

# Features that configure must have found.
for name in _GLIBCXX_HAS_GTHREADS HAVE_TLS HAVE_STRTOLD HAVE_USELOCALE HAVE_HYPOTL HAVE_SINCOSL \
	HAVE_LINUX_FUTEX HAVE_OPENAT HAVE_UNLINKAT HAVE_DIRFD HAVE___CXA_THREAD_ATEXIT_IMPL \
	_GLIBCXX_USE_UTIMENSAT _GLIBCXX_USE_CLOCK_MONOTONIC _GLIBCXX_USE_REALPATH; do
	grep -q "^#define $name 1" config.h || fail "looking for $name"
done

# Without pages and test programs; the Makefile ignores variables of the command line.
sed -i 's/^hosted_source = .*/hosted_source = src/' Makefile
make -j"$jobs" >>"$log" 2>&1 || fail compiling
make DESTDIR="$work/install" install >>"$log" 2>&1 || fail installing
for file in "include/c++/$MARGAY_VERSION/vector" lib/libstdc++.a lib/libsupc++.a; do
	[ -s "$work/install/$file" ] || fail "installing $file"
done
finish
