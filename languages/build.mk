# The libraries of the languages beside C, which `margay c++` would build at its first use.
# Included by the Makefile.

LANGUAGES := $(filter-out common,$(patsubst languages/%.sh,%,$(wildcard languages/*.sh)))

.PHONY: languages
languages: all
	@for language in $(LANGUAGES); do tools/margay $$language --prepare >/dev/null || exit 1; done
