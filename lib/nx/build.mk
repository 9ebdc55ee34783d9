# NX, build/lib/libnx.a: see include/nx.h. Included by the Makefile.

NX_OBJECTS := $(patsubst %.c,build/%.o,$(wildcard lib/nx/*.c))

build/lib/nx/%.o: lib/nx/%.c $(APP_PARTS) lib/nx/build.mk
	@mkdir -p $(@D)
	@echo "  CC    $<"
	@tools/margay cc -O2 -Wall -Wextra -Werror -ffunction-sections -Ilib/nx/include -MD -MP -c \
		-o $@ $<

# handler.c is linked only into programs that call something of it: one object for each file.
build/lib/libnx.a: $(NX_OBJECTS)
	@rm -f $@
	@ar rcs $@ $^

# Example programs and tests that link with it.
build/apps/nx_%.elf build/tests/nx_%.elf: APP_LIBS = -Ilib/nx/include -Lbuild/lib -lnx

$(patsubst apps/%.c,build/apps/%.elf,$(wildcard apps/nx_*.c)): build/lib/libnx.a

NX_TESTS := $(patsubst tests/lib/nx/%.c,build/tests/%.elf,$(wildcard tests/lib/nx/*.c))

$(NX_TESTS): build/tests/%.elf: tests/lib/nx/%.c $(APP_PARTS) build/lib/libnx.a lib/nx/build.mk
	@mkdir -p $(@D)
	@echo "  LINK  $@"
	@tools/margay cc -O2 $(APP_CFLAGS) -I tests/apps -MD -MP -MT $@ -MF build/tests/$*.d -o $@ $< \
		$(APP_LIBS)

test-apps: $(NX_TESTS)

-include $(NX_OBJECTS:.o=.d) $(NX_TESTS:.elf=.d)
