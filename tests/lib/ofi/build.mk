# Tests of the libfabric provider: each tests/lib/ofi/NAME.c is one program, which test_ofi.py runs.

OFI_TESTS := $(patsubst tests/lib/ofi/%.c,build/tests/%.elf,$(wildcard tests/lib/ofi/*.c))

$(OFI_TESTS): build/tests/%.elf: tests/lib/ofi/%.c $(APP_PARTS) build/lib/libfabric.a build/lib/libpmi.a \
		tests/lib/ofi/build.mk
	@mkdir -p build/tests/ofi
	@echo "  LINK  $@"
	@tools/margay cc -O2 $(APP_CFLAGS) -I tests/apps -I lib/pmi -isystem build/libfabric/include \
		-MD -MP -MT $@ -MF build/tests/ofi/$*.d -o $@ $< -Lbuild/lib -lfabric -lpmi

test-apps: $(OFI_TESTS)

-include $(OFI_TESTS:build/tests/%.elf=build/tests/ofi/%.d)
