# tenslice: the commands of the project. `make help` lists them.

CARGO ?= cargo
CC ?= cc
CXX ?= c++
FEATURES ?= formats,digest,dequantize
FIXTURES := tests/fixtures
C_TARGET := target/c

VERSION := $(shell sed -n 's/^version = "\(.*\)"/\1/p' Cargo.toml | head -n 1)
# While the version is 0.x a minor version may break the ABI; from 1.0 on only a major one.
SOVERSION := $(shell echo $(VERSION) | sed -e 's/^\(0\.[0-9]*\)\..*/\1/' -e 's/^\([1-9][0-9]*\)\..*/\1/')
PREFIX ?= /usr/local
LIBDIR ?= lib
DESTDIR ?=

# Another machine: `make lib RUST_TARGET=x86_64-pc-windows-gnu C_TARGET=target/windows`, and `make install` with the same.
RUST_TARGET ?= $(shell rustc -vV 2> /dev/null | sed -n 's/^host: //p')
LIB = $(C_TARGET)/release
LIB_ZSTD := target/c-zstd/release

.PHONY: help cli lib lib-zstd install uninstall dist dist-source demo test test-all test-rust test-features test-c test-install \
	test-source test-targets test-platforms abi-check abi-record deps-firmware firmware size size-calls bench bench-b2nd \
	bench-check bench-checksums bench-compute bench-dequantize bench-open fuzz fuzz-i686 fuzz-replay \
	fuzz-replay-second no-panic miri sanitize coverage mutants header lint doc web web-test pictures clean

help: ## list these commands
	@awk -F ':.*## ' '/^[a-z0-9-]+:.*## / { printf "make %-18s %s\n", $$1, $$2 }' $(MAKEFILE_LIST)

lib: ## libtenslice.a and libtenslice.so (as this system names them), in target/c/release
	CARGO="$(CARGO)" RUST_TARGET=$(RUST_TARGET) FEATURES=$(FEATURES) VERSION=$(VERSION) SOVERSION=$(SOVERSION) \
		packaging/lib.sh $(C_TARGET)

$(LIB)/built:
	$(MAKE) --no-print-directory lib

# Takes what `make lib` has built, so that root needs no compiler.
install: $(LIB)/built ## install headers, libraries, pkg-config and CMake files: PREFIX=, DESTDIR=, LIBDIR=
	LIB=$(LIB) RUST_TARGET=$(RUST_TARGET) VERSION=$(VERSION) SOVERSION=$(SOVERSION) \
		PREFIX="$(PREFIX)" DESTDIR="$(DESTDIR)" LIBDIR="$(LIBDIR)" \
		packaging/install.sh

uninstall: ## take away what was installed with the same PREFIX=, DESTDIR=, LIBDIR=
	LIB=$(LIB) RUST_TARGET=$(RUST_TARGET) VERSION=$(VERSION) SOVERSION=$(SOVERSION) \
		PREFIX="$(PREFIX)" DESTDIR="$(DESTDIR)" LIBDIR="$(LIBDIR)" \
		packaging/install.sh --uninstall

dist: ## a tarball with the library prebuilt for this host, other systems and bare metal, in target/dist
	VERSION=$(VERSION) SOVERSION=$(SOVERSION) FEATURES="$(FEATURES)" packaging/dist.sh

dist-source: ## a tarball of sources with the crates that they need, to build without a network, in target/dist
	VERSION=$(VERSION) packaging/dist-source.sh

# The same with Zstandard, which allocates, in a folder of its own: what the C tests compare with.
lib-zstd:
	$(MAKE) --no-print-directory lib C_TARGET=$(C_TARGET)-zstd FEATURES=$(FEATURES),zstd,c-alloc

demo: lib ## build examples/load.c and read a file that a real ztensor release wrote
	@mkdir -p target/demo
	$(CC) -std=gnu99 -O2 -Iinclude examples/load.c -Wl,--gc-sections $(LIB)/libtenslice.a -o target/demo/load
	target/demo/load $(FIXTURES)/v1.2/converted_safetensors.zt a.w
	@echo "Any other file: cargo install --path cli, then tenslice list FILE (docs/tool.md)"

