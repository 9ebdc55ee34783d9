# The C library of the nodes: musl, and the code that connects it to the kernel; and the libraries
# that every application has, Portals 3.3 and 3.0.

GLUE_VERSION := $(shell sed -n 's/^VERSION = "\(.*\)"/\1/p' tools/margaylib/__init__.py)
# -g1: line numbers for backtraces; debuggers show no local variables of the library.
GLUE_CFLAGS := -std=gnu17 -O2 -g1 -gno-column-info -gno-statement-frontiers -Wall -Wextra -Werror \
	-fstack-clash-protection -fno-omit-frame-pointer -fno-pic -no-pie -fexceptions \
	-mcmodel=small -fno-stack-protector -fcf-protection=none -ffunction-sections -mfsgsbase \
	-U_FORTIFY_SOURCE -U__linux__ -U__gnu_linux__ -Ulinux -D__margay__ -D_GNU_SOURCE \
	-nostdinc -isystem build/sysroot/include -isystem $(shell $(CC) -print-file-name=include) \
	-isystem include -I. -DMARGAY_VERSION='"$(GLUE_VERSION)"'
# lib/portals and lib/p30 are linked with every application, too.
GLUE_SOURCES := $(filter-out libc-glue/crt0.c,$(wildcard libc-glue/*.c)) \
	$(wildcard lib/portals/*.c lib/p30/*.c)
GLUE_OBJECTS := $(GLUE_SOURCES:%.c=build/%.o)

# One run of musl.sh; its stamp file stands for the headers and the archive.
build/sysroot/stamp: libc-glue/musl.sh libc-glue/processes.c $(shell find libc-glue/musl -type f)
	@CC=$(CC) libc-glue/musl.sh build/sysroot
build/sysroot/lib/libc.a: build/sysroot/stamp ;

build/libc-glue/%.o build/lib/portals/%.o build/lib/p30/%.o: \
		GLUE_COMPILE = mkdir -p $(@D) && echo "  CC    $<" && \
		$(CC) $(GLUE_CFLAGS) -MD -MP -c -o $@ $<

build/libc-glue/%.o: libc-glue/%.c build/sysroot/stamp libc-glue/build.mk
	@$(GLUE_COMPILE)
build/lib/portals/%.o: lib/portals/%.c build/sysroot/stamp libc-glue/build.mk
	@$(GLUE_COMPILE)
build/lib/p30/%.o: lib/p30/%.c build/sysroot/stamp libc-glue/build.mk
	@$(GLUE_COMPILE)

# gcc would compile these into calls of themselves, and would use vectors.
build/libc-glue/malloc.o: GLUE_CFLAGS += -fno-builtin
build/libc-glue/string.o: GLUE_CFLAGS += -fno-builtin -fno-tree-vectorize \
	-fno-tree-loop-distribute-patterns

# The archive has public names only: those of C and of include/, and reserved ones. All others
# get a reserved prefix there, so that an application may use them.
GLUE_PUBLIC := _.* (margay|ptl|p30)_.* Ptl.* aligned_alloc c(exp|sqrt|sinh|cosh|tanh)l \
	c(log|asin|acos|atan|pow)[fl]? calloc faccessat free malloc \
	malloc_usable_size mem(cmp|cpy|move|set) powl qsort(_r)? realloc strn?cmp strlen system \
	v?fork daemon p(open|close) exec(ve?|vpe?|le?|lp) fexecve wait(pid|id|3|4)?

build/libmargay/names: $(GLUE_OBJECTS) build/libc-glue/crt0.o libc-glue/build.mk
	@mkdir -p $(@D)
	@nm -g --defined-only $(filter %.o,$^) | awk 'NF == 3 { print $$3 }' | sort -u | \
		grep -vxE $(GLUE_PUBLIC:%=-e '%') | sed 's/.*/& __&/' > $@

build/libmargay.a: build/libmargay/names $(GLUE_OBJECTS)
	@rm -f $@
	@for object in $(GLUE_OBJECTS:build/%=%); do mkdir -p build/libmargay/$${object%/*} && \
		objcopy --redefine-syms=$< build/$$object build/libmargay/$$object || exit 1; done
	@ar rcs $@ $(GLUE_OBJECTS:build/%=build/libmargay/%)

build/crt0.o: build/libc-glue/crt0.o build/libmargay/names
	@objcopy --redefine-syms=build/libmargay/names $< $@

-include $(GLUE_OBJECTS:.o=.d) build/libc-glue/crt0.d
