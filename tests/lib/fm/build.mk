# Tests of Fast Messages: each tests/lib/fm/NAME.c is one program, which test_fm.py runs.

FM_TESTS := $(patsubst tests/lib/fm/%.c,build/tests/%.elf,$(wildcard tests/lib/fm/*.c))

$(FM_TESTS): build/tests/%.elf: tests/lib/fm/%.c $(APP_PARTS) build/lib/libfm.a tests/lib/fm/build.mk
	@mkdir -p $(@D)
	@echo "  LINK  $@"
	@tools/margay cc -O2 $(APP_CFLAGS) -I lib/fm/include -MD -MP -MT $@ -MF build/tests/$*.d \
		-o $@ $< -Lbuild/lib -lfm

test-apps: $(FM_TESTS)

-include $(FM_TESTS:.elf=.d)
