# Vertex, build/lib/libvertex.a: see include/vertex.h. Included by the Makefile.

VERTEX_FLAGS := -Ilib/vertex/include -Ilib/nx/include

build/lib/vertex/vertex.o: lib/vertex/vertex.c $(APP_PARTS) lib/vertex/build.mk
	@mkdir -p $(@D)
	@echo "  CC    $<"
	@tools/margay cc -O2 -Wall -Wextra -Werror $(VERTEX_FLAGS) -MD -MP -c -o $@ $<

build/lib/libvertex.a: build/lib/vertex/vertex.o
	@rm -f $@
	@ar rcs $@ $^

build/apps/vertex_%.elf build/tests/vertex_%.elf: \
	APP_LIBS = $(VERTEX_FLAGS) -Lbuild/lib -lvertex -lnx

$(patsubst apps/%.c,build/apps/%.elf,$(wildcard apps/vertex_*.c)): build/lib/libvertex.a \
	build/lib/libnx.a

VERTEX_TESTS := $(patsubst tests/lib/vertex/%.c,build/tests/%.elf,$(wildcard tests/lib/vertex/*.c))

$(VERTEX_TESTS): build/tests/%.elf: tests/lib/vertex/%.c $(APP_PARTS) build/lib/libvertex.a \
		build/lib/libnx.a lib/vertex/build.mk
	@mkdir -p $(@D)
	@echo "  LINK  $@"
	@tools/margay cc -O2 $(APP_CFLAGS) -I tests/apps -I tests/lib/nx -MD -MP -MT $@ \
		-MF build/tests/$*.d -o $@ $< $(APP_LIBS)

test-apps: $(VERTEX_TESTS)

-include build/lib/vertex/vertex.d $(VERTEX_TESTS:.elf=.d)
