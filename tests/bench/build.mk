# The programs that `make bench` runs on the nodes.

BENCH_APPS := $(patsubst tests/bench/%.c,build/bench/%.elf,$(wildcard tests/bench/*.c))

build/bench/%.elf: tests/bench/%.c $(APP_PARTS) apps/build.mk
	@mkdir -p $(@D)
	@echo "  LINK  $@"
	@tools/margay cc $(APP_CFLAGS) -MD -MP -MT $@ -MF build/bench/$*.d -o $@ $<

BENCH_SELFTEST_APPS := build/bench/selftests/put.elf build/bench/selftests/incast.elf

build/bench/selftests/%.elf: tests/bench/%.c $(SELFTEST_PARTS) apps/build.mk
	@mkdir -p $(@D)
	@echo "  LINK  $@"
	@tools/margay cc --selftests $(APP_CFLAGS) -o $@ $<

build/bench/blocks: tests/bench/host/blocks.c build/libmargayhost.a
	@mkdir -p $(@D)
	@echo "  LINK  $@"
	@gcc $(HOST_CFLAGS) -o $@ $^

build/bench/line: tests/bench/host/line.c
	@mkdir -p $(@D)
	@echo "  LINK  $@"
	@gcc $(HOST_CFLAGS) -pthread -o $@ $<

.PHONY: bench-apps
bench-apps: $(BENCH_APPS) $(BENCH_SELFTEST_APPS) $(SELFTEST_APPS) build/bench/blocks build/bench/line

-include $(BENCH_APPS:.elf=.d)
