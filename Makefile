# SPDX-License-Identifier: Apache-2.0
# The front door. CMake does the work (CMakeLists.txt, CMakePresets.json); everything it makes is under build/.

PREFIX ?= /usr/local
# What is built, shown and installed.
PRESET ?= release
# TEST=regex runs only the tests whose name matches; PRESETS= only these builds.
PRESETS ?= default clang portable asan tsan local
TEST ?= .
# Rounds of `make soak`.
SOAK ?= 10
# Of `make fuzz`.
FUZZ_SECONDS ?= 600
# PACKAGES=no: cmake/packages.sh installs nothing.
export PACKAGES
# QUICK=1: about 4 minutes instead of 17. ARGS: options of bench/bench.py, which then runs alone, without trainer.py and python.py.
QUICK ?=
ARGS ?=
# Debian's, whatever comes first in the PATH: its headers and NumPy are here.
PYTHON ?= $(firstword $(wildcard /usr/bin/python3) python3)

.DEFAULT_GOAL := all
.PHONY: all build demo test check test-builds test-clients soak fuzz bench docs may-write install uninstall deb wheel format clean help \
    setup-build setup-test setup-bench setup-docs

help:
	@echo 'make               builds the libraries, the command and the examples in'
	@echo '                   build/release, and names what was left out;'
	@echo '                   PACKAGES=no installs no packages'
	@echo 'make demo          runs the examples, kills a rank, trains the Brazilian case'
	@echo '                   and makes a report'
	@echo 'make test          (or check) builds and tests every preset;'
	@echo '                   TEST=/fault_ picks tests by a regex,'
	@echo '                   PRESETS="default asan" picks builds'
	@echo 'make install       into PREFIX ($(PREFIX)), below DESTDIR if it is set'
	@echo 'make uninstall     removes the files of the last make install'
	@echo 'make deb           builds Debian packages in build/release/deb'
	@echo 'make wheel         builds the Python package in build/wheel;'
	@echo '                   `pip install .` does without make'
	@echo 'make docs          makes a site of the documents: build/docs/index.html'
	@echo 'make bench         measures cobre beside Open MPI, MPICH, Gloo and mpi4py, and'
	@echo '                   the trainer: 17 minutes; QUICK=1: 4; ARGS=--help shows more'
	@echo 'make test-clients  drives cobre mcp by the clients of others; needs Node and npm'
	@echo 'make soak          runs the slow tests, and the random ones SOAK=$(SOAK) times'
	@echo 'make fuzz          fuzzes what is read from the network, policy files and'
	@echo '                   messages of cobre mcp, each for FUZZ_SECONDS=$(FUZZ_SECONDS)'
	@echo 'make format        runs clang-format, in place'
	@echo 'make clean         removes build/'

setup-build setup-test setup-bench setup-docs: setup-%:
	@cmake/packages.sh $*

build: setup-build
	@cmake --preset $(PRESET) >/dev/null
	@cmake --build build/$(PRESET)
	@cat build/$(PRESET)/left-out.txt

all: build
	@echo 'Built in build/$(PRESET). Next: make demo, sudo make install, or without installing:'
	@echo '  export PATH=$(CURDIR)/build/$(PRESET):$(CURDIR)/build/$(PRESET)/examples:$$PATH'

demo: build
	@examples/demo.sh $(CURDIR)/build/$(PRESET)

# One ctest over the builds of all presets: one summary, and it is the last thing printed. The 8 are for two cores: see
# tests/CMakeLists.txt.
ctest = ctest --test-dir build -j8 --output-on-failure --no-tests=error

test-builds: setup-test
	@set -e; for preset in $(PRESETS); do \
	    echo "== $$preset"; cmake --preset $$preset >/dev/null; cmake --build build/$$preset; \
	done
	@echo 'subdirs($(PRESETS))' >build/CTestTestfile.cmake

check: test

test: test-builds
	@$(ctest) -R '$(TEST)' -LE slow

# The schemas of the protocol are used where they are.
test-clients: build
	@tests/clients/install.sh build/clients
	@node tests/clients/run.mjs build/$(PRESET)/cobre build/clients ../shared/mcp

