# Fast Messages: build/lib/libfm.a, and its two layers of tagged messages, of which a program
# links one: libfm_match1.a over 1.1, libfm_match2.a over 2.x. Included by the Makefile.

FM_LIBRARIES := build/lib/libfm.a build/lib/libfm_match1.a build/lib/libfm_match2.a
FM_LAYERS    := lib/fm/match.c lib/fm/match1.c lib/fm/match2.c
FM_OBJECTS   := $(patsubst %.c,build/%.o,$(filter-out $(FM_LAYERS),$(wildcard lib/fm/*.c)))

.SECONDARY: $(FM_OBJECTS) $(patsubst %.c,build/%.o,$(FM_LAYERS)) \
	build/lib/fm/joined-match1.o build/lib/fm/joined-match2.o

$(eval $(call library,fm,-flto -Ilib/fm/include))

build/lib/fm/joined.o: $(FM_OBJECTS)
	@echo "  LD    $@"
	@$(LIBRARY_JOIN) -o $@ $^
	@objcopy --wildcard --keep-global-symbol='FM_*' --keep-global-symbol='FMS_*' $@

build/lib/fm/joined-match%.o: build/lib/fm/match.o build/lib/fm/match%.o
	@echo "  LD    $@"
	@$(LIBRARY_JOIN) -o $@ $^
	@objcopy --wildcard --keep-global-symbol='FMM_*' $@

build/lib/libfm.a: build/lib/fm/joined.o
build/lib/libfm_match1.a: build/lib/fm/joined-match1.o
build/lib/libfm_match2.a: build/lib/fm/joined-match2.o

$(eval $(call library_programs,fm,fm,-Ilib/fm/include,-lfm))

# The same program over each layer of tagged messages.
FM_MATCH_TESTS := build/tests/fm_match1.elf build/tests/fm_match2.elf

build/tests/fm_match%.elf: tests/lib/fm/match/messages.c $(APP_PARTS) build/lib/libfm.a \
		build/lib/libfm_match%.a lib/fm/build.mk
	@mkdir -p $(@D)
	@echo "  LINK  $@"
	@tools/margay cc -O2 $(APP_CFLAGS) -Ilib/fm/include -Itests/lib/fm -MD -MP -MT $@ \
		-MF build/tests/fm_match$*.d -o $@ $< -Lbuild/lib -lfm_match$* -lfm

test-apps: $(FM_MATCH_TESTS)

-include $(FM_MATCH_TESTS:.elf=.d)
