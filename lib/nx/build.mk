# NX, build/lib/libnx.a: see include/nx.h. Included by the Makefile.

$(eval $(call library,nx,-ffunction-sections -Ilib/nx/include))

# handler.c is linked only into programs that call something of it: one object for each file.
build/lib/libnx.a: $(patsubst %.c,build/%.o,$(wildcard lib/nx/*.c))

$(eval $(call library_programs,nx,nx,-Ilib/nx/include,-lnx))
