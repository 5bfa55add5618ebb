# tenslice: the commands of the project. `make help` lists them.

CARGO ?= cargo
CC ?= cc
CXX ?= c++
FEATURES ?= formats,digest,dequantize,write,zstd
FIXTURES := tests/fixtures
C_TARGET := target/c
# `make test` builds the tool twice at once, into one folder: both times with these features.
TEST_FEATURES := capi,tenslice-cli/url

VERSION := $(shell sed -n 's/^version = "\(.*\)"/\1/p' Cargo.toml | head -n 1)
# While the version is 0.x, a minor version may break the ABI. From 1.0 on, only a major version may.
SOVERSION := $(shell echo $(VERSION) | sed -e 's/^\(0\.[0-9]*\)\..*/\1/' -e 's/^\([1-9][0-9]*\)\..*/\1/')
PREFIX ?= /usr/local
LIBDIR ?= lib
DESTDIR ?=

# For another machine: `make lib RUST_TARGET=x86_64-pc-windows-gnu C_TARGET=target/windows`, then `make install` with
# the same variables.
RUST_TARGET ?= $(shell rustc -vV 2> /dev/null | sed -n 's/^host: //p')
LIB = $(C_TARGET)/release
LIB_PLAIN := target/c-plain/release

# All targets but files. Those with a description are in `make help`; the others are parts of them.
.PHONY: $(shell sed -n 's/^\([a-z][a-z0-9-]*\):.*/\1/p' Makefile)

help: ## list these commands
	@awk -F ':.*## ' '/^[a-z0-9-]+:.*## / { printf "make %-18s %s\n", $$1, $$2 }' $(MAKEFILE_LIST)

lib: ## build libtenslice.a and libtenslice.so (or this system's equivalents) in target/c/release
	CARGO="$(CARGO)" RUST_TARGET=$(RUST_TARGET) FEATURES=$(FEATURES) VERSION=$(VERSION) SOVERSION=$(SOVERSION) \
		packaging/lib.sh $(C_TARGET)

$(LIB)/built:
	$(MAKE) --no-print-directory lib

# Uses the result of `make lib`, so that root needs no compiler.
install: $(LIB)/built ## install headers, libraries, pkg-config and CMake files: PREFIX=, DESTDIR=, LIBDIR=
	LIB=$(LIB) RUST_TARGET=$(RUST_TARGET) VERSION=$(VERSION) SOVERSION=$(SOVERSION) \
		PREFIX="$(PREFIX)" DESTDIR="$(DESTDIR)" LIBDIR="$(LIBDIR)" \
		packaging/install.sh

uninstall: ## remove an installation with the same PREFIX=, DESTDIR=, LIBDIR=
	LIB=$(LIB) RUST_TARGET=$(RUST_TARGET) VERSION=$(VERSION) SOVERSION=$(SOVERSION) \
		PREFIX="$(PREFIX)" DESTDIR="$(DESTDIR)" LIBDIR="$(LIBDIR)" \
		packaging/install.sh --uninstall

sdk: ## build a tarball of C libraries for use without Rust, for this host, other systems and chips: TARGETS=, FORMATS=, JOBS=
	VERSION=$(VERSION) SOVERSION=$(SOVERSION) FEATURES="$(FEATURES)" packaging/sdk.sh

dist-source: ## build a source tarball with all needed crates, which builds without a network, in target/dist
	VERSION=$(VERSION) packaging/dist-source.sh

boards: ## make packages for ESP-IDF, Arduino, PlatformIO and CMSIS from the SDK, in target/boards: SDK=FOLDER
	VERSION=$(VERSION) packaging/boards.sh $(SDK) target/boards

deb: dist-source ## build Debian packages from the source tarball, in target/deb
	VERSION=$(VERSION) SOVERSION=$(SOVERSION) packaging/deb.sh target/deb

# The formats with Zstandard, but without its decoder, in a separate folder: the C tests compare with it.
lib-plain:
	$(MAKE) --no-print-directory lib C_TARGET=$(C_TARGET)-plain FEATURES=ztensor,ztensor2,b2nd,digest

demo: lib ## build examples/load.c and read a file that a real ztensor release wrote
	@mkdir -p target/demo
	$(CC) -std=gnu99 -O2 -Iinclude examples/load.c -Wl,--gc-sections $(LIB)/libtenslice.a -o target/demo/load
	target/demo/load $(FIXTURES)/v1.2/converted_safetensors.zt a.w
	@echo "Any other file: cargo install --path cli, then tenslice list FILE (docs/tool.md)"

