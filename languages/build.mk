# The libraries of the languages beside C, which `margay c++` would build at its first use.
# Included by the Makefile.

LANGUAGES := $(filter-out common,$(patsubst languages/%.sh,%,$(wildcard languages/*.sh)))

.PHONY: languages
languages: all
	@for language in $(LANGUAGES); do tools/margay $$language --prepare >/dev/null || exit 1; done

.PHONY: gcc-check
gcc-check: languages
	$(PYTHON) tests/gcc/gfortran.py -j $(shell nproc) $(ARGS)

# OpenMP of one thread: what -fopenmp links.
GOMP_SOURCES := $(wildcard languages/gomp/*.c)
GOMP_OBJECTS := $(GOMP_SOURCES:%.c=build/%.o)

build/languages/gomp/%.o: languages/gomp/%.c build/sysroot/stamp languages/build.mk
	@mkdir -p $(@D)
	@echo "  CC    $<"
	@$(CC) $(GLUE_CFLAGS) -MD -MP -c -o $@ $<

build/gomp/libgomp.a: $(GOMP_OBJECTS)
	@mkdir -p $(@D)
	@rm -f $@
	@ar rcs $@ $^

-include $(GOMP_OBJECTS:.o=.d)
