# Virtual memory-mapped communication: build/lib/libvmmc.a, with the header include/vmmc.h.
# Included by the Makefile.

$(eval $(call library,vmmc,-ffunction-sections -Ilib/vmmc/include))

build/lib/libvmmc.a: $(patsubst %.c,build/%.o,$(wildcard lib/vmmc/*.c))

$(eval $(call library_programs,vmmc,vmmc,-Ilib/vmmc/include,-lvmmc))

include lib/vmmc/vrpc.mk
