# What the libraries in lib/ on Portals have in common: rules that their build.mk call.

LIBRARY_CFLAGS := -O2 -g -Wall -Wextra -Werror

# Links into one object: the compiler optimises across the files. objcopy then keeps the public
# names global and makes internal names local.
LIBRARY_JOIN = $(CC) -O2 -g -r -nostdlib -flto -flto-partition=one -flinker-output=nolto-rel \
	-fno-pic -mcmodel=small

# Its build.mk names the objects of each.
build/lib/lib%.a:
	@rm -f $@
	@ar rcs $@ $^

# $(eval $(call library,NAME,FLAGS)): lib/NAME/*.c become objects.
define library
build/lib/$(1)/%.o: lib/$(1)/%.c $$(APP_PARTS) lib/library.mk lib/$(1)/build.mk
	@mkdir -p $$(@D)
	@echo "  CC    $$<"
	@tools/margay cc $$(LIBRARY_CFLAGS) $(2) -MD -MP -c -o $$@ $$<

-include $$(patsubst %.c,build/%.d,$$(wildcard lib/$(1)/*.c))
endef

# $(eval $(call library_programs,NAME,PREFIX,FLAGS,LIBRARIES)): apps/PREFIX_*.c, and
# tests/lib/NAME/*.c as programs of their own, are compiled with FLAGS and linked with LIBRARIES.
define library_programs
build/apps/$(2)_%.elf: APP_LIBS = $(3) -Lbuild/lib $(4)
$$(patsubst apps/%.c,build/apps/%.elf,$$(wildcard apps/$(2)_*.c)): $(4:-l%=build/lib/lib%.a)

$(1)_TESTS := $$(patsubst tests/lib/$(1)/%.c,build/tests/%.elf,$$(wildcard tests/lib/$(1)/*.c))

$$($(1)_TESTS): build/tests/%.elf: tests/lib/$(1)/%.c $$(APP_PARTS) $(4:-l%=build/lib/lib%.a) \
		lib/library.mk lib/$(1)/build.mk
	@mkdir -p build/tests/$(1)
	@echo "  LINK  $$@"
	@tools/margay cc -O2 $$(APP_CFLAGS) -Itests/apps $(3) -MD -MP -MT $$@ \
		-MF build/tests/$(1)/$$*.d -o $$@ $$< -Lbuild/lib $(4)

test-apps: $$($(1)_TESTS)

-include $$($(1)_TESTS:build/tests/%.elf=build/tests/$(1)/%.d)
endef
