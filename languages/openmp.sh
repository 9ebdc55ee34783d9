#!/bin/sh
# Builds libgomp, what -fopenmp links, for nodes from GCC's source: see common.sh.
here=$(cd "$(dirname "$0")" && pwd)
title=OpenMP
. "$here/common.sh"

begin "$1" "a minute"
need make tar xz strip
unpack libgomp libtool-ldflags
wrapper cc "$MARGAY_CC"

# A node has one thread, and so has each team.
cd "$source/libgomp"
sed -i 's/\.thread_limit_var = UINT_MAX/.thread_limit_var = 1/' env.c
grep -q 'thread_limit_var = 1' env.c || fail "correcting env.c"

# configure wants these to exist, but nothing of them is built.
mkdir testsuite
: >testsuite/Makefile.in
: >testsuite/libgomp-test-support.exp.in
: >testsuite/libgomp-site-extra.exp.in

mkdir "$work/build/libgomp"
cd "$work/build/libgomp"
CC=$work/bin/cc FC=none CFLAGS=-O2 AR=ar RANLIB=ranlib \
	"$source/libgomp/configure" $two_names --prefix=/ --libdir=/lib \
	--disable-shared --disable-multilib --disable-nls --disable-cet --disable-werror \
	--disable-dependency-tracking --disable-linux-futex >>"$log" 2>&1 || fail configuring
make -j"$jobs" libgomp.la >>"$log" 2>&1 || fail compiling
mkdir -p "$work/install/lib"
cp .libs/libgomp.a "$work/install/lib"
finish
