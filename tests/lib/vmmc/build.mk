# Tests of lib/vmmc: each tests/lib/vmmc/NAME.c is one program, which test_vmmc.py runs.

VMMC_TESTS := $(patsubst tests/lib/vmmc/%.c,build/tests/%.elf,$(wildcard tests/lib/vmmc/*.c))

$(VMMC_TESTS): build/tests/%.elf: tests/lib/vmmc/%.c $(APP_PARTS) build/lib/libvmmc.a \
		tests/lib/vmmc/build.mk
	@mkdir -p $(@D)
	@echo "  LINK  $@"
	@tools/margay cc -O2 $(APP_CFLAGS) -I tests/apps -I lib/vmmc/include -MD -MP -MT $@ \
		-MF build/tests/$*.d -o $@ $< -Lbuild/lib -lvmmc

test-apps: $(VMMC_TESTS)

-include $(VMMC_TESTS:.elf=.d)

VMMC_BENCH := build/bench/vmmc_bench.elf build/bench/selftests/vmmc_bench.elf

build/bench/vmmc_bench.elf: LINKED :=
build/bench/selftests/vmmc_bench.elf: LINKED := --selftests
$(VMMC_BENCH): tests/bench/vmmc/vmmc_bench.c apps/job.h $(SELFTEST_PARTS) build/lib/libvmmc.a \
		tests/lib/vmmc/build.mk
	@mkdir -p $(@D)
	@echo "  LINK  $@"
	@tools/margay cc $(LINKED) -O2 $(APP_CFLAGS) -I lib/vmmc/include -o $@ $< -Lbuild/lib -lvmmc

bench-apps: $(VMMC_BENCH)