# Side by side: much of either keeps one core busy.
test: ## test-c, test-install and fuzz-replay beside test-rust: what can be tested on this machine, with all formats
	@$(MAKE) --no-print-directory test-c test-install fuzz-replay & \
		$(MAKE) --no-print-directory test-rust; code=$$?; wait $$! && exit $$code
	@echo "all tests passed"

test-rust: ## the Rust tests, those of the tool, and the examples in the docs; TENSLICE_CORPUS=DIR adds a corpus
	$(CARGO) test --quiet -p tenslice -p tenslice-cli --all-targets --features capi
	$(CARGO) test --quiet --doc --features capi

test-features: ## the Rust tests with other features: libzstd, one format, single digests
	$(CARGO) test --quiet --no-default-features --features std,formats,digest,dequantize,zlib,zstd-c --lib \
		--test formats --test memory --test properties -- --skip damage::
	$(CARGO) test --quiet --tests --no-default-features --features std,ztensor
	$(CARGO) test --quiet --no-default-features --features std,formats \
		--test formats --test properties --test reference -- without_zstd:: peers:: npz:: digests::
	$(CARGO) test --quiet --no-default-features --features std,formats,crc32c --test properties digests::

cli: ## the tool: build it, in target/release/tenslice, and test it
	$(CARGO) build --quiet --release -p tenslice-cli
	$(CARGO) test --quiet -p tenslice-cli

test-c: lib lib-zstd ## the C and C++ tests, against the static and the shared library
	CC="$(CC)" CXX="$(CXX)" c-tests/run.sh $(LIB) $(LIB_ZSTD)

test-install: ## install into target/install, and use it by pkg-config, CMake and Meson
	CC="$(CC)" CXX="$(CXX)" c-tests/install.sh

test-source: dist-source ## build inside C++ projects by CMake, from the tarball without a network and from this folder
	VERSION=$(VERSION) CARGO=$(CARGO) c-tests/source.sh

test-all: ## all tests that need no board, and all of what CI takes a sample of: every mutant takes hours
	$(MAKE) --no-print-directory test test-features test-targets test-platforms test-source sanitize no-panic miri coverage \
		fuzz-replay-second
	$(CARGO) test --quiet --tests --no-default-features --features std,formats,digest,dequantize,zlib,zstd-c
	$(MAKE) --no-print-directory mutants

test-targets: ## the tests on other machines: 32-bit, big-endian, wasm32
	c-tests/targets.sh

test-platforms: ## the C library on aarch64, musl and Windows, where they can be run; linked for MSVC and macOS
	CC="$(CC)" c-tests/platforms.sh

abi-check: ## compare the ABI with the recorded one
	packaging/abi.sh check

abi-record: ## record the ABI anew: read the diff, and include/README.md
	packaging/abi.sh record

deps-firmware: ## install what the firmware needs, on Debian and Ubuntu
	apt-get install -y --no-install-recommends gcc-arm-none-eabi libnewlib-arm-none-eabi qemu-system-arm \
		gcc-riscv64-unknown-elf qemu-system-misc rustc-web cargo-web rust-web-src

firmware: ## build the firmware for Cortex-M4, M4F, M0 and RISC-V, run it in QEMU; and what docs/firmware.md says
	examples/firmware/run.sh

size: ## flash, stack and instructions on Cortex-M4, M0 and RISC-V, held against examples/firmware/limits.txt
	examples/firmware/size.sh --check

BOARD ?= m4
FORMAT ?= ztensor
size-calls: ## flash and stack of single calls on a chip: BOARD=m4 FORMAT=ztensor MODEL=FILE
	examples/firmware/calls.sh $(BOARD) $(FORMAT) $(MODEL)

