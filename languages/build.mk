# The libraries of the languages beside C, as `margay c++` builds them at its first use, and what
# make check compiles with them. Included by the Makefile.

LANGUAGES := $(filter-out common,$(patsubst languages/%.sh,%,$(wildcard languages/*.sh)))

.PHONY: languages
languages: all
	@for language in $(LANGUAGES); do \
		tools/margay $$language --prepare >build/languages.log || exit 1; done
