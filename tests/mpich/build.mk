# MPICH's own tests on nodes. Included by the Makefile.

.PHONY: mpich-check
mpich-check: mpi
	@$(PYTHON) tests/mpich/mpich.py $(ARGS)
