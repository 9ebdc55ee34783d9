# The engine: its sources for the kernel (kernel/build.mk compiles NET_SOURCES),
# the same as a Linux library, and the host tests. Included by the Makefile.

NET_SOURCES := $(sort $(wildcard net/portals/*.c net/shm/*.c))
# Messages over frames; in the kernel too.
LINK_SOURCES := $(sort $(wildcard net/link/*.c net/frames/*.c))

HOST_SOURCES    := $(NET_SOURCES) $(LINK_SOURCES) $(sort $(wildcard host/*.c))
HOST_TESTS      := $(sort $(wildcard tests/host/*.c))
HOST_WARNINGS   := -Wall -Wextra -Werror -Wno-unused-function
HOST_INCLUDES   := -Iinclude -I.
HOST_CFLAGS     := -std=gnu17 -g -O2 $(HOST_WARNINGS) $(HOST_INCLUDES)
HOST_SANITIZE   := -fsanitize=address,undefined -fno-sanitize-recover=all -fno-omit-frame-pointer

# The library, for tools and simulations.
HOST_OBJECTS := $(HOST_SOURCES:%.c=build/host/lib/%.o)

build/host/lib/%.o: %.c
	@mkdir -p $(@D)
	@echo "  HOST  $<"
	@gcc $(HOST_CFLAGS) -MMD -MP -c $< -o $@

build/libmargayhost.a: $(HOST_OBJECTS)
	@rm -f $@
	@ar rcs $@ $^

# The tests: with gcc and clang under ASan and UBSan, and what is concurrent
# under clang's TSan.
HOST_ALL := $(HOST_SOURCES) $(HOST_TESTS)

build/host/gcc/%.o: %.c
	@mkdir -p $(@D)
	@echo "  ASAN  $< (gcc)"
	@gcc $(HOST_CFLAGS) -O1 $(HOST_SANITIZE) -MMD -MP -c $< -o $@

build/host/clang/%.o: %.c
	@mkdir -p $(@D)
	@echo "  ASAN  $< (clang)"
	@clang $(HOST_CFLAGS) -O1 $(HOST_SANITIZE) -MMD -MP -c $< -o $@

build/host/tsan/%.o: %.c
	@mkdir -p $(@D)
	@echo "  TSAN  $<"
	@clang $(HOST_CFLAGS) -O1 -fsanitize=thread -MMD -MP -c $< -o $@

# Tests have several users of links in one program (tests/host/link_users.h).
HOST_WRAP := $(foreach call,whole put begin data end place gather sent failed lost,\
	-Wl,--wrap=link_port_$(call))

build/host/check-gcc: $(HOST_ALL:%.c=build/host/gcc/%.o)
	@gcc $(HOST_SANITIZE) $(HOST_WRAP) $^ -o $@ -lpthread

build/host/check-clang: $(HOST_ALL:%.c=build/host/clang/%.o)
	@clang $(HOST_SANITIZE) $(HOST_WRAP) $^ -o $@ -lpthread

build/host/check-tsan: $(HOST_ALL:%.c=build/host/tsan/%.o)
	@clang -fsanitize=thread $(HOST_WRAP) $^ -o $@ -lpthread

# The engine as a program, for the reference model (tests/test_model.py).
# Without near.c, which wants a port.
MODEL_SOURCES := $(filter-out net/portals/near.c,$(sort $(wildcard net/portals/*.c))) host/port.c \
	$(sort $(wildcard tests/model/*.c))

build/host/model-engine: $(MODEL_SOURCES:%.c=build/host/gcc/%.o)
	@gcc $(HOST_SANITIZE) $^ -o $@

# Long simulations of links and engines (tests/test_netsim.py), native and under ASan and UBSan.
NETSIM_SOURCES := $(filter-out net/portals/near.c, \
	$(sort $(wildcard net/portals/*.c net/link/*.c net/frames/*.c host/netsim*.c))) \
	host/fabric.c host/crc.c host/port.c tests/host/traffic.c tests/host/link_users.c \
	$(sort $(wildcard tests/host/engines*.c tests/netsim/*.c))

build/host/netsim: $(NETSIM_SOURCES:%.c=build/host/lib/%.o)
	@gcc $(HOST_WRAP) $^ -o $@

build/host/netsim-asan: $(NETSIM_SOURCES:%.c=build/host/gcc/%.o)
	@gcc $(HOST_SANITIZE) $(HOST_WRAP) $^ -o $@

# Frames by net/link/wire.c, for tests/test_wire.py.
WIRE_SOURCES := net/link/wire.c net/link/siphash.c net/link/crc.c host/crc.c host/port.c tests/wire/main.c

build/host/wire: $(WIRE_SOURCES:%.c=build/host/gcc/%.o)
	@gcc $(HOST_SANITIZE) $^ -o $@

# The link's protocol as models (tests/spin), checked by spin in variants. In some of
# them a rule is missing, and spin must notice.
.PHONY: model
model:
	@tools/setup.sh model
	@tests/spin/check.sh build/model $(ARGS)

.PHONY: host-check host-lib
host-lib: build/libmargayhost.a

host-check: build/host/check-gcc build/host/check-clang build/host/check-tsan \
		build/host/check-drivers host-lib
	@clang -x c++ -std=c++17 -pedantic -Wall -Wextra -Werror -fsyntax-only -Iinclude include/portals3.h
	@tests/host/run.sh build/host/check-gcc build/host/check-clang build/host/check-drivers \
		"build/host/check-tsan concurrent"

-include $(wildcard $(HOST_OBJECTS:.o=.d)) \
	$(wildcard $(foreach kind,gcc clang tsan,$(HOST_ALL:%.c=build/host/$(kind)/%.d))) \
	$(wildcard $(MODEL_SOURCES:%.c=build/host/gcc/%.d)) \
	$(wildcard build/host/gcc/tests/wire/main.d) \
	$(wildcard $(foreach kind,gcc lib,$(NETSIM_SOURCES:%.c=build/host/$(kind)/%.d)))
