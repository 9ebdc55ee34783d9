#!/bin/sh
# Builds MPI for nodes, MPICH with its bindings of Fortran and C++, from Debian's source, without
# a patch: see languages/common.sh. docs/mpi.md says what is chosen and why. Besides what
# common.sh names, the environment has
#     MARGAY_CXX_HEADERS MARGAY_CXX_LINK   the folders of the C++ library, and how to link it
here=$(cd "$(dirname "$0")/../languages" && pwd)
title=MPI
. "$here/common.sh"
origin=MPICH
licences=COPYRIGHT

version=4.0.2
tarball=mpich_$version.orig.tar.xz
# The headers of libfabric's interface, which lib/ofi implements.
package=libfabric-dev_1.17.0-3_amd64.deb

begin "$1" "six minutes"
need make tar xz strip nm dpkg-deb
"$here/../tools/debian-source.sh" mpich "$tarball" \
	b27039f964afeb6b8a3e009c56b441cbe368c26d6d6476ad3bb7190996875860 "$work" || exit 1
"$here/../tools/debian-source.sh" --package libfabric-dev "$package" \
	c5ebcf597fd912fdb6a07aa3b21bbfcf1abf016f10add737fa3cc1bf995b5e9c "$work" || exit 1
source=$work/mpich-$version
printf "mpich-$version/%s\n" doc examples man test www modules/hwloc modules/izem \
	modules/libfabric modules/ucx modules/yaksa src/pm >"$work/unused"
tar -xf "$work/$tarball" -C "$work" --no-same-owner --exclude-from="$work/unused" >>"$log" 2>&1 ||
	fail "unpacking $tarball"
rm "$work/$tarball"

# configure wants these to exist, but nothing of them is built.
for file in examples/Makefile test/Makefile test/commands/Makefile test/commands/cmdtests \
	doc/design/Makefile doc/installguide/Makefile doc/refman/Makefile doc/userguide/Makefile; do
	mkdir -p "$source/$(dirname $file)"
	: >"$source/$file.in"
done

# The result contains no path of the work folder.
flags="-O2 -ffile-prefix-map=$work/="
fortran=-fallow-argument-mismatch

# ---- what configure links with ----

# lib/ofi and lib/pmi are linked with each program: a change in them does not change this library.
# Here configure gets their headers, and archives that have only the names.
parts=$work/parts
mkdir -p "$parts/include" "$parts/lib"
dpkg-deb --fsys-tarfile "$work/$package" | tar -x -C "$parts" --strip-components=2 \
	--wildcards './usr/include/rdma/*.h' >>"$log" 2>&1 || fail "unpacking $package"
rm "$work/$package"
cp -r "$here/../lib/pmi/pmi.h" "$here/../lib/pmi/slurm" "$parts/include"

# names_only FILE: an archive of empty functions with the names on standard input.
names_only() {
	sed 's/.*/.globl &\n&:/' >"$parts/names.s"
	$MARGAY_CC -c "$parts/names.s" -o "$parts/names.o"
	ar rcs "$parts/lib/$1" "$parts/names.o"
}
sed -n 's/^int \(PMI_[A-Za-z_]*\)(.*/\1/p' "$parts/include/pmi.h" | names_only libpmi.a
printf 'fi_%s\n' getinfo freeinfo dupinfo fabric version strerror tostr | names_only libfabric.a
# configure's programs in Fortran do not run, so the nodes' libgfortran need not exist.
nm -g --defined-only "$($MARGAY_FC -print-file-name=libgfortran.a)" 2>>"$log" |
	sed -n 's/.* T \(_gfortran_.*\)/\1/p' | sort -u | names_only libgfortran.a

wrapper cc "$MARGAY_CC"
wrapper c++ "$MARGAY_CXX $MARGAY_CXX_HEADERS" "$MARGAY_CXX_LINK"
wrapper fc "$MARGAY_FC" "$MARGAY_LINK $parts/lib/libgfortran.a"

# ---- configuring ----

# Two of its comparisons need bash. Sizes and kinds of Fortran are those that MPICH has recorded for
# this compiler, integers may be unaligned, and calls of one procedure with several types work as in
# Debian's MPICH.
mkdir "$work/build/mpich"
cd "$work/build/mpich"
CONFIG_SHELL=/bin/bash CC=$work/bin/cc CXX=$work/bin/c++ F77=$work/bin/fc FC=$work/bin/fc AR=ar \
	RANLIB=ranlib CFLAGS="$flags" CXXFLAGS="$flags" FFLAGS="$flags $fortran" \
	FCFLAGS="$flags $fortran" \
	ac_cv_f77_libs=-lgfortran ac_cv_fc_libs=-lgfortran \
	CROSS_INT64_T_ALIGNMENT=no CROSS_INT32_T_ALIGNMENT=no \
	/bin/bash "$source/configure" $two_names --prefix=/ --libdir=/lib \
	--with-cross="$source/src/mpid/ch4/cross/gcc-linux-x86-8" \
	--with-device=ch4:ofi --with-libfabric="$parts" --with-ch4-shmmods=none \
	--with-pmi=slurm --with-slurm="$parts" --with-pm=no --with-namepublisher=no \
	--with-datatype-engine=dataloop --without-hwloc --without-cuda --without-ze --without-hip \
	--with-thread-package=none --with-proc-mutex-package=none --enable-threads=single \
	--enable-fast=ndebug,alwaysinline --enable-error-checking=runtime --enable-g=none \
	--enable-fortran=all --enable-cxx --enable-romio --with-file-system=ufs \
	--disable-shared --disable-dependency-tracking --disable-maintainer-mode >>"$log" 2>&1 ||
	fail configuring

