# The libraries of the languages beside C, which `margay c++` would build at its first use.
# Included by the Makefile.

.PHONY: languages
languages: all
	@for words in c++ fortran "cc -fopenmp"; do \
		tools/margay $$words --prepare >/dev/null || exit 1; done

.PHONY: gcc-check
gcc-check: languages
	$(PYTHON) tests/gcc/gfortran.py -j $(shell nproc) $(ARGS)
