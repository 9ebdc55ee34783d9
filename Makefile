# Builds, runs and checks Margay. `make help` lists the targets.
#
# Everything is built under build/; each part has its rules in its own build.mk.
# A call from outside first makes tools/setup.sh check for missing Debian
# packages, then calls itself, first for what is built with all processors, then
# for all goals. So it works on a machine that has only git and make, and -j never
# builds one file twice at once.

PYTHON := /usr/bin/python3
NODES  ?= 4
SECONDS ?= 3600
ARGS   ?=
PEERS  ?=
PREFIX ?= /usr/local
DESTDIR ?=

MAKEFLAGS += --no-builtin-rules
.DELETE_ON_ERROR:

ifndef MARGAY_READY

goals := $(or $(MAKECMDGOALS),all)
work  := $(filter-out help clean uninstall,$(goals))
needs := $(if $(work),build) $(if $(filter run bench programs gcc-check mpich-check,$(work)),run) \
	$(if $(filter bench,$(work)),bench) $(if $(filter figures check-long,$(work)),figures) \
	$(if $(filter bench-peers,$(work)),$(if $(findstring --native,$(ARGS)),native)) \
	$(if $(filter programs,$(work)),programs) \
	$(if $(filter languages mpi mpi-apps mpich-check gcc-check bench programs check check-long,$(work)),languages) \
	$(if $(filter check check-long,$(work)),run iso check) $(if $(filter check-long,$(work)),model)

# What is built first, with all processors.
first := $(if $(filter check check-long,$(work)),check-built,$(filter all,$(work:run=all)))

.PHONY: $(goals) inner
$(goals): inner ; @:

inner:
	@$(if $(filter help,$(goals)),sed -n 's/^\([a-z-]*\):.*## /  make \1\t/p' Makefile | expand -t 20)
	@$(if $(filter clean,$(goals)),rm -rf build)
	@$(if $(filter uninstall,$(goals)),tools/install/install.sh --uninstall "$(DESTDIR)" "$(PREFIX)")
	@$(if $(work),tools/setup.sh $(needs))
	@+$(if $(first),$(MAKE) --no-print-directory MARGAY_READY=1 \
		$(if $(findstring -j,$(MAKEFLAGS)),,-j$(shell nproc)) $(first))
	@+$(if $(work),$(MAKE) --no-print-directory MARGAY_READY=1 $(work))

else

CC    := gcc
NASM  := nasm

include net/build.mk kernel/build.mk tests/drivers/build.mk tests/fuzz/build.mk libc-glue/build.mk tools/build.mk apps/build.mk lib/ofi/build.mk lib/pmi/build.mk lib/library.mk lib/p30/build.mk lib/fm/build.mk lib/vmmc/build.mk lib/nx/build.mk lib/vertex/build.mk lib/madeleine/build.mk lib/pm2/build.mk tests/lib/ofi/build.mk tests/lib/vmmc/build.mk tests/bench/build.mk tools/install/build.mk languages/build.mk mpi/build.mk tests/mpich/build.mk

# Built by make, run by pytest.
HOST_PROGRAMS := build/host/check-gcc build/host/check-clang build/host/check-tsan \
	build/host/check-drivers build/host/check-e1000 build/host/check-pic build/host/check-boot \
	build/host/check-polling build/host/check-controls \
	build/host/model-engine build/host/netsim build/host/netsim-asan build/host/wire $(FUZZ_TARGETS)

.PHONY: all run check check-long bench bench-peers bench-pages figures soak
all: build/kernel.o build/libmargay.a build/crt0.o build/lib/libpmi.a build/lib/libfabric.a build/lib/libnx.a build/lib/libvertex.a build/lib/libmadeleine.a build/lib/libmadeleine-debug.a build/lib/libvmmc.a build/lib/libpm2.a build/lib/libfm.a $(FM_LIBRARIES) build/pkgconfig/margay.pc tools apps ## kernel, C library, tools, applications

run: all build/text.txt ## boot NODES=4 nodes that count the words of a text
	tools/margay run -n $(NODES) build/apps/wordfreq.elf build/text.txt

