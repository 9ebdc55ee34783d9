# The benchmark of lib/vmmc, and tests of vRPC; those of VMMC itself are in lib/vmmc/build.mk.

VMMC_BENCH := build/bench/vmmc_bench.elf build/bench/selftests/vmmc_bench.elf

build/bench/vmmc_bench.elf: LINKED :=
build/bench/selftests/vmmc_bench.elf: LINKED := --selftests
$(VMMC_BENCH): tests/bench/vmmc/vmmc_bench.c apps/job.h $(SELFTEST_PARTS) build/lib/libvmmc.a \
		tests/lib/vmmc/build.mk
	@mkdir -p $(@D)
	@echo "  LINK  $@"
	@tools/margay cc $(LINKED) -O2 $(APP_CFLAGS) -I lib/vmmc/include -o $@ $< -Lbuild/lib -lvmmc

bench-apps: $(VMMC_BENCH) build/tests/vrpc_calc.elf

# vRPC: tests/lib/vmmc/rpc/NAME.x and vrpc_NAME.c are one program. The stubs are rpcgen's unmodified
# output, in build/tests/rpc; NAME_main.c has the server's main as well.
VRPC_TESTS := $(patsubst tests/lib/vmmc/rpc/%.c,build/tests/%.elf,$(wildcard tests/lib/vmmc/rpc/*.c))

build/tests/rpc/%.h: tests/lib/vmmc/rpc/%.x tests/lib/vmmc/build.mk
	@mkdir -p $(@D)
	@echo "  GEN   build/tests/rpc/$*"
	@cp $< $(@D)/$*.x
	@cd $(@D) && rm -f $*_clnt.c $*_xdr.c $*_svc.c $*_main.c $*.h && \
		rpcgen -l -o $*_clnt.c $*.x && rpcgen -c -o $*_xdr.c $*.x && \
		rpcgen -m -o $*_svc.c $*.x && rpcgen -s tcp -s udp -o $*_main.c $*.x && \
		rpcgen -h -o $*.h $*.x
	@touch $@

$(VRPC_TESTS): build/tests/vrpc_%.elf: tests/lib/vmmc/rpc/vrpc_%.c build/tests/rpc/%.h \
		$(APP_PARTS) build/lib/libvmmc.a build/lib/libvrpc.a tests/lib/vmmc/vmmc_test.h
	@echo "  LINK  $@"
	@for part in clnt xdr $(if $(filter dir,$*),main,svc); do tools/margay cc -O2 -w \
		$(if $(filter dir,$*),-Dmain=$*_server) -Ibuild/tests/rpc $(VRPC_HEADERS) -c \
		-o build/tests/rpc/$*_$$part.o build/tests/rpc/$*_$$part.c || exit 1; done
	@tools/margay cc -O2 $(APP_CFLAGS) -Wno-cast-function-type -I tests/apps -I tests/lib/vmmc \
		-I build/tests/rpc $(VRPC_HEADERS) -o $@ $< build/tests/rpc/$*_clnt.o \
		build/tests/rpc/$*_xdr.o build/tests/rpc/$*_$(if $(filter dir,$*),main,svc).o \
		-Lbuild/lib -lvrpc -lvmmc

test-apps: $(VRPC_TESTS) build/pkgconfig/vrpc.pc
