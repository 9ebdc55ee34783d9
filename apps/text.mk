# The text that `make run` counts. Included by apps/build.mk; the Python that runs the
# tools makes it, the same bytes every time.
build/text.txt: apps/text.py
	@mkdir -p $(@D)
	@echo "  TEXT  $@"
	@/usr/bin/python3 apps/text.py $@.new
	@mv $@.new $@
