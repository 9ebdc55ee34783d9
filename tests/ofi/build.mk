# Tests of the libfabric provider: each tests/ofi/NAME.c is one program, which test_ofi.py runs.

OFI_TESTS := $(patsubst tests/ofi/%.c,build/tests/%.elf,$(wildcard tests/ofi/*.c))

$(OFI_TESTS): build/tests/%.elf: tests/ofi/%.c $(APP_PARTS) build/lib/libfabric.a build/lib/libpmi.a \
		tests/ofi/build.mk
	@mkdir -p $(@D)
	@echo "  LINK  $@"
	@tools/margay cc -O2 $(APP_CFLAGS) -I tests/apps -I lib/pmi -isystem build/libfabric/include -MD -MP \
		-MT $@ -MF build/tests/$*.d -o $@ $< -Lbuild/lib -lfabric -lpmi

test-apps: $(OFI_TESTS)

-include $(OFI_TESTS:.elf=.d)
