# Tests of Fast Messages: each tests/lib/fm/NAME.c is one program, which test_fm.py runs.

FM_TESTS := $(patsubst tests/lib/fm/%.c,build/tests/%.elf,$(wildcard tests/lib/fm/*.c))

$(FM_TESTS): build/tests/%.elf: tests/lib/fm/%.c $(APP_PARTS) build/lib/libfm.a tests/lib/fm/build.mk
	@mkdir -p $(@D)
	@echo "  LINK  $@"
	@tools/margay cc -O2 $(APP_CFLAGS) -I lib/fm/include -MD -MP -MT $@ -MF build/tests/$*.d \
		-o $@ $< -Lbuild/lib -lfm

# The same program over each layer of tagged messages.
FM_MATCH_TESTS := build/tests/fm_match1.elf build/tests/fm_match2.elf

build/tests/fm_match%.elf: tests/lib/fm/match/messages.c $(APP_PARTS) build/lib/libfm.a \
		build/lib/libfm_match%.a tests/lib/fm/build.mk
	@mkdir -p $(@D)
	@echo "  LINK  $@"
	@tools/margay cc -O2 $(APP_CFLAGS) -I lib/fm/include -I tests/lib/fm -MD -MP -MT $@ \
		-MF build/tests/fm_match$*.d -o $@ $< -Lbuild/lib -lfm_match$* -lfm

test-apps: $(FM_TESTS) $(FM_MATCH_TESTS)

-include $(FM_TESTS:.elf=.d) $(FM_MATCH_TESTS:.elf=.d)
