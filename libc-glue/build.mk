# The C library of the nodes: musl, and what joins it to the kernel; and the libraries that every
# application has, Portals 3.3 and 3.0.

GLUE_VERSION := $(shell sed -n 's/^VERSION = "\(.*\)"/\1/p' tools/margaylib/__init__.py)
GLUE_CFLAGS := -std=gnu17 -O2 -g -gno-column-info -gno-statement-frontiers -Wall -Wextra -Werror \
	-fstack-clash-protection -fno-omit-frame-pointer -fno-pic -no-pie -fexceptions \
	-mcmodel=small -fno-stack-protector -fcf-protection=none -ffunction-sections -mfsgsbase \
	-U_FORTIFY_SOURCE -U__linux__ -U__gnu_linux__ -Ulinux -D__margay__ -D_GNU_SOURCE \
	-nostdinc -isystem build/sysroot/include -isystem $(shell $(CC) -print-file-name=include) \
	-isystem include -I. -DMARGAY_VERSION='"$(GLUE_VERSION)"'
# lib/portals and lib/p30 are linked with every application, too.
GLUE_SOURCES := $(filter-out libc-glue/crt0.c,$(wildcard libc-glue/*.c)) \
	$(wildcard lib/portals/*.c lib/p30/*.c)
GLUE_OBJECTS := $(GLUE_SOURCES:%.c=build/%.o)

# One run of musl.sh; its stamp stands for the headers and the archive.
build/sysroot/stamp: libc-glue/musl.sh $(shell find libc-glue/musl -type f)
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

# gcc knows what these do, and would make them call themselves; it also would use vectors.
build/libc-glue/malloc.o: GLUE_CFLAGS += -fno-builtin
build/libc-glue/string.o: GLUE_CFLAGS += -fno-builtin -fno-tree-vectorize \
	-fno-tree-loop-distribute-patterns

build/libmargay.a: $(GLUE_OBJECTS)
	@rm -f $@
	@ar rcs $@ $^

build/crt0.o: build/libc-glue/crt0.o
	@cp $< $@

-include $(GLUE_OBJECTS:.o=.d) build/libc-glue/crt0.d
