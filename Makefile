# Two commands for a fresh machine: `make demo` and `make test`. Everything else is in CONTRIBUTING.md.
CARGO  ?= cargo
TARGET := $(or $(CARGO_TARGET_DIR),target)
BIN    := $(TARGET)/debug/slowhand
# The lab needs root; as a user, ask for it only where it is needed.
AS_ROOT := $(if $(filter 0,$(shell id -u)),,sudo)

.PHONY: help demo test check bench papers dist
help:
	@echo 'make demo    a walk past five access points on this machine: live picture, table, page'
	@echo 'make test    every test'
	@echo 'make check   format, lints, import rules, licences, links'
	@echo 'make bench   the figures of the README'
	@echo 'make papers  figures and tables of papers, ours beside theirs'
	@echo 'make dist    a tarball of the release build'

demo: ready
	@$(AS_ROOT) $(BIN) demo

test:
	@scripts/setup.sh test
	$(CARGO) xtask test

check:
	@scripts/setup.sh test
	$(CARGO) fmt --all --check
	$(CARGO) clippy --workspace --all-targets --locked --quiet -- -D warnings
	$(CARGO) xtask check
	shellcheck scripts/*.sh .ci/run

bench: ready
	@$(AS_ROOT) $(BIN) bench

papers: ready
	$(BIN) papers --html out/papers

dist:
	@scripts/setup.sh build
	scripts/dist.sh

.PHONY: ready
ready:
	@scripts/setup.sh build
	$(CARGO) build --locked --package slowhand
