# The libraries of the languages beside C, which `margay c++` would build at its first use.
# Included by the Makefile.

.PHONY: languages
languages: all
	@for words in c++ fortran "cc -fopenmp"; do \
		tools/margay $$words --prepare >/dev/null || exit 1; done

.PHONY: gcc-check
gcc-check: languages
	@wrong=0; for suite in libstdcxx gfortran; do \
		$(PYTHON) tests/gcc/$$suite.py -j $(shell nproc) $(ARGS) || wrong=1; done; exit $$wrong
