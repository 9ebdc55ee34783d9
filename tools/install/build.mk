# `make install`, `make uninstall` and `make deb`; the file for pkg-config in the checkout.
# Included by the Makefile, which has PREFIX and DESTDIR.

INSTALLED_PARTS := all build/kernel-selftests.o

.PHONY: install deb
install: $(INSTALLED_PARTS)
	@tools/install/install.sh "$(DESTDIR)" "$(PREFIX)"

deb: $(INSTALLED_PARTS)
	@tools/install/deb.sh build

build/pkgconfig/margay.pc: build/kernel.o build/libmargay.a build/crt0.o build/sysroot/stamp \
		tools/install/pkgconfig.py tools/margaylib/compile.py
	@mkdir -p $(@D)
	@$(PYTHON) -IBS tools/install/pkgconfig.py $@ '$${pcfiledir}/../..' '$${root}/build'

# One for each library with headers for programs.
LIBRARY_PCS := $(patsubst lib/%/include,build/pkgconfig/%.pc,$(wildcard lib/*/include))

all: $(LIBRARY_PCS)

$(LIBRARY_PCS): tools/install/pkgconfig.py build/pkgconfig/margay.pc
	@$(PYTHON) -IBS tools/install/pkgconfig.py $@ '$${pcfiledir}/../..' '$${root}/build/lib'
