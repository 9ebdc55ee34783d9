# The fuzzers of the engine (tests/fuzz): clang's libFuzzer with ASan and UBSan.
# Included by the Makefile. `make fuzz` searches for FUZZ_SECONDS with each.

FUZZ_TARGETS  := build/fuzz/fuzz_messages build/fuzz/fuzz_blocks build/fuzz/fuzz_frames
FUZZ_SHARED   := $(filter-out tests/fuzz/fuzz_%.c,$(sort $(wildcard tests/fuzz/*.c)))
# Without near.c, which needs a port and is tested by the host tests.
FUZZ_ENGINE   := $(filter-out net/portals/near.c,$(sort $(wildcard net/portals/*.c)))
FUZZ_CFLAGS   := $(HOST_CFLAGS) -fno-omit-frame-pointer \
	-fsanitize=address,undefined -fno-sanitize-recover=all

# The engine calls fuzz_edge at each basic block, as libFuzzer itself uses the name that clang gives
# to that function.
build/fuzz/net/%.o: net/%.c
	@mkdir -p $(@D)
	@echo "  FUZZ  $<"
	@clang $(FUZZ_CFLAGS) -O1 -fsanitize=fuzzer-no-link -fsanitize-coverage=trace-pc -MMD -MP -c $< -o $@
	@objcopy --redefine-sym __sanitizer_cov_trace_pc=fuzz_edge $@

build/fuzz/%.o: %.c
	@mkdir -p $(@D)
	@echo "  FUZZ  $<"
	@clang $(FUZZ_CFLAGS) -MMD -MP -c $< -o $@

FUZZ_OBJECTS := $(FUZZ_ENGINE:%.c=build/fuzz/%.o) $(FUZZ_SHARED:%.c=build/fuzz/%.o) \
	build/fuzz/host/port.o

build/fuzz/fuzz_%: build/fuzz/tests/fuzz/fuzz_%.o $(FUZZ_OBJECTS)
	@clang -fsanitize=fuzzer,address,undefined $^ -o $@

# The fuzzer of frames has its own world.
FRAMES_OBJECTS := $(patsubst %.c,build/fuzz/%.o,$(sort $(wildcard net/link/*.c net/frames/*.c)) \
	$(FUZZ_ENGINE) $(sort $(wildcard tests/fuzz/frames/*.c)) host/port.c host/crc.c)

build/fuzz/fuzz_frames: $(FRAMES_OBJECTS)
	@clang -fsanitize=fuzzer,address,undefined $^ -o $@

# The same with clang's source coverage, to show the lines that the corpus reaches.
build/fuzz/coverage/%.o: %.c
	@mkdir -p $(@D)
	@echo "  COV   $<"
	@clang $(HOST_CFLAGS) -O0 -fprofile-instr-generate -fcoverage-mapping \
		-fsanitize=fuzzer-no-link -MMD -MP -c $< -o $@

FUZZ_COVERED := $(FUZZ_TARGETS:build/fuzz/%=build/fuzz/coverage/%)
COVER_OBJECTS := $(FUZZ_OBJECTS:build/fuzz/%=build/fuzz/coverage/%)

build/fuzz/coverage/fuzz_frames: $(FRAMES_OBJECTS:build/fuzz/%=build/fuzz/coverage/%)
	@clang -fsanitize=fuzzer -fprofile-instr-generate $^ -o $@

build/fuzz/coverage/fuzz_%: build/fuzz/coverage/tests/fuzz/fuzz_%.o $(COVER_OBJECTS)
	@clang -fsanitize=fuzzer -fprofile-instr-generate $^ -o $@

.PHONY: fuzz fuzz-corpus fuzz-coverage

# Each target on a processor of its own.
fuzz: $(FUZZ_TARGETS)
	@tests/fuzz/fuzz.sh search $(or $(SECONDS),3600)

fuzz-corpus: $(FUZZ_TARGETS)
	@tests/fuzz/fuzz.sh merge

fuzz-coverage: $(FUZZ_COVERED)
	@tests/fuzz/fuzz.sh coverage

.SECONDARY: $(FUZZ_OBJECTS) $(COVER_OBJECTS) \
	$(foreach kind,fuzz fuzz/coverage,$(FUZZ_TARGETS:build/fuzz/%=build/$(kind)/tests/fuzz/%.o))

-include $(wildcard $(FUZZ_OBJECTS:.o=.d) $(COVER_OBJECTS:.o=.d) $(FRAMES_OBJECTS:.o=.d) \
	$(FRAMES_OBJECTS:build/fuzz/%.o=build/fuzz/coverage/%.d) \
	build/fuzz/tests/fuzz/*.d build/fuzz/coverage/tests/fuzz/*.d)
