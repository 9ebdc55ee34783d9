# The drivers' tests: drivers compiled for the host, with a fake card (or interrupt
# controllers) and a fake kernel, under ASan and UBSan. And those of what firmware and loader tell
# (check-boot). Part of `make host-check`.

CARD_TEST_SOURCES := tests/host/check.c tests/drivers/kernel.c tests/drivers/card.c drivers/watch.c
VIRTIO_TEST_SOURCES := $(CARD_TEST_SOURCES) drivers/virtio.c drivers/virtio_net.c \
	drivers/virtio_net_bulk.c drivers/virtio_net_state.c tests/drivers/fake_virtio.c \
	tests/drivers/test_virtio_net.c tests/drivers/test_virtio_net_bulk.c
E1000_TEST_SOURCES := $(CARD_TEST_SOURCES) drivers/e1000_card.c drivers/e1000.c \
	drivers/e1000e.c tests/drivers/fake_e1000.c tests/drivers/test_e1000.c
PIC_TEST_SOURCES := tests/host/check.c tests/drivers/test_pic.c
POLLING_TEST_SOURCES := tests/host/check.c tests/drivers/test_polling.c
CONTROLS_TEST_SOURCES := tests/host/check.c tests/drivers/test_controls.c

BOOT_TEST_SOURCES := tests/host/check.c kernel/loader/boot_info.c kernel/loader/multiboot.c \
	kernel/loader/multiboot2.c tests/drivers/test_boot_info.c tests/drivers/test_acpi.c \
	tests/drivers/test_pci.c

build/host/check-drivers: $(VIRTIO_TEST_SOURCES:%.c=build/host/gcc/%.o)
	@gcc $(HOST_SANITIZE) -Wl,--wrap=virtio_reset $^ -o $@

build/host/check-e1000: $(E1000_TEST_SOURCES:%.c=build/host/gcc/%.o)
	@gcc $(HOST_SANITIZE) $^ -o $@

build/host/check-pic: $(PIC_TEST_SOURCES:%.c=build/host/gcc/%.o)
	@gcc $(HOST_SANITIZE) $^ -o $@

build/host/check-boot: $(BOOT_TEST_SOURCES:%.c=build/host/gcc/%.o)
	@gcc $(HOST_SANITIZE) $^ -o $@

build/host/check-polling: $(POLLING_TEST_SOURCES:%.c=build/host/gcc/%.o)
	@gcc $(HOST_SANITIZE) $^ -o $@

build/host/check-controls: $(CONTROLS_TEST_SOURCES:%.c=build/host/gcc/%.o)
	@gcc $(HOST_SANITIZE) $^ -o $@

-include $(VIRTIO_TEST_SOURCES:%.c=build/host/gcc/%.d) $(PIC_TEST_SOURCES:%.c=build/host/gcc/%.d) \
	$(POLLING_TEST_SOURCES:%.c=build/host/gcc/%.d) \
	$(CONTROLS_TEST_SOURCES:%.c=build/host/gcc/%.d) $(BOOT_TEST_SOURCES:%.c=build/host/gcc/%.d) \
	$(E1000_TEST_SOURCES:%.c=build/host/gcc/%.d)
