# Two commands for a fresh machine: `make demo` and `make test`. Everything else is in CONTRIBUTING.md.
CARGO  ?= cargo
TARGET := $(or $(CARGO_TARGET_DIR),target)
BIN    := $(TARGET)/debug/slowhand
# The lab needs root. As an ordinary user, run only these commands with sudo.
AS_ROOT := $(if $(filter 0,$(shell id -u)),,sudo)

.PHONY: help demo test test-wifi check bench papers build install uninstall deb dist fuzz
help:
	@echo 'make demo    a walk past five access points on this machine: live display, table, web page'
	@echo 'make test    every test'
	@echo 'make test-wifi  real access points and MPTCP in a virtual machine: the trials of make test, and medians of five runs'
	@echo 'make check   format, lints, import rules, licences, links'
	@echo 'make bench   the figures of the README'
	@echo 'make papers  figures and tables of the papers, published and reproduced'
	@echo 'make build   the release build of both programs'
	@echo 'make install     installs it below PREFIX (/usr/local), in DESTDIR if that is set'
	@echo 'make uninstall   ends the daemon and removes what make install has installed'
	@echo 'make deb     a Debian package of the release build (ARCH=arm64: of a cross build, untested)'
	@echo 'make dist    a tarball of the release build'
	@echo 'make fuzz    fuzz the engine and the parsers of frames and WiFi messages for some minutes (needs cargo-fuzz and a nightly compiler)'

demo: ready
	@$(AS_ROOT) $(BIN) demo

test:
	@scripts/setup.sh test
	$(CARGO) xtask test

test-wifi:
	@scripts/setup.sh test
	$(CARGO) build --locked --package slowhand --package slowhandd
	$(CARGO) xtask test --package guest
	$(CARGO) run --locked --package guest --bin wifi-box -- run --runs 5 --limit 3600

check:
	@scripts/setup.sh test
	$(CARGO) fmt --all --check
	$(CARGO) clippy --workspace --all-targets --locked --quiet -- -D warnings
	$(CARGO) xtask check
	shellcheck scripts/*.sh dist/debian/p* .ci/run crates/guest/guest/*.sh crates/guest/guest/trials/*.sh

bench: ready
	@$(AS_ROOT) $(BIN) bench

papers: ready
	$(BIN) papers --html out/papers

build:
	@scripts/setup.sh build
	$(CARGO) build --release --locked --package slowhand --package slowhandd --package relay

# They build nothing, so that root need not. PREFIX, DESTDIR and the like on the command line reach the script.
install uninstall:
	scripts/install.sh $@

deb:
	@scripts/setup.sh deb
	scripts/deb.sh

dist: build
	scripts/dist.sh

# Duration per fuzz target, in seconds.
FUZZ_S ?= 120
fuzz:
	cd fuzz && $(CARGO) +nightly fuzz run engine -- -max_total_time=$(FUZZ_S) -rss_limit_mb=512 -max_len=4000 -len_control=20
	mkdir -p $(addprefix fuzz/corpus/,dot11 nl80211 convert socks dhcp)
	cd fuzz && $(CARGO) +nightly fuzz run dot11 corpus/dot11 seeds/dot11 -- -max_total_time=$(FUZZ_S) -rss_limit_mb=512 -max_len=512
	cd fuzz && $(CARGO) +nightly fuzz run nl80211 corpus/nl80211 seeds/nl80211 -- -max_total_time=$(FUZZ_S) -rss_limit_mb=512 -max_len=2000
	cd fuzz && $(CARGO) +nightly fuzz run convert corpus/convert seeds/convert -- -max_total_time=$(FUZZ_S) -rss_limit_mb=512 -max_len=1024
	cd fuzz && $(CARGO) +nightly fuzz run socks corpus/socks seeds/socks -- -max_total_time=$(FUZZ_S) -rss_limit_mb=512 -max_len=300
	cd fuzz && $(CARGO) +nightly fuzz run dhcp corpus/dhcp seeds/dhcp -- -max_total_time=$(FUZZ_S) -rss_limit_mb=512 -max_len=1000

.PHONY: ready
ready:
	@scripts/setup.sh build
	$(CARGO) build --locked --package slowhand --package slowhandd --package relay
