# Fast Messages: build/lib/libfm.a, and its two layers of tagged messages, of which a program
# links one: libfm_match1.a over 1.1, libfm_match2.a over 2.x.

FM_LIBRARIES := build/lib/libfm.a build/lib/libfm_match1.a build/lib/libfm_match2.a
FM_LAYERS    := lib/fm/match.c lib/fm/match1.c lib/fm/match2.c
FM_OBJECTS   := $(patsubst %.c,build/%.o,$(filter-out $(FM_LAYERS),$(wildcard lib/fm/*.c)))
FM_CFLAGS    := -O2 -g -Wall -Wextra -Werror -flto -I lib/fm/include

.SECONDARY: $(FM_OBJECTS) $(patsubst %.c,build/%.o,$(FM_LAYERS)) \
	build/lib/fm/joined-match1.o build/lib/fm/joined-match2.o

build/lib/fm/%.o: lib/fm/%.c $(APP_PARTS) lib/fm/build.mk
	@mkdir -p $(@D)
	@echo "  CC    $<"
	@tools/margay cc $(FM_CFLAGS) -MD -MP -c -o $@ $<

# Linked into one object: the compiler optimises across the files, and internal names stay internal.
build/lib/fm/joined.o: $(FM_OBJECTS)
	@echo "  LD    $@"
	@$(CC) -O2 -g -r -nostdlib -flto -flto-partition=one -flinker-output=nolto-rel \
		-fno-pic -mcmodel=small -o $@ $^
	@objcopy --wildcard --keep-global-symbol='FM_*' --keep-global-symbol='FMS_*' $@

build/lib/libfm.a: build/lib/fm/joined.o
	@rm -f $@
	@ar rcs $@ $^

# Applications whose names begin with fm_.
build/apps/fm_%.elf: APP_LIBS = -Ilib/fm/include -Lbuild/lib -lfm
$(filter build/apps/fm_%.elf,$(APPS)): build/lib/libfm.a

-include $(FM_OBJECTS:.o=.d)

build/lib/fm/joined-match%.o: build/lib/fm/match.o build/lib/fm/match%.o
	@echo "  LD    $@"
	@$(CC) -O2 -g -r -nostdlib -flto -flto-partition=one -flinker-output=nolto-rel \
		-fno-pic -mcmodel=small -o $@ $^
	@objcopy --wildcard --keep-global-symbol='FMM_*' $@

build/lib/libfm_match%.a: build/lib/fm/joined-match%.o
	@rm -f $@
	@ar rcs $@ $^

-include $(patsubst %.c,build/%.d,$(FM_LAYERS))
