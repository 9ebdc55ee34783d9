# Vertex, build/lib/libvertex.a: see include/vertex.h. Included by the Makefile.

VERTEX_FLAGS := -Ilib/vertex/include -Ilib/nx/include

$(eval $(call library,vertex,$(VERTEX_FLAGS)))

build/lib/libvertex.a: build/lib/vertex/vertex.o

$(eval $(call library_programs,vertex,vertex,$(VERTEX_FLAGS) -Itests/lib/nx,-lvertex -lnx))
