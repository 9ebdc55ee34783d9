# The kernel as one relocatable object, build/kernel.o, that every application
# is linked with. All of it is compiled for link-time optimisation and joined. Then its sections get
# ".k" in front and its symbols become local, so that no name clashes with the application's. Tables
# that debuggers can do without (.debug_aranges, .debug_frame) are left out of the image.
# build/kernel-selftests.o is the same kernel with its self-tests, for tests and benchmarks (margay
# cc --selftests).

KERNEL_BUILD := build/kernel

# -fira-region=one: fewer instructions for the flattened put, and no more elsewhere.
# -fno-schedule-insns2: processors reorder instructions themselves; unscheduled code needs half as
# many line numbers.
# -fno-inline-functions-called-once: a backtrace of the kernel names the callers.
KERNEL_CFLAGS := -std=gnu17 -O2 -gdwarf-4 -g1 -gno-column-info -gno-statement-frontiers \
	-fira-region=one -fno-schedule-insns2 -fno-inline-functions-called-once \
	-Wall -Wextra -Werror -ffreestanding -mgeneral-regs-only -mpopcnt -mno-red-zone -fno-pic \
	-no-pie -mcmodel=small -fno-stack-protector -fcf-protection=none \
	-fno-omit-frame-pointer -fno-optimize-sibling-calls -fno-asynchronous-unwind-tables \
	-fno-common -ffunction-sections -flto -fno-ipa-icf -Iinclude -I$(CURDIR) -ffile-prefix-map=$(CURDIR)/=
KERNEL_ASFLAGS := -f elf64 -g -F dwarf -I $(KERNEL_BUILD)/kernel/cpu/
KERNEL_OFFSETS := $(KERNEL_BUILD)/kernel/cpu/offsets.inc

# Names that linker.ld uses; everything else is local.
KERNEL_GLOBALS := margay_linux_stub

# Each folder of kernel/ is a room; tests/rooms.py says which may use which.
SELFTEST_C := $(filter-out %/no_selftest.c,$(wildcard kernel/selftest/*.c))
KERNEL_C   := $(filter-out kernel/cpu/offsets.c kernel/selftest/%, \
	$(wildcard kernel/*/*.c drivers/*.c)) $(NET_SOURCES) $(LINK_SOURCES)
KERNEL_ASM := $(wildcard boot/*.asm kernel/*/*.asm)
KERNEL_OBJ := $(KERNEL_C:%.c=$(KERNEL_BUILD)/%.o) $(KERNEL_ASM:%.asm=$(KERNEL_BUILD)/%.asm.o)
SELFTEST_OBJ := $(SELFTEST_C:%.c=$(KERNEL_BUILD)/%.o)
NO_SELFTEST_OBJ := $(KERNEL_BUILD)/kernel/selftest/no_selftest.o

build/kernel.o: $(KERNEL_BUILD)/joined.o
build/kernel-selftests.o: $(KERNEL_BUILD)/joined-selftests.o

build/kernel.o build/kernel-selftests.o:
	@objcopy --prefix-alloc-sections=.k --remove-section=.debug_frame \
		--remove-section=.debug_aranges --remove-section=.rela.debug_aranges \
		$(KERNEL_GLOBALS:%=--keep-global-symbol=%) $< $@

# The joined object is the whole kernel: only functions that assembly names (externally_visible) are
# called from outside. -fwhole-program tells the compiler so. It accepts that only if it makes a
# program (-flinker-output=exec) and no linker plugin contradicts. It then drops what nothing calls
# and what it has inlined everywhere. Joining flattens the message path (portals_message.c). The
# compiler then warns about results that are read only if they were set, and about copies longer
# than their target, although the length was checked before.
KERNEL_WHOLE := -fwhole-program -flinker-output=exec -fno-use-linker-plugin

$(KERNEL_BUILD)/joined.o: $(KERNEL_OBJ) $(NO_SELFTEST_OBJ)
$(KERNEL_BUILD)/joined-selftests.o: $(KERNEL_OBJ) $(SELFTEST_OBJ)

$(KERNEL_BUILD)/joined.o $(KERNEL_BUILD)/joined-selftests.o: kernel/build.mk
	@echo "  LD    $@"
	@$(CC) $(KERNEL_CFLAGS) -Wno-maybe-uninitialized -Wno-stringop-overflow -r -nostdlib -flto-partition=one \
		$(KERNEL_WHOLE) -o $@ $(filter %.o,$^)

# The compiler may emit calls of these functions anywhere, even where it inlined all calls.
$(KERNEL_BUILD)/kernel/base/string.o: KERNEL_CFLAGS += -fno-lto -fno-builtin \
	-fno-tree-loop-distribute-patterns

# Floating point: see the file.
$(KERNEL_BUILD)/kernel/portals/port_float.o: KERNEL_CFLAGS := \
	$(filter-out -mgeneral-regs-only -flto,$(KERNEL_CFLAGS)) -msse2 -mno-avx -mfpmath=sse \
	-ffp-contract=off

# Code that runs once, at boot or at the end, or that only measures, is compiled for size rather
# than speed: the image holds all of it.
KERNEL_SMALL := kernel/base/format kernel/base/panic kernel/console/% kernel/cpu/cpu \
	kernel/devices/acpi kernel/devices/clock_rates kernel/devices/pci kernel/devices/pic \
	kernel/devices/power kernel/devices/random kernel/loader/% kernel/memory/memory \
	kernel/report/% kernel/transport/cards kernel/transport/link_count \
	kernel/transport/region_requests kernel/files/% kernel/boot/% \
	$(addprefix kernel/selftest/,no_selftest selftest selftest_damage selftest_frames \
	selftest_incast selftest_places) \
	$(addprefix drivers/,virtio nic_table virtio_9p virtio_net_state watch e1000 \
	e1000e) net/shm/region
$(filter $(KERNEL_SMALL:%=$(KERNEL_BUILD)/%.o),$(KERNEL_OBJ) $(SELFTEST_OBJ) $(NO_SELFTEST_OBJ)): \
	KERNEL_CFLAGS += -Os

$(KERNEL_BUILD)/%.o: %.c kernel/build.mk
	@mkdir -p $(@D)
	@echo "  CC    $<"
	@$(CC) $(KERNEL_CFLAGS) -MMD -MP -c -o $@ $<

$(KERNEL_BUILD)/%.asm.o: %.asm $(KERNEL_OFFSETS)
	@mkdir -p $(@D)
	@echo "  NASM  $<"
	@$(NASM) $(KERNEL_ASFLAGS) -o $@ $<

$(KERNEL_OFFSETS): kernel/cpu/offsets.c kernel/build.mk
	@mkdir -p $(@D)
	@echo "  CC    $<"
	@$(CC) $(KERNEL_CFLAGS) -fno-lto -g0 -MMD -MP -MF $@.d -MT $@ -S -o $@.s $<
	@sed -n 's/^#define \(.*\)/%define \1/p' $@.s > $@

-include $(KERNEL_OBJ:.o=.d) $(SELFTEST_OBJ:.o=.d) $(NO_SELFTEST_OBJ:.o=.d) $(KERNEL_OFFSETS).d
