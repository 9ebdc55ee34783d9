# The libfabric provider: build/lib/libfabric.a, on libfabric's own headers.

OFI_OBJECTS := $(patsubst %.c,build/%.o,$(wildcard lib/ofi/*.c))
OFI_CFLAGS  := -O2 -g -Wall -Wextra -Werror -flto -isystem build/libfabric/include

LIBFABRIC_DEB := libfabric-dev_1.17.0-3_amd64.deb
LIBFABRIC_SUM := c5ebcf597fd912fdb6a07aa3b21bbfcf1abf016f10add737fa3cc1bf995b5e9c

# libfabric's headers only; they are the same for every machine.
build/libfabric/stamp: lib/ofi/build.mk
	@rm -rf build/libfabric
	@tools/debian-source.sh --package libfabric-dev $(LIBFABRIC_DEB) $(LIBFABRIC_SUM) \
		build/libfabric
	@dpkg-deb -x build/libfabric/$(LIBFABRIC_DEB) build/libfabric/package
	@mv build/libfabric/package/usr/include build/libfabric/include
	@rm -rf build/libfabric/package build/libfabric/$(LIBFABRIC_DEB)
	@touch $@

build/lib/ofi/%.o: lib/ofi/%.c $(APP_PARTS) build/libfabric/stamp lib/ofi/build.mk
	@mkdir -p $(@D)
	@echo "  CC    $<"
	@tools/margay cc $(OFI_CFLAGS) -MD -MP -c -o $@ $<

# Linked into one object: the compiler optimises across the files, and internal names stay internal.
build/lib/ofi/joined.o: $(OFI_OBJECTS)
	@echo "  LD    $@"
	@$(CC) -O2 -g -r -nostdlib -flto -flto-partition=one -flinker-output=nolto-rel \
		-fno-pic -mcmodel=small -o $@ $^
	@objcopy --wildcard --keep-global-symbol='fi_*' $@

build/lib/libfabric.a: build/lib/ofi/joined.o
	@rm -f $@
	@ar rcs $@ $^

-include $(OFI_OBJECTS:.o=.d)