# The tests run in parallel: much of each keeps only one core busy.
ONLY ?=
test: ## run the main tests, which take minutes, or ONLY=rust, c, builds, valgrind, install, features, small, targets, platforms, source, sdk, all
ifneq ($(ONLY),)
	@$(MAKE) --no-print-directory test-$(ONLY) ONLY=
else
	@$(MAKE) --no-print-directory test-c & \
		$(MAKE) --no-print-directory test-rust; code=$$?; wait $$! && exit $$code
	@echo "all tests passed"
endif

# The same packages and features each time, so that what they depend on is built once.
TESTED := -p tenslice -p tenslice-cli -p tenslice-host --features $(TEST_FEATURES)
# The Rust tests, the tool's tests, and the examples in the docs. TENSLICE_CORPUS=DIR adds a corpus.
test-rust:
	$(CARGO) test --quiet $(TESTED) --all-targets -- --skip valgrind::
	$(CARGO) test --quiet $(TESTED) --doc

# The tests that count instructions or check memory under valgrind, which takes minutes.
test-valgrind: lib lib-plain
	$(CARGO) test --quiet $(TESTED) --test time
	CC="$(CC)" c-tests/valgrind.sh $(LIB) $(LIB_PLAIN)

# The Rust tests with other features: libzstd, ruzstd, one format, single digests.
test-features:
	$(CARGO) test --quiet --no-default-features --features std,formats,digest,dequantize,write,zlib,zstd-c --lib \
		--test formats --test properties -- --skip damage::
	$(CARGO) test --quiet --no-default-features --features std,formats,digest,dequantize,write,zlib,zstd-ruzstd --lib zstd::
	$(CARGO) test --quiet --no-default-features --features std,formats,digest,dequantize,write,zlib,zstd-ruzstd --test memory
	$(CARGO) test --quiet --no-default-features --features std,formats,digest,dequantize,write,zlib,zstd-ruzstd \
		--test properties decode::
	$(CARGO) test --quiet --tests --no-default-features --features std,ztensor
	$(CARGO) test --quiet --no-default-features --features std,formats \
		--test formats --test properties --test reference -- without_zstd:: peers:: npz:: digests::
	$(CARGO) test --quiet --no-default-features --features std,formats,crc32c --test properties digests::

NAME ?=
format-check: ## check one format: built alone, its tests, damage, time, no panic path: NAME=npy
	CARGO="$(CARGO)" packaging/format-check.sh "$(NAME)"

cli: ## build the tool, in target/release/tenslice, and test it
	$(CARGO) build --quiet --release -p tenslice-cli --features url
	$(CARGO) test --quiet -p tenslice-cli --features url

# The tool for other tests: optimizing it would take longer than it saves.
FAST_TOOL := CARGO_PROFILE_RELEASE_LTO=off CARGO_PROFILE_RELEASE_OPT_LEVEL=1
TOOL_FEATURES ?=
tool-for-tests:
	$(FAST_TOOL) $(CARGO) build --quiet --release -p tenslice-cli --features "$(TOOL_FEATURES)"

# Quantizing beside ggml, whose sources it fetches, and gguf-py: 10 million values of each type.
test-quantize:
	CARGO="$(CARGO)" CC="$(CC)" cli/tests/quantize/run.sh

# The C and C++ tests, the examples and the documentation with the static library.
test-c: lib
	CC="$(CC)" CXX="$(CXX)" TEST_FEATURES=$(TEST_FEATURES) c-tests/run.sh $(LIB)

# The C and C++ tests in other builds: shared, as C++, under sanitizers, other decoders, every standard, gcc and clang.
test-builds: lib lib-plain
	CC="$(CC)" CXX="$(CXX)" c-tests/builds.sh $(LIB) $(LIB_PLAIN)

# Installs into target/install, and uses it with pkg-config, CMake and Meson.
test-install:
	CC="$(CC)" CXX="$(CXX)" c-tests/install.sh

# Builds inside C++ projects with CMake, from the tarball (offline) and from this folder.
test-source: dist-source
	VERSION=$(VERSION) CARGO=$(CARGO) c-tests/source.sh

# Uses the tarball of `make sdk`, without cargo.
test-sdk:
	CC="$(CC)" CXX="$(CXX)" VERSION=$(VERSION) c-tests/sdk.sh

release-check: ## build and test all that a release publishes, and upload nothing: packaging/release.md
	VERSION=$(VERSION) CARGO="$(CARGO)" packaging/release-check.sh

SDK ?= target/sdk/tenslice-$(VERSION)-sdk
SYSTEMS ?=
# Uses the SDK in other build systems, and builds the sources with them: SYSTEMS=meson selects, SDK=FOLDER is another SDK.
test-boards: target/boards-venv dist-source
	@test -d $(SDK) || $(MAKE) --no-print-directory sdk
	VERSION=$(VERSION) SOVERSION=$(SOVERSION) SDK=$(abspath $(SDK)) c-tests/boards.sh $(SYSTEMS)