.PHONY: check-built
check-built: all languages mpi test-apps bench-apps $(HOST_PROGRAMS)

check: check-built pytest-there programs-short gcc-tests ## the regression suite; ARGS='-m faults' for a part
	$(PYTHON) -m pytest tests $(ARGS)

check-long: check-built pytest-there programs-short gcc-tests ## the suite with its long tests
	$(PYTHON) -m pytest tests --long $(ARGS)

bench: all languages bench-apps ## measure the table of figures, into build/bench.json
	$(PYTHON) tests/bench/bench.py $(ARGS)

bench-peers: ## measure other systems by PEERS/run.sh, with PEERS=DIR; ARGS=--native: MPI on this host
	@$(PYTHON) tests/bench/peers.py $(if $(PEERS),"$(PEERS)") $(ARGS)

bench-pages: ## write build/bench.json into README.md and docs/measurements.md
	@$(PYTHON) tests/bench/tables.py

figures: all ## draw the pictures of docs/; ARGS=--take brings build/bench.json into docs/figures.json first
	@$(PYTHON) tests/rooms.py --draw
	@$(PYTHON) tests/bench/figures.py $(ARGS)
	@$(PYTHON) tests/bench/systems_figures.py
	@$(PYTHON) tests/bench/fm_figures.py
	@$(PYTHON) tests/bench/vmmc.py

soak: all test-apps build/host/model-engine ## engine against its model, nodes over faulty links; SECONDS=3600
	$(PYTHON) tests/model/soak.py --seconds $$(($(SECONDS) / 2)) $(ARGS)
	$(PYTHON) tests/faulty.py --seconds $$(($(SECONDS) / 2))

.PHONY: programs programs-short
programs: all languages mpi ## build Debian's lua, zlib, sqlite, lapack, hpcc and others; ARGS for some
	$(PYTHON) tests/programs/programs.py $(ARGS)

programs-short: # the sources of what make check builds
	@$(PYTHON) tests/programs/programs.py --fetch --short

.PHONY: mutants
mutants: ## break the rules of Portals and of the link one by one: the unit tests must notice
	$(PYTHON) tests/mutants/run.py --markdown docs/mutants.md $(ARGS)

# The Debian packages belong to Debian's Python, whatever comes first on PATH.
.PHONY: pytest-there
pytest-there:
	@$(PYTHON) -c 'import pytest, xdist, pytest_timeout, hypothesis' || { \
		echo "The tests need $(PYTHON) with these modules; install them with:" >&2; \
		echo "    apt-get install $$(sed -n 's/^check *//p' tools/packages.txt)" >&2; \
		exit 1; }

# For the list of `make help`:
# host-check is in net/build.mk, the fuzz targets are in tests/fuzz/build.mk, install and deb
# in tools/install/build.mk, languages in languages/build.mk, mpi and mpi-apps in mpi/build.mk, mpich-check
# in tests/mpich/build.mk, vrpc in lib/vmmc/vrpc.mk, uninstall, clean and help above.
languages: ## the libraries of C++, Fortran and OpenMP, otherwise built at their first use
mpi: ## MPI for C, C++ and Fortran, otherwise built by the first mpicc
mpi-apps: ## the examples of MPI, apps/mpi, into build/apps/mpi
gcc-check: ## GCC's own tests of C++ and Fortran on nodes; ARGS='--sample 300 --seed 1' for some of them
mpich-check: ## MPICH's own tests on nodes; ARGS='--folder coll' for a part of them
vrpc: ## Sun's remote procedure calls (lib/vmmc), with parts of Debian's libtirpc
install: ## into PREFIX=/usr/local, below DESTDIR if that is given
uninstall: ## remove the installed files
deb: ## a package for Debian 12, build/margay_VERSION-1_amd64.deb
host-check: ## the engine's unit tests on this machine
model: ## check the link's protocol with spin
fuzz: ## search for memory errors in the engine; SECONDS=3600
fuzz-corpus: ## keep the fewest inputs that reach what fuzzing has reached
fuzz-coverage: ## lines that the corpus reaches
clean: ## remove build/
help: ## this list

endif
