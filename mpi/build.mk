# MPI, which the first mpicc would build. Included by the Makefile.

.PHONY: mpi
mpi: all
	@tools/mpicc --prepare >/dev/null
	@$(PYTHON) -IBS tools/install/pkgconfig.py build/pkgconfig/mpich.pc "$$(tools/mpicc --where)" \
		'$${pcfiledir}/../lib'
