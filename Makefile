# Everything starts here: `make demo` and `make test` set up whatever they need, `make help` lists the rest.
SHELL := /bin/bash
.SHELLFLAGS := -euo pipefail -c
.DEFAULT_GOAL := help
.DELETE_ON_ERROR:
MAKEFLAGS += --no-builtin-rules

VENV := .venv
BIN := $(VENV)/bin
# A step that is done leaves a stamp; a step runs again when what it was made from is newer.
STAMPS := $(VENV)/stamps
PACKAGES := rackproof reports testplans orchestrator api web
NATIVE_SOURCES := $(wildcard native/Cargo.toml native/Cargo.lock native/pyproject.toml native/build.rs native/.cargo/config.toml) \
	$(shell find native/src native/rsvp/src native/rsvp/Cargo.toml native/*.pyi -type f 2>/dev/null)

# uv and pip take their index from the environment and their own configuration: nothing here says where packages come from.
UV := $(BIN)/uv
export UV_NO_PROGRESS := 1
export UV_PYTHON_DOWNLOADS := never
export VIRTUAL_ENV := $(CURDIR)/$(VENV)
export PYO3_PYTHON := $(CURDIR)/$(BIN)/python
unexport PYTHONPATH PYTHONHOME

CARGO := cargo
CARGO_IN_NATIVE := --manifest-path native/Cargo.toml --locked

.PHONY: help setup schemes demo up test check lint test-shared test-kept test-pages test-survival test-use test-python test-native bench chaos fmt lock clean hooks doctor

help: ## list what can be made
	@awk 'BEGIN { FS = ":.*## " } /^[a-z-]+:.*## / { printf "make %-14s %s\n", $$1, $$2 }' $(MAKEFILE_LIST)

demo: setup ## measure two kinds of switch on the virtual bench and write the report
	@$(BIN)/rackproof run testplans/switch_qos/demo.yaml

up: setup ## the service on this machine: pages, API, a worker with the virtual bench
	@$(BIN)/rackproof up

test: setup ## everything that CI runs
	@$(MAKE) --no-print-directory --jobs=3 test-pages test-kept test-shared test-survival test-use lint test-native
	@echo "== pytest, what wants the machine for itself"
	@$(BIN)/python -m pytest $(patsubst %,--ignore=%,$(SHARED) $(KEPT) $(SURVIVAL) $(USE) tests/browser) $(PYTEST_ARGS)

check: test ## the same as test

# --- setting up -----------------------------------------------------------------------------------------------------------------

setup: $(STAMPS)/project $(STAMPS)/native $(STAMPS)/pages ## environment, engine and project, without running anything

doctor: ## say what this machine lacks
	@scripts/doctor

$(STAMPS)/uv: requirements-bootstrap.txt
	@scripts/doctor
	@echo "== environment: $(VENV)"
	@"$$(scripts/doctor --python)" -m venv --clear $(VENV)
	@$(BIN)/python -m pip install --quiet --disable-pip-version-check --require-hashes --requirement requirements-bootstrap.txt
	@mkdir -p $(STAMPS) && touch $@

$(STAMPS)/packages: requirements-dev.lock $(STAMPS)/uv
	@echo "== packages: requirements-dev.lock"
	@$(UV) pip sync --quiet --compile-bytecode --require-hashes requirements-dev.lock
	@touch $@

$(STAMPS)/native: $(NATIVE_SOURCES) $(STAMPS)/packages
	@echo "== native engine: native/ (the first build takes a minute)"
	@rm -rf build/wheels
	@$(BIN)/maturin build --quiet --release --locked --interpreter $(BIN)/python --manifest-path native/Cargo.toml --out build/wheels
	@$(UV) pip install --quiet --no-deps --no-index --reinstall build/wheels/rackproof_native-*.whl
	@touch $@

$(STAMPS)/project: pyproject.toml $(STAMPS)/packages
	@echo "== project: installed in place"
	@$(UV) pip install --quiet --no-deps --no-build-isolation --editable .
	@touch $@

# What the pages load in the browser, from packages that are pinned by hash; scripts of packages are not run.
$(STAMPS)/pages: web/package.json web/package-lock.json
	@scripts/doctor
	@echo "== pages: web/package-lock.json"
	@npm ci --prefix web --ignore-scripts --no-audit --no-fund --loglevel=error
	@mkdir -p web/static/vendor $(STAMPS)
	@cp web/node_modules/htmx.org/dist/htmx.min.js web/node_modules/uplot/dist/uPlot.iife.min.js web/node_modules/uplot/dist/uPlot.min.css web/static/vendor/
	@touch $@

# The project's own programs for congestion-control schemes; what is built is the stamp. They take minutes, and nothing else needs them.
PROGRAMS := build/programs

schemes: $(PROGRAMS)/rackproof-quic ## programs for congestion-control schemes that no package has

$(PROGRAMS)/rackproof-quic: $(wildcard native/quic/Cargo.toml native/quic/Cargo.lock native/quic/src/*.rs)
	@echo "== QUIC: native/quic/ (the first build takes minutes)"
	@$(CARGO) build --manifest-path native/quic/Cargo.toml --locked --quiet --release
	@mkdir -p $(PROGRAMS) && install -m 755 native/quic/target/release/rackproof-quic $@

# --- checking -------------------------------------------------------------------------------------------------------------------

lint: setup ## ruff, mypy, import contracts, rustfmt, clippy
	@scripts/doctor --test
	@echo "== ruff" && $(BIN)/ruff check . && $(BIN)/ruff format --check .
	@echo "== mypy" && $(BIN)/mypy
	@echo "== import contracts" && $(BIN)/lint-imports --no-logo
	@echo "== rustfmt" && $(CARGO) fmt --manifest-path native/Cargo.toml --check && $(CARGO) fmt --manifest-path native/quic/Cargo.toml --check \
		&& $(CARGO) fmt --manifest-path native/rsvp/Cargo.toml --check
	@echo "== clippy" && $(CARGO) clippy $(CARGO_IN_NATIVE) --quiet --all-targets -- -D warnings
	@$(CARGO) clippy $(CARGO_IN_NATIVE) --quiet --all-targets --all-features -- -D warnings
	@$(CARGO) clippy --manifest-path native/rsvp/Cargo.toml --quiet --all-targets -- -D warnings

test-native: setup ## the own tests of the engine and of the RSVP-TE library
	@echo "== cargo test" && $(CARGO) test $(CARGO_IN_NATIVE) --quiet && $(CARGO) test --manifest-path native/rsvp/Cargo.toml --quiet

# Tests that measure nothing, and may run beside others.
SHARED := tests/unit tests/integration/api tests/integration/accounts tests/integration/web

KEPT := tests/integration/client tests/integration/nights tests/integration/pantheon tests/integration/store tests/integration/inventories \
	tests/integration/devices tests/integration/playbooks tests/integration/rsvp tests/contract/trex tests/integration/orchestrator \
	tests/integration/service/test_desk.py tests/integration/service/test_jobs.py tests/integration/service/test_reports.py

# Tests that measure, and are not about what comes out: beside others. What looks for leftovers of killed processes is in one lane.
SURVIVAL := tests/chaos tests/e2e/test_bad_days.py tests/e2e/test_night.py tests/e2e/test_worker.py tests/integration/service/test_up.py
DAY := tests/browser/test_day.py
USE := $(DAY)

test-shared: setup
	@echo "== pytest, beside the other checks" && $(BIN)/python -m pytest $(SHARED) $(PYTEST_ARGS)

test-kept: setup
	@echo "== pytest, what is kept" && $(BIN)/python -m pytest $(KEPT) $(PYTEST_ARGS)

test-pages: setup ## every page in a browser
	@echo "== pytest, in a browser" && $(BIN)/python -m pytest tests/browser --ignore=$(DAY) $(PYTEST_ARGS)

test-survival: setup
	@echo "== pytest, what survives" && $(BIN)/python -m pytest $(SURVIVAL) $(PYTEST_ARGS)

test-use: setup
	@echo "== pytest, what people do" && $(BIN)/python -m pytest $(USE) $(PYTEST_ARGS)

test-python: setup ## pytest; PYTEST_ARGS narrows it down
	@echo "== pytest" && $(BIN)/python -m pytest $(PYTEST_ARGS)

bench: setup ## measure speed; writes build/benchmarks.json
	@mkdir -p build && $(BIN)/python -m benchmarks

chaos: setup ## harm at 200 random points of running campaigns; writes build/chaos.json (CHAOS_ARGS="--seed 7 --points 20")
	@$(BIN)/python -m tests.chaos $(CHAOS_ARGS)

# --- keeping --------------------------------------------------------------------------------------------------------------------

fmt: setup ## format Python and Rust
	@$(BIN)/ruff check --fix --quiet . ; $(BIN)/ruff format . && $(CARGO) fmt --manifest-path native/Cargo.toml && $(CARGO) fmt --manifest-path native/quic/Cargo.toml \
		&& $(CARGO) fmt --manifest-path native/rsvp/Cargo.toml

hooks: setup ## run the checks before every commit
	@$(BIN)/pre-commit install

COMPILE := pip compile --quiet --universal --python-version 3.11 --generate-hashes --no-header --no-emit-index-url --no-emit-find-links

lock: $(STAMPS)/uv ## pin the newest versions of all dependencies (LOCK_ARGS=--upgrade-package=NAME for one)
	@$(UV) $(COMPILE) $(or $(LOCK_ARGS),--upgrade) pyproject.toml --output-file requirements.lock
	@$(UV) $(COMPILE) $(or $(LOCK_ARGS),--upgrade) --extra dev --constraint requirements.lock pyproject.toml --output-file requirements-dev.lock
	@echo uv | $(UV) $(COMPILE) --constraint requirements-dev.lock - --output-file requirements-bootstrap.txt
	@! grep -nE '^(-i|--index|--extra-index|--find-links|--trusted-host)|://' requirements*.lock requirements-bootstrap.txt

clean: ## remove what was built, the environment too; campaigns and samples stay
	@if [ -x $(BIN)/rackproof ]; then $(BIN)/rackproof bench clean || true; fi
	@rm -rf $(VENV) build native/target native/quic/target native/rsvp/target web/node_modules web/static/vendor .mypy_cache .ruff_cache .pytest_cache .hypothesis .import_linter_cache
	@find $(PACKAGES) tests benchmarks -name __pycache__ -type d -prune -exec rm -rf {} +
