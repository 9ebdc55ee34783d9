# The library that tells MPI about its job: see pmi.h. Included by the Makefile.

build/lib/libpmi.a: lib/pmi/pmi.c lib/pmi/pmi.h include/margay.h include/portals3.h \
		build/sysroot/stamp lib/pmi/build.mk tools/margaylib/compile.py
	@mkdir -p $(@D)
	@echo "  CC    $<"
	@tools/margay cc -O2 -Wall -Wextra -Werror -ffunction-sections -Ilib/pmi -c -o build/lib/pmi.o $<
	@rm -f $@
	@ar rcs $@ build/lib/pmi.o
