# PM2, build/lib/libpm2.a: threads, remote procedure calls and migration, see include/pm2.h.
# Included by the Makefile.

PM2_OBJECTS := $(patsubst %.c,build/%.o,$(wildcard lib/pm2/*.c))
PM2_CFLAGS  := -O2 -g -Wall -Wextra -Werror -flto -Ilib/pm2/include

build/lib/pm2/%.o: lib/pm2/%.c $(APP_PARTS) lib/pm2/build.mk
	@mkdir -p $(@D)
	@echo "  CC    $<"
	@tools/margay cc $(PM2_CFLAGS) -MD -MP -c -o $@ $<

# Linked into one object: the compiler optimises across the files, and internal names stay internal.
build/lib/pm2/joined.o: $(PM2_OBJECTS)
	@echo "  LD    $@"
	@$(CC) -O2 -g -r -nostdlib -flto -flto-partition=one -flinker-output=nolto-rel \
		-fno-pic -mcmodel=small -o $@ $^
	@objcopy $(PM2_NAMES:%=--keep-global-symbol=%) $@

# The calls of the header.
PM2_NAMES := $(shell sed -n 's|^[a-z].*[ *]\(pm2_[a-z_]*\)[^a-z_ ;].*|\1|p' lib/pm2/include/pm2.h)

build/lib/libpm2.a: build/lib/pm2/joined.o
	@rm -f $@
	@ar rcs $@ $^

# Example programs and tests that link with it.
build/apps/pm2_%.elf build/tests/pm2_%.elf: APP_LIBS = -Ilib/pm2/include -Lbuild/lib -lpm2

$(patsubst apps/%.c,build/apps/%.elf,$(wildcard apps/pm2_*.c)): build/lib/libpm2.a

PM2_TESTS := $(patsubst tests/lib/pm2/%.c,build/tests/%.elf,$(wildcard tests/lib/pm2/*.c))

$(PM2_TESTS): build/tests/%.elf: tests/lib/pm2/%.c $(APP_PARTS) build/lib/libpm2.a lib/pm2/build.mk
	@mkdir -p $(@D)
	@echo "  LINK  $@"
	@tools/margay cc -O2 $(APP_CFLAGS) -I tests/apps -MD -MP -MT $@ -MF build/tests/$*.d -o $@ $< \
		$(APP_LIBS)

test-apps: $(PM2_TESTS)

-include $(PM2_OBJECTS:.o=.d) $(PM2_TESTS:.elf=.d)