# What takes long, once, and what is repeated, as often as it can be; what is drawn at random and what is killed at random
# moments, each round with another seed.
soak: export COBRE_TEST_LONG = 1
soak: test-builds
	@$(ctest) -L slow
	@$(ctest) -LE slow -R '_(shm|tcp)_'
	@set -e; for round in $$(seq $(SOAK)); do \
	    export COBRE_TEST_SEED=$$(od -An -N4 -tu4 /dev/urandom | tr -d ' '); \
	    echo "== round $$round: COBRE_TEST_SEED=$$COBRE_TEST_SEED"; $(ctest) -R 'random|trust|property|mixed|kills'; \
	done

# What it finds on the way stays in build/fuzz/found, policy_found and mcp_found; an input that breaks a target, in build/fuzz.
fuzz: setup-test
	@cmake --preset fuzz >/dev/null
	@cmake --build build/fuzz
	@build/fuzz/tests/fuzz_corpus tests/fuzz/found.txt build/fuzz/corpus
	@mkdir -p build/fuzz/found
	@build/fuzz/tests/fuzz -max_total_time=$(FUZZ_SECONDS) -max_len=1025 -verbosity=0 -print_final_stats=1 \
	    -artifact_prefix=build/fuzz/ build/fuzz/found build/fuzz/corpus
	@build/fuzz/tests/fuzz_policy_corpus tests/fuzz/found_policy.txt build/fuzz/policy_corpus
	@mkdir -p build/fuzz/policy_found
	@build/fuzz/tests/fuzz_policy -max_total_time=$(FUZZ_SECONDS) -max_len=4096 -verbosity=0 -print_final_stats=1 \
	    -rss_limit_mb=4096 -artifact_prefix=build/fuzz/ build/fuzz/policy_found build/fuzz/policy_corpus
	@build/fuzz/tests/fuzz_mcp_corpus tests/fuzz/found_mcp.txt build/fuzz/mcp_corpus
	@mkdir -p build/fuzz/mcp_found
	@build/fuzz/tests/fuzz_mcp -max_total_time=$(FUZZ_SECONDS) -max_len=4096 -verbosity=0 -print_final_stats=1 \
	    -artifact_prefix=build/fuzz/ build/fuzz/mcp_found build/fuzz/mcp_corpus

bench: setup-bench
	@cmake --preset bench >/dev/null
	@cmake --build build/bench
	@python3 bench/bench.py $(if $(QUICK),--quick) --plots build/bench --csv build/bench/bench.csv \
	    --json build/bench/bench.json $(ARGS)
	@$(if $(ARGS),,python3 bench/trainer.py $(if $(QUICK),--quick) --json build/bench/trainer.json)
	@$(if $(ARGS),,$(PYTHON) bench/python.py $(if $(QUICK),--quick) --json build/bench/python.json)

docs: setup-docs
	@python3 docs/site/build.py build/docs

# ldconfig: so that the loader finds the library at its new place.
ldconfig = if [ -z "$(DESTDIR)" ] && [ "$$(id -u)" = 0 ]; then ldconfig; fi

# Asked before anything is built.
may-write:
	@cmake/may_write.sh "$(DESTDIR)$$(realpath -m "$(PREFIX)")"

install: may-write build
	@cmake --install build/$(PRESET) --prefix "$$(realpath -m "$(PREFIX)")"
	@$(ldconfig)
	@echo "Installed in $(DESTDIR)$$(realpath -m "$(PREFIX)"). make uninstall removes it;"
	@echo "docs/install.md says what the shell must know of a folder of your own."

uninstall:
	@cmake -DMANIFEST=build/$(PRESET)/install_manifest.txt -P cmake/uninstall.cmake
	@$(ldconfig)

# From what `make` has built, which needs no other options: the files are the same, at another place.
deb: build
	@rm -rf build/$(PRESET)/deb
	@cd build/$(PRESET) && cpack >cpack.log 2>&1 || { cat cpack.log >&2; exit 1; }
	@ls build/$(PRESET)/deb/*.deb

# auditwheel, where it is found, checks the wheel and names the oldest systems that it runs on, in build/wheel/repaired.
wheel: setup-build
	@PYTHONPATH=python $(PYTHON) -B -c 'import build_backend; print("build/wheel/" + build_backend.build_wheel("build/wheel"))'
	@if command -v auditwheel >/dev/null; then auditwheel repair -w build/wheel/repaired build/wheel/*.whl; fi

format: setup-test
	@cmake/format.sh --in-place

clean:
	rm -rf build
