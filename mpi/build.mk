# MPI, which the first mpicc otherwise builds. Included by the Makefile.

.PHONY: mpi
mpi: all
	@tools/mpicc --prepare >/dev/null
	@$(PYTHON) -IBS tools/install/pkgconfig.py build/pkgconfig/mpich.pc "$$(tools/mpicc --where)" \
		'$${pcfiledir}/../lib'

# Programs with MPI: the examples apps/mpi/*.c, and what the tests in tests/mpi/ run. MPICH's
# MPI_STATUSES_IGNORE is an address that gcc takes for an array without elements.
MPI_APPS   := $(patsubst apps/mpi/%.c,build/apps/mpi/%.elf,$(wildcard apps/mpi/*.c))
MPI_PARTS  := $(APP_PARTS) build/lib/libfabric.a build/lib/libpmi.a $(wildcard mpi/*)
MPI_CFLAGS := -O2 -Wall -Wextra -Werror -Wno-stringop-overflow

build/apps/mpi/%.elf: apps/mpi/%.c $(MPI_PARTS) | mpi
	@mkdir -p $(@D)
	@echo "  MPICC $@"
	@tools/mpicc $(MPI_CFLAGS) -o $@ $<

build/tests/mpi/%.elf: tests/mpi/%.c $(MPI_PARTS) | mpi
	@mkdir -p $(@D)
	@echo "  MPICC $@"
	@tools/mpicc $(MPI_CFLAGS) -o $@ $<

.PHONY: mpi-apps
mpi-apps: $(MPI_APPS)
