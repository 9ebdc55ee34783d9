# The drivers' tests: the virtio driver compiled for the host, with a fake card
# and a fake kernel, under ASan and UBSan. Part of `make host-check`.

DRIVER_TEST_SOURCES := drivers/virtio.c drivers/virtio_net.c tests/host/check.c \
	$(sort $(wildcard tests/drivers/*.c))

build/host/check-drivers: $(DRIVER_TEST_SOURCES:%.c=build/host/gcc/%.o)
	@gcc $(HOST_SANITIZE) $^ -o $@

-include $(DRIVER_TEST_SOURCES:%.c=build/host/gcc/%.d)
