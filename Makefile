# The front door. CMake does the work (CMakeLists.txt, CMakePresets.json); everything it makes is under build/.

PREFIX ?= /usr/local
# TEST=regex runs only the tests whose name matches; PRESETS= only these builds.
PRESETS ?= default clang portable asan tsan local
TEST ?= .

.DEFAULT_GOAL := build
.PHONY: build demo test install format clean help setup-build setup-test

help:
	@echo 'make                builds the libraries, the cobre command and the examples (build/release)'
	@echo 'make demo           runs the examples, alone and as several ranks, and kills a rank'
	@echo 'make test           builds and tests every preset: $(PRESETS)'
	@echo '                    TEST=/fault_ picks tests by a regex, PRESETS="default asan" picks builds'
	@echo 'make install        into PREFIX ($(PREFIX)), below DESTDIR if set'
	@echo 'make format         clang-format, in place'
	@echo 'make clean          removes build/'

setup-build setup-test: setup-%:
	@cmake/packages.sh $*

build: setup-build
	@cmake --preset release >/dev/null
	@cmake --build build/release

demo: build
	@examples/demo.sh $(CURDIR)/build/release

# One ctest over the builds of all presets: one summary, and it is the last thing printed.
test: setup-test
	@set -e; for preset in $(PRESETS); do \
	    echo "== $$preset"; cmake --preset $$preset >/dev/null; cmake --build build/$$preset; \
	done
	@echo 'subdirs($(PRESETS))' >build/CTestTestfile.cmake
	@ctest --test-dir build -j2 --output-on-failure --no-tests=error -R '$(TEST)'

# ldconfig: so that the loader finds the library at its new place.
install: build
	@cmake --install build/release --prefix $(abspath $(PREFIX))
	@if [ -z "$(DESTDIR)" ] && [ "$$(id -u)" = 0 ]; then ldconfig; fi

format: setup-test
	@cmake/format.sh --in-place

clean:
	rm -rf build
