# PM2, build/lib/libpm2.a: threads, remote procedure calls and migration, see include/pm2.h.
# Included by the Makefile.

# The calls of the header.
PM2_NAMES := $(shell sed -n 's|^[a-z].*[ *]\(pm2_[a-z_]*\)[^a-z_ ;].*|\1|p' lib/pm2/include/pm2.h)

$(eval $(call library,pm2,-flto -Ilib/pm2/include))

build/lib/pm2/joined.o: $(patsubst %.c,build/%.o,$(wildcard lib/pm2/*.c))
	@echo "  LD    $@"
	@$(LIBRARY_JOIN) -o $@ $^
	@objcopy $(PM2_NAMES:%=--keep-global-symbol=%) $@

build/lib/libpm2.a: build/lib/pm2/joined.o

$(eval $(call library_programs,pm2,pm2,-Ilib/pm2/include,-lpm2))