target/boards-venv:
	python3 -m venv $@ && $@/bin/pip install --quiet conan==2.34.0 platformio==6.2.0 SCons==4.11.1 pykwalify==1.8.0 \
		kconfiglib==14.1.0 idf-component-manager==3.1.2 || { rm -rf $@; exit 1; }

test-all: ## run the tests in every build and on every machine, which takes more than an hour; logs in target/all
	.ci/all

# All Rust tests with libzstd instead of the library's own decoder.
test-libzstd:
	$(CARGO) test --quiet --tests --no-default-features --features std,formats,digest,dequantize,write,zlib,zstd-c

# The Rust tests of the code for chips, built for this machine. TENSLICE_CORPUS=DIR adds a corpus.
test-small:
	TENSLICE_SMALL=1 $(CARGO) test --quiet --target-dir target/small -p tenslice -p tenslice-cli -p tenslice-host --features capi --lib \
		--test host --test formats --test properties --test reference

# The tests for other machines: 32-bit, big-endian, wasm32. MACHINES= selects some of them.
MACHINES ?=
test-targets:
	c-tests/targets.sh $(MACHINES)

# Runs the SDK's libraries on other platforms if possible; links them for MSVC, macOS and chips. MACHINES= selects,
# SDK=FOLDER is an SDK that has them.
test-platforms:
	CC="$(CC)" VERSION=$(VERSION) c-tests/platforms.sh $(MACHINES)

abi-check: ## compare the ABI with the recorded one, which `make abi-record` updates
	packaging/abi.sh check

# Updates the recorded ABI: read the diff, and include/README.md.
abi-record:
	packaging/abi.sh record

deps-firmware: ## install the firmware's dependencies, on Debian and Ubuntu
	apt-get install -y --no-install-recommends gcc-arm-none-eabi libnewlib-arm-none-eabi qemu-system-arm \
		gcc-riscv64-unknown-elf qemu-system-misc rustc-web cargo-web rust-web-src

BOARDS ?=
firmware: ## build the firmware for Cortex-M4, M4F, M0 and RISC-V (BOARDS=m4) and run it in QEMU; run docs/firmware.md
	$(FAST_TOOL) BOARDS="$(BOARDS)" examples/firmware/run.sh

MODEL ?=
size: ## compare flash, stack and instructions on chips with their limits (BOARDS=m0), or measure calls: MODEL=FILE BOARD=m4 FORMAT=npy
ifneq ($(MODEL),)
	@$(MAKE) --no-print-directory size-calls
else
	$(FAST_TOOL) BOARDS="$(BOARDS)" examples/firmware/size.sh --check
endif

BOARD ?= m4
FORMAT ?= ztensor
# Flash and stack of single calls on a chip.
size-calls:
	examples/firmware/calls.sh $(BOARD) $(FORMAT) $(MODEL)

# Verifying beside the crates that compute the checksums.
bench-checksums:
	$(CARGO) run --quiet --release --manifest-path benches/checksums/Cargo.toml

# Decoding Zstandard beside libzstd.
bench-zstd:
	$(CARGO) run --quiet --release --manifest-path benches/zstd/Cargo.toml

# Dequantizing beside ggml, whose sources it fetches.
bench-dequantize:
	benches/dequantize.sh

# Opening files beside the readers of the formats.
bench-open:
	$(CARGO) run --quiet --release --manifest-path benches/open/Cargo.toml

bench-check: ## count instructions of opening, listing and looking up; compare with benches/limits.txt
	benches/check.sh

# Sparse tensors and tensor trains beside hand-written loops.
bench-compute:
	$(CARGO) run --quiet --release --manifest-path benches/compute/Cargo.toml

# The Blosc2 reader beside c-blosc2, whose Python wheel it fetches.
bench-b2nd:
	benches/run.sh

bench: $(patsubst %,bench-%,$(or $(ONLY),open checksums zstd compute b2nd dequantize)) ## compare with others: ONLY=open, checksums, zstd, compute, b2nd, dequantize

fuzz: ## fuzz under AddressSanitizer, and keep the findings: TARGETS=, SECONDS= or RUNS= each, ONLY=i686 (fuzz/README.md)
ifneq ($(ONLY),)
	@$(MAKE) --no-print-directory fuzz-$(ONLY) ONLY=
else
	FUZZ_SECONDS=$(SECONDS) FUZZ_RUNS=$(RUNS) fuzz/run.sh $(TARGETS)
endif

