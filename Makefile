# The front door. CMake does the work (CMakeLists.txt, CMakePresets.json); everything it makes is under build/.

PREFIX ?= /usr/local
# TEST=regex runs only the tests whose name matches; PRESETS= only these builds.
PRESETS ?= default clang portable asan tsan local
TEST ?= .
# Of each target of `make fuzz`.
FUZZ_SECONDS ?= 600

.DEFAULT_GOAL := build
.PHONY: build demo test fuzz install format clean help setup-build setup-test

help:
	@echo 'make                builds the libraries, the cobre command and the examples (build/release)'
	@echo 'make demo           runs the examples, alone and as several ranks, and kills a rank'
	@echo 'make test           builds and tests every preset: $(PRESETS)'
	@echo '                    TEST=/fault_ picks tests by a regex, PRESETS="default asan" picks builds'
	@echo 'make fuzz           runs every fuzz target for FUZZ_SECONDS=$(FUZZ_SECONDS), from the corpus in tests/fuzz'
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

# What it finds on the way stays in build/fuzz/found; an input that breaks a target, in build/fuzz.
fuzz: setup-test
	@cmake --preset fuzz >/dev/null
	@cmake --build build/fuzz
	@set -e; for source in tests/fuzz/fuzz_*.c; do \
	    target=$$(basename $$source .c); corpus=$${target#fuzz_}; mkdir -p build/fuzz/found/$$corpus; echo "== $$target"; \
	    build/fuzz/tests/$$target -max_total_time=$(FUZZ_SECONDS) -max_len=1024 -verbosity=0 -print_final_stats=1 \
	        -artifact_prefix=build/fuzz/ build/fuzz/found/$$corpus tests/fuzz/corpus/$$corpus; \
	done

# ldconfig: so that the loader finds the library at its new place.
install: build
	@cmake --install build/release --prefix $(abspath $(PREFIX))
	@if [ -z "$(DESTDIR)" ] && [ "$$(id -u)" = 0 ]; then ldconfig; fi

format: setup-test
	@cmake/format.sh --in-place

clean:
	rm -rf build
