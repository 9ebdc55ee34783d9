# Madeleine, build/lib/libmadeleine.a and libmadeleine-debug.a, which checks that unpacks mirror
# packs: see include/madeleine.h. mpi.c is its portability interface on MPI, for programs of mpicc.
# Included by the Makefile.

MADELEINE_FILES := pack unpack portals
MADELEINE_DEBUG := $(MADELEINE_FILES:%=build/lib/madeleine/debug/%.o)

$(eval $(call library,madeleine,-ffunction-sections -Ilib/madeleine/include))

build/lib/madeleine/debug/%.o: lib/madeleine/%.c $(APP_PARTS) lib/library.mk lib/madeleine/build.mk
	@mkdir -p $(@D)
	@echo "  CC    $@"
	@tools/margay cc $(LIBRARY_CFLAGS) -ffunction-sections -Ilib/madeleine/include -DMAD_DEBUG \
		-MD -MP -c -o $@ $<

build/lib/libmadeleine.a: $(MADELEINE_FILES:%=build/lib/madeleine/%.o)
build/lib/libmadeleine-debug.a: $(MADELEINE_DEBUG)

$(eval $(call library_programs,madeleine,mad,-Ilib/madeleine/include,-lmadeleine))

# The same tests with the library that checks.
MADELEINE_DEBUG_TESTS := $(madeleine_TESTS:build/tests/%=build/tests/debug/%)

$(MADELEINE_DEBUG_TESTS): build/tests/debug/%.elf: tests/lib/madeleine/%.c \
		build/lib/libmadeleine-debug.a $(APP_PARTS) lib/madeleine/build.mk
	@mkdir -p $(@D)
	@echo "  LINK  $@"
	@tools/margay cc -O2 $(APP_CFLAGS) -Ilib/madeleine/include -MD -MP -MT $@ -MF $(@:.elf=.d) \
		-o $@ $< -Lbuild/lib -lmadeleine-debug

test-apps: $(MADELEINE_DEBUG_TESTS)

-include $(MADELEINE_DEBUG:.o=.d) $(MADELEINE_DEBUG_TESTS:.elf=.d)
