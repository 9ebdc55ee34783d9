# The libraries of the languages beside C, which `margay c++` otherwise builds at its first use.
# Included by the Makefile.

.PHONY: languages
languages: all
	@for words in c++ fortran "cc -fopenmp"; do \
		tools/margay $$words --prepare >/dev/null || exit 1; done

.PHONY: gcc-check gcc-tests
gcc-tests: languages # the sources of GCC's own tests: the libraries' tarball is in the cache
	@for suite in libstdcxx gfortran; do $(PYTHON) tests/gcc/$$suite.py --fetch || exit 1; done

gcc-check: gcc-tests
	@wrong=0; for suite in libstdcxx gfortran; do \
		$(PYTHON) tests/gcc/$$suite.py -j $(shell nproc) $(ARGS) || wrong=1; done; exit $$wrong
