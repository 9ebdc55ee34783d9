# The launcher's parts that are compiled for the host: the region's layout as
# JSON and the helper that starts QEMU. Included by the Makefile.

TOOLS_CFLAGS := -std=gnu17 -O2 -g -Wall -Wextra -Werror -I. -Iinclude -Inet

# block.c for block_bytes only: the linker drops its other sections.
build/tools/layout: tools/layout.c net/portals/block.c net/shm/region.h $(wildcard net/portals/*.h)
	@mkdir -p $(@D)
	@echo "  LD    $@"
	@$(CC) $(TOOLS_CFLAGS) -ffunction-sections -Wl,--gc-sections -o $@ tools/layout.c \
		net/portals/block.c

build/region.json: build/tools/layout
	@build/tools/layout > $@.new
	@mv $@.new $@

build/tools/spawn: tools/spawn.c
	@mkdir -p $(@D)
	@echo "  LD    $@"
	@$(CC) $(TOOLS_CFLAGS) -static -o $@ $<

.PHONY: tools
tools: build/region.json build/tools/spawn build/tools/switch

SWITCH_SOURCES := $(sort $(wildcard tools/switch/*.c))

build/tools/switch: $(SWITCH_SOURCES) tools/switch/switch.h
	@mkdir -p $(@D)
	@echo "  LD    $@"
	@$(CC) $(TOOLS_CFLAGS) -D_GNU_SOURCE -o $@ $(SWITCH_SOURCES)
