# vRPC: build/lib/libvrpc.a, from lib/vmmc/vrpc/ and unmodified parts of Debian's libtirpc. Its
# headers for programs are in build/libtirpc/include. `make vrpc`: not part of `make`, because it
# fetches that source. The version is that of Debian 13, as mirrors may no longer have the source of
# Debian 12's.

TIRPC_TAR := libtirpc_1.3.6+ds.orig.tar.gz
TIRPC_SUM := f9eeeb368d733e11f18ddb750a41bdf9089ba5f9476404da848c2cd295624f0d

# XDR, authentication, and the layers of CLIENT and SVCXPRT. Not: sockets, port mapper, svc_run.
TIRPC_PARTS := auth_none auth_unix authunix_prot clnt_perror debug mt_misc rpc_callmsg \
	rpc_commondata rpc_dtablesize rpc_prot svc svc_auth svc_auth_none svc_auth_unix xdr xdr_array \
	xdr_float xdr_mem xdr_rec xdr_reference xdr_sizeof xdr_stdio
TIRPC_OBJECTS := $(TIRPC_PARTS:%=build/libtirpc/%.o)
VRPC_OBJECTS  := $(patsubst %.c,build/%.o,$(wildcard lib/vmmc/vrpc/*.c))
VRPC_HEADERS  := -Ilib/vmmc/include -isystem build/libtirpc/include

build/libtirpc/stamp: lib/vmmc/vrpc.mk tools/debian-source.sh
	@rm -rf build/libtirpc
	@tools/debian-source.sh --suite trixie libtirpc $(TIRPC_TAR) $(TIRPC_SUM) build/libtirpc
	@tar -x -z -f build/libtirpc/$(TIRPC_TAR) -C build/libtirpc --strip-components=1
	@mv build/libtirpc/tirpc build/libtirpc/include
	@: >build/libtirpc/config.h
	@touch $@

# libtirpc tells systems apart by __linux__, which Margay does not define; the code for Linux fits.
$(TIRPC_OBJECTS): build/libtirpc/%.o: build/libtirpc/stamp $(APP_PARTS)
	@echo "  CC    libtirpc/$*.c"
	@tools/margay cc -O2 -g -w -ffunction-sections -D__linux__ -D_GNU_SOURCE -DPORTMAP -DINET6 \
		-Ibuild/libtirpc/include -include build/libtirpc/config.h -c -o $@ \
		build/libtirpc/src/$*.c

build/lib/vmmc/vrpc/%.o: lib/vmmc/vrpc/%.c build/libtirpc/stamp $(APP_PARTS) lib/vmmc/vrpc.mk
	@mkdir -p $(@D)
	@echo "  CC    $<"
	@tools/margay cc $(LIBRARY_CFLAGS) -ffunction-sections -Wno-cast-function-type $(VRPC_HEADERS) \
		-MD -MP -c -o $@ $<

build/lib/libvrpc.a: $(VRPC_OBJECTS) $(TIRPC_OBJECTS)

build/pkgconfig/vrpc.pc: tools/install/pkgconfig.py build/pkgconfig/vmmc.pc lib/vmmc/vrpc.mk
	@$(PYTHON) -IBS tools/install/pkgconfig.py $@ '$${pcfiledir}/../..' '$${root}/build/lib' \
		build/libtirpc/include

.PHONY: vrpc
vrpc: build/lib/libvrpc.a build/lib/libvmmc.a build/pkgconfig/vrpc.pc

-include $(VRPC_OBJECTS:.o=.d)
