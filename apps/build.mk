# Applications: each apps/NAME.c and tests/apps/NAME.c is one program, linked with kernel and C
# library into one bootable image. Further libraries of a program are in APP_LIBS, a variable of its
# target, in the build.mk of that library.

include apps/text.mk

APPS       := $(patsubst apps/%.c,build/apps/%.elf,$(wildcard apps/*.c))
TEST_APPS  := $(patsubst tests/apps/%.c,build/tests/%.elf,$(wildcard tests/apps/*.c))
APP_PARTS  := linker.ld build/kernel.o build/libmargay.a build/crt0.o build/sysroot/stamp
APP_CFLAGS := -Wall -Wextra -Werror

build/apps/%.elf: apps/%.c $(APP_PARTS) apps/build.mk
	@mkdir -p $(@D)
	@echo "  LINK  $@"
	@tools/margay cc $(APP_CFLAGS) -MD -MP -MT $@ -MF build/apps/$*.d -o $@ $< $(APP_LIBS)

build/tests/%.elf: tests/apps/%.c $(APP_PARTS) apps/build.mk
	@mkdir -p $(@D)
	@echo "  LINK  $@"
	@tools/margay cc $(APP_CFLAGS) -I apps -MD -MP -MT $@ -MF build/tests/$*.d -o $@ $<

# The same with the kernel that has the self-tests, for `margay run --selftest`, which looks for it
# in the folder selftests beside the application.
SELFTEST_APPS := build/apps/selftests/hello.elf build/apps/selftests/ring.elf \
	build/tests/selftests/damaged.elf build/tests/selftests/ptl_long.elf \
	build/tests/selftests/ptl_pinned.elf
SELFTEST_PARTS := $(APP_PARTS) build/kernel-selftests.o

build/apps/selftests/%.elf: apps/%.c $(SELFTEST_PARTS) apps/build.mk
	@mkdir -p $(@D)
	@echo "  LINK  $@"
	@tools/margay cc --selftests $(APP_CFLAGS) -o $@ $<

build/tests/selftests/%.elf: tests/apps/%.c $(SELFTEST_PARTS) apps/build.mk
	@mkdir -p $(@D)
	@echo "  LINK  $@"
	@tools/margay cc --selftests $(APP_CFLAGS) -I apps -o $@ $<

.PHONY: apps test-apps
apps: $(APPS)
test-apps: $(TEST_APPS) $(SELFTEST_APPS)

-include $(APPS:.elf=.d) $(TEST_APPS:.elf=.d)
