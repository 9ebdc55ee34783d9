# Virtual memory-mapped communication: build/lib/libvmmc.a, with the header include/vmmc.h.

VMMC_OBJECTS := $(patsubst %.c,build/%.o,$(wildcard lib/vmmc/*.c))
VMMC_CFLAGS  := -O2 -g -Wall -Wextra -Werror -ffunction-sections -Ilib/vmmc/include

build/lib/vmmc/%.o: lib/vmmc/%.c $(APP_PARTS) lib/vmmc/build.mk
	@mkdir -p $(@D)
	@echo "  CC    $<"
	@tools/margay cc $(VMMC_CFLAGS) -MD -MP -MT $@ -MF build/lib/vmmc/$*.d -c -o $@ $<

build/lib/libvmmc.a: $(VMMC_OBJECTS)
	@rm -f $@
	@ar rcs $@ $^

# Example programs that link with it: apps/vmmc_NAME.c.
VMMC_APPS := $(patsubst apps/%.c,build/apps/%.elf,$(wildcard apps/vmmc_*.c))

$(VMMC_APPS): APP_LIBS = -Ilib/vmmc/include -Lbuild/lib -lvmmc
$(VMMC_APPS): build/lib/libvmmc.a

-include $(VMMC_OBJECTS:.o=.d)

include lib/vmmc/vrpc.mk