# Fuzzes on 32 bits, and keeps the counts.
fuzz-i686:
	FUZZ_MACHINE=i686 FUZZ_SECONDS=$(SECONDS) FUZZ_RUNS=$(RUNS) fuzz/run.sh $(TARGETS)

fuzz-replay: ## run every fuzz target on its kept corpus and the fixtures, with the stable toolchain
	$(CARGO) test --quiet --manifest-path fuzz/Cargo.toml

# The same with the fuzz targets that compare with other readers; builds c-blosc2 with CMake.
fuzz-replay-second:
	$(CARGO) test --quiet --manifest-path fuzz/Cargo.toml --features second --lib --test second

peers: tool-for-tests ## run other readers on hostile files, and write docs/hostile-files.md: FORMATS="gguf npy"
	CARGO="$(CARGO)" CC="$(CC)" CXX="$(CXX)" python3 fuzz/peers/peers.py $(FORMATS)

no-panic: ## prove that no panic path is left in the C library, and that the proof can fail
	.ci/no-panic
	.ci/no-panic-zlib

proofs: target/proofs-venv ## prove the arithmetic for all 64-bit numbers with z3, and compare its model with the code
	@mkdir -p target/proofs
	$(PROOFS_RUSTC) tests/proofs/table.rs -o target/proofs/table
	$(PROOFS_RUSTC) --cfg small tests/proofs/table.rs -o target/proofs/table-small
	$</bin/python tests/proofs/proofs.py target/proofs/table target/proofs/table-small

# Compiles the sources of the arithmetic alone, which takes a second.
PROOFS_RUSTC := rustc --edition 2024 -O -C debug-assertions -C overflow-checks \
	--cfg 'feature="gguf"' --cfg 'feature="write"' --cfg 'feature="pytorch"'

target/proofs-venv:
	python3 -m venv $@ && $@/bin/pip install --quiet z3-solver==5.4.1.0 || { rm -rf $@; exit 1; }

miri: ## run the tests of src/capi under Miri, if the nightly toolchain is available
	.ci/miri

sanitize: ## run the C tests and the library under sanitizers, and the analyzers of gcc and clang on the C code
	c-tests/sanitize.sh

coverage: ## measure which lines of src the tests reach; compare with tests/unreached.txt
	.ci/coverage

MUTANTS ?=
mutants: ## make small changes to the sources and check that a test fails: MUTANTS="--sample 200", MUTANTS=--help
	$(CARGO) run --quiet -p xtask -- mutants $(MUTANTS)

DIFFERENTIAL ?=
differential: ## compare what hosts and chips return for damaged files: DIFFERENTIAL="--mutations 1000000 --seed 2"
	$(CARGO) run --quiet -p xtask -- differential $(DIFFERENTIAL)

header: ## generate the C headers and docs/c-reference.md
	$(CARGO) run --quiet -p xtask -- header

lint: ## check the format, clippy, the headers, and the English of all texts
	$(CARGO) fmt --all --check
	$(CARGO) fmt --manifest-path examples/firmware-rust/Cargo.toml --check
	$(CARGO) clippy --quiet --workspace --all-targets --features $(TEST_FEATURES) -- -D warnings
	$(CARGO) clippy --quiet --no-default-features --features capi,$(FEATURES) -- -D warnings
	$(CARGO) run --quiet -p xtask -- header --check
	$(CARGO) run --quiet -p xtask -- english

doc: ## build the documentation, without warnings
	RUSTDOCFLAGS="-D warnings" $(CARGO) doc --quiet --no-deps -p tenslice -p tenslice-host

web: ## build the page that shows tensor files, and the npm package: target/web
	web/build.sh

web-test: web tool-for-tests target/web-venv target/web-node ## test the page and the package, in node, headless Chromium and Firefox
	node --test web/test/module.test.mjs web/test/model.test.mjs web/test/networks.test.mjs
	target/web-venv/bin/python web/test/page.py
	node --test web/test/firefox.test.mjs web/test/axe.test.mjs

target/web-venv:
	python3 -m venv $@ && $@/bin/pip install --quiet playwright || { rm -rf $@; exit 1; }

# The versions are fixed, because other versions of axe-core have other rules.
WEB_PACKAGES := axe-core@4.14.1 puppeteer-core@24.43.1
target/web-node:
	npm install --prefix $@ --no-save --ignore-scripts --no-audit --no-fund --loglevel error $(WEB_PACKAGES) || { rm -rf $@; exit 1; }

# Draws the pictures of the docs again: docs/pictures.
pictures: web tool-for-tests target/web-venv
	target/web-venv/bin/python web/pictures.py

clean: ## remove all build results
	$(CARGO) clean
