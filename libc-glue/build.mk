# The C library of the nodes: newlib, and what joins it to the kernel.

GLUE_CFLAGS := -std=gnu17 -O2 -g -gno-column-info -gno-statement-frontiers -Wall -Wextra -Werror \
	-fstack-clash-protection -fno-omit-frame-pointer -fno-pic -no-pie \
	-mcmodel=small -fno-stack-protector -fcf-protection=none -ffunction-sections -mfsgsbase \
	-U_FORTIFY_SOURCE -U__linux__ -U__gnu_linux__ -Ulinux -U__unix__ -Uunix -D__margay__ \
	-D_GNU_SOURCE -nostdinc -isystem $(shell $(CC) -print-file-name=include) \
	-isystem build/newlib/include -isystem include -Ilibc-glue
GLUE_SOURCES := $(filter-out libc-glue/crt0.c,$(wildcard libc-glue/*.c libc-glue/math/*.c))
GLUE_OBJECTS := $(GLUE_SOURCES:%.c=build/%.o)

# One run of newlib.sh; its stamp stands for the headers and the archives.
build/newlib/stamp: libc-glue/newlib.sh libc-glue/dirent.h libc-glue/tgmath.h
	@CC=$(CC) libc-glue/newlib.sh build/newlib
build/newlib/lib/libc.a build/newlib/lib/libm.a: build/newlib/stamp ;

build/libc-glue/%.o: libc-glue/%.c build/newlib/stamp libc-glue/build.mk
	@mkdir -p $(@D)
	@echo "  CC    $<"
	@$(CC) $(GLUE_CFLAGS) -MD -MP -c -o $@ $<

# Functions of the table in missing.c and of the C library have one form here.
build/libc-glue/missing.o: GLUE_CFLAGS += -fno-builtin -Wno-builtin-declaration-mismatch
build/libc-glue/math/%.o: GLUE_CFLAGS += -fno-builtin -Ibuild/libc-glue/math

build/libc-glue/math/trig.o: build/libc-glue/math/two_over_pi.h
build/libc-glue/math/two_over_pi.h: libc-glue/math/two_over_pi.py
	@mkdir -p $(@D)
	@/usr/bin/python3 $< > $@.new
	@mv $@.new $@

build/libmargay.a: $(GLUE_OBJECTS)
	@rm -f $@
	@ar rcs $@ $^

build/crt0.o: build/libc-glue/crt0.o
	@cp $< $@

-include $(GLUE_OBJECTS:.o=.d) build/libc-glue/crt0.d