bench-checksums: ## verifying beside the crates that compute the checksums: benches/README.md
	$(CARGO) run --quiet --release --manifest-path benches/checksums/Cargo.toml

bench-dequantize: ## dequantizing beside ggml, whose sources it fetches: benches/README.md
	benches/dequantize.sh

bench-open: ## opening files beside the readers of the formats: benches/README.md
	$(CARGO) run --quiet --release --manifest-path benches/open/Cargo.toml

bench-check: ## instructions of opening, listing and looking up, held against benches/limits.txt
	benches/check.sh

bench-compute: ## sparse tensors and tensor trains beside loops written by hand: benches/README.md
	$(CARGO) run --quiet --release --manifest-path benches/compute/Cargo.toml

bench-b2nd: ## the Blosc2 reader beside c-blosc2; fetches its Python wheel: benches/README.md
	benches/run.sh

bench: bench-open bench-checksums bench-compute bench-b2nd bench-dequantize ## all of these, one after the other

fuzz: ## fuzz under AddressSanitizer, and keep what was found: TARGETS=, SECONDS= or RUNS= each (fuzz/README.md)
	FUZZ_SECONDS=$(SECONDS) FUZZ_RUNS=$(RUNS) fuzz/run.sh $(TARGETS)

fuzz-i686: ## fuzz on 32 bits, and keep the counts: TARGETS=, SECONDS=, RUNS=
	FUZZ_MACHINE=i686 FUZZ_SECONDS=$(SECONDS) FUZZ_RUNS=$(RUNS) fuzz/run.sh $(TARGETS)

fuzz-replay: ## every fuzz target on its kept corpus and the fixtures, with the stable toolchain
	$(CARGO) test --quiet --manifest-path fuzz/Cargo.toml

fuzz-replay-second: ## the fuzz targets that compare with other readers, on the same; builds c-blosc2, which takes CMake
	$(CARGO) test --quiet --manifest-path fuzz/Cargo.toml --features second --test second

no-panic: ## prove that no panic path is left in the C library, and that the proof can fail
	.ci/no-panic
	.ci/no-panic-zlib

miri: ## run the tests of src/capi under Miri, where the nightly toolchain can be had
	.ci/miri

sanitize: ## the C tests and the library under sanitizers, and gcc's and clang's analyzers over the C code
	c-tests/sanitize.sh

coverage: ## which lines of src the tests reach, held against tests/unreached.txt
	.ci/coverage

MUTANTS ?=
mutants: ## change the sources in small ways and see whether a test fails: MUTANTS="--sample 200", MUTANTS=--help
	$(CARGO) run --quiet -p xtask -- mutants $(MUTANTS)

header: ## write the C headers anew, and docs/c-reference.md
	$(CARGO) run --quiet -p xtask -- header

lint: ## format, clippy and the headers
	$(CARGO) fmt --all --check
	$(CARGO) fmt --manifest-path examples/firmware-rust/Cargo.toml --check
	$(CARGO) clippy --quiet --workspace --all-targets --features capi -- -D warnings
	$(CARGO) clippy --quiet --no-default-features --features capi,$(FEATURES) -- -D warnings
	$(CARGO) run --quiet -p xtask -- header --check

doc: ## the documentation, without warnings
	RUSTDOCFLAGS="-D warnings" $(CARGO) doc --quiet --no-deps

web: ## the page that looks into tensor files, and the npm package: target/web
	web/build.sh

web-test: web target/web-venv ## their tests, in node and in headless Chromium
	$(CARGO) build --quiet --release -p tenslice-cli
	node --test web/test/module.test.mjs
	target/web-venv/bin/python web/test/page.py

target/web-venv:
	python3 -m venv $@ && $@/bin/pip install --quiet playwright || { rm -rf $@; exit 1; }

pictures: web target/web-venv ## draw the pictures of the README, docs/pictures, anew
	$(CARGO) build --quiet --release -p tenslice-cli
	target/web-venv/bin/python web/pictures.py

clean: ## remove everything that was built
	$(CARGO) clean
