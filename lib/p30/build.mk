# Tests of Portals 3.0: each tests/lib/p30/NAME.c is one program. The library itself is a part of
# libmargay.a (libc-glue/build.mk).

$(eval $(call library_programs,p30,p30))