# Checks what configure found: calls that nodes have, and none that they lack.
has() {
	grep -q "^#define $2 " "$1" || fail "looking for $2"
}
has_not() {
	! grep -q "^#define $2 " "$1" || fail "$2, which nodes do not have: configuring"
}
for name in HAVE_FINT_IS_INT HAVE_F08_BINDING HAVE_CXX_BINDING HAVE_FORTRAN_BINDING HAVE_ROMIO \
	HAVE_WEAK_ATTRIBUTE HAVE_FLOAT128 HAVE_ANY_INT64_T_ALIGNMENT F77_TRUE_VALUE_SET; do
	has src/include/mpichconf.h $name
done
has src/mpl/include/mplconfig.h MPL_HAVE_CLOCK_GETTIME
for name in MPL_HAVE_GETIFADDRS MPL_HAVE_BACKTRACE MPL_USE_SYSV_SHM; do
	has_not src/mpl/include/mplconfig.h $name
done
has_not src/mpi/romio/adio/include/romioconf.h ROMIO_HAVE_WORKING_AIO

# ---- the libraries ----

sed -i "s,$work/,,g" src/include/mpichinfo.h

# Programs and examples are not built.
sed -i 's/^SUBDIRS = . tests/SUBDIRS = ./' modules/json-c/Makefile
for folder in src/mpl modules/json-c src/mpi/romio; do
	make -j"$jobs" -C $folder >>"$log" 2>&1 || fail "compiling $folder"
done
cat >>Makefile <<'end'

margay-sources: $(BUILT_SOURCES)
margay-libraries: $(lib_LTLIBRARIES)
end
for goal in margay-sources margay-libraries; do
	make -j"$jobs" $goal >>"$log" 2>&1 || fail "making $goal"
done
# shellcheck disable=SC2046 # names
make DESTDIR="$work/install" $(printf 'install-%s ' libLTLIBRARIES includeHEADERS \
	nodist_includeHEADERS modincHEADERS) >>"$log" 2>&1 || fail installing
cp src/mpi/romio/include/mpio.h "$work/install/include"
for file in include/mpi.h include/mpif.h include/mpi.mod include/mpi_f08.mod lib/libmpi.a \
	lib/libmpifort.a lib/libmpicxx.a; do
	[ -s "$work/install/$file" ] || fail "installing $file"
done
# replace NAME FOLDER MEMBER: compiles mpi/NAME.c in MPICH's FOLDER, whose files it may include, in
# place of the objects whose names match MEMBER.
replace() {
	cp "$here/../mpi/$1.c" "$source/$2"
	printf '%s.o: %s\n\t$(COMPILE) -c -o $@ $<\n' "$1" "$2/$1.c" >>Makefile
	make "$1.o" >>"$log" 2>&1 || fail "compiling $1.c"
	# shellcheck disable=SC2046 # names
	ar d "$work/install/lib/libmpi.a" $(ar t "$work/install/lib/libmpi.a" | grep "$3") \
		>>"$log" 2>&1 &&
		ar r "$work/install/lib/libmpi.a" "$1.o" >>"$log" 2>&1 || fail "replacing $3"
}
# Each of these files says what it is for. Another object named get_elements_x.o, without "lt", has the
# call itself.
replace shared_windows src/binding/c/rma win_allocate_shared.o
replace connections src/mpi/spawn spawn_impl.o
replace elements src/mpi/datatype '^lt.*get_elements_x.o'
replace darrays src/mpi/datatype/typerep/src typerep_dataloop_darray.o
replace neighbors src/binding/c/coll '[-_]i*neighbor_alltoallw\(_init\)*\.o$'
replace errors src/mpi/errhan '[-_]errutil.o'
replace persistent src/mpi/coll \
	'[-_]\(i\(gather\|scatter\)_intra_sched_binomial\|iallgather_intra_sched_recursive_doubling\).o'
replace requests src/mpi/request '[-_]mpir_request.o'
replace starts src/binding/c/request 'la-start\(all\)*\.o'
replace sessions src/binding/c/errhan '[-_]\(session_create_errhandler\|errhandler_free\).o'
# A tool between program and library (PMPI) defines some of these itself; in MPICH they are in one
# object with all others.
objcopy --wildcard --weaken-symbol='mpi_*_f08ts_' --weaken-symbol='mpi_*_f08_' \
	"$work/install/lib/libmpifort.a" >>"$log" 2>&1 || fail "making the Fortran library"
finish
