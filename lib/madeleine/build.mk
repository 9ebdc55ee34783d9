# Madeleine, build/lib/libmadeleine.a and libmadeleine-debug.a, which checks that unpacks mirror
# packs: see include/madeleine.h. mpi.c is its portability interface on MPI, for programs of mpicc.
# Included by the Makefile.

MADELEINE_FILES   := pack unpack portals
MADELEINE_OBJECTS := $(MADELEINE_FILES:%=build/lib/madeleine/%.o)
MADELEINE_DEBUG   := $(MADELEINE_FILES:%=build/lib/madeleine/debug/%.o)
MADELEINE_CC       = tools/margay cc -O2 -Wall -Wextra -Werror -ffunction-sections \
	-Ilib/madeleine/include -MD -MP -c -o

build/lib/madeleine/%.o: lib/madeleine/%.c $(APP_PARTS) lib/madeleine/build.mk
	@mkdir -p $(@D)
	@echo "  CC    $<"
	@$(MADELEINE_CC) $@ $<

build/lib/madeleine/debug/%.o: lib/madeleine/%.c $(APP_PARTS) lib/madeleine/build.mk
	@mkdir -p $(@D)
	@echo "  CC    $@"
	@$(MADELEINE_CC) $@ -DMAD_DEBUG $<

build/lib/libmadeleine.a: $(MADELEINE_OBJECTS)
	@rm -f $@
	@ar rcs $@ $^

build/lib/libmadeleine-debug.a: $(MADELEINE_DEBUG)
	@rm -f $@
	@ar rcs $@ $^

build/apps/mad_%.elf build/tests/mad_%.elf: \
	APP_LIBS = -Ilib/madeleine/include -Lbuild/lib -lmadeleine
build/tests/debug/mad_%.elf: APP_LIBS = -Ilib/madeleine/include -Lbuild/lib -lmadeleine-debug

$(patsubst apps/%.c,build/apps/%.elf,$(wildcard apps/mad_*.c)): build/lib/libmadeleine.a

MADELEINE_TESTS := $(patsubst tests/lib/madeleine/%.c,build/tests/%.elf,\
	$(wildcard tests/lib/madeleine/*.c))
MADELEINE_DEBUG_TESTS := $(MADELEINE_TESTS:build/tests/%=build/tests/debug/%)

$(MADELEINE_TESTS): build/tests/%.elf: tests/lib/madeleine/%.c build/lib/libmadeleine.a
$(MADELEINE_DEBUG_TESTS): build/tests/debug/%.elf: tests/lib/madeleine/%.c \
	build/lib/libmadeleine-debug.a
$(MADELEINE_TESTS) $(MADELEINE_DEBUG_TESTS): $(APP_PARTS) lib/madeleine/build.mk
	@mkdir -p $(@D)
	@echo "  LINK  $@"
	@tools/margay cc -O2 $(APP_CFLAGS) -MD -MP -MT $@ -MF $(@:.elf=.d) -o $@ $(filter %.c,$^) \
		$(APP_LIBS)

test-apps: $(MADELEINE_TESTS) $(MADELEINE_DEBUG_TESTS)

-include $(MADELEINE_OBJECTS:.o=.d) $(MADELEINE_DEBUG:.o=.d) \
	$(MADELEINE_TESTS:.elf=.d) $(MADELEINE_DEBUG_TESTS:.elf=.d)
