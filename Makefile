# The two commands of the README, and the ones a contributor needs.
#   make demo        set up, and run a baseline agent on the five tasks, with verified scores
#   make test        set up, and pass a fixed set of tests, the same for everybody
#   make test-all    the same, and then every other test
.PHONY: demo test test-all rest lint format types pytest trainers images bench clean
.DELETE_ON_ERROR:

PYTHON ?= python3
VENV ?= .venv
BIN := $(VENV)/bin
AGENT ?= ridge
# EXTRA=ci: PyTorch and esig too, which a few tests of the rest compare with.
EXTRA ?= dev
# Decides the order in which the rest is tried: each commit's own. Pytest prints it; `make rest SEED=...` takes another.
SEED ?= $(shell git rev-list --count HEAD 2>/dev/null || echo 0)
# Many tests wait for a program or a server: two processes more than there are cores.
PROCESSES ?= $(shell $(PYTHON) -c 'import os; print((os.cpu_count() or 1) + 2)')
PYTEST = $(BIN)/python -m pytest -n $(PROCESSES) --dist loadfile --no-loadscope-reorder
TASKS := commodity-forecast crypto-forecast equity-forecast fx-forecast treasury-forecast

demo: $(VENV)/.demo
	$(BIN)/openfingym run $(TASKS) --agent $(AGENT)

# Types are checked in what time the tests leave while they wait for programs and servers.
test: lint
	@$(MAKE) --no-print-directory -j 2 types pytest

test-all: test
	@$(MAKE) --no-print-directory rest

pytest: $(VENV)/.dev
	$(PYTEST) -m "not rest"

# What `make test` leaves out. The order changes and no seed does, so that a failure comes again with its SEED.
rest: $(VENV)/.$(EXTRA)
	$(PYTEST) -m "rest" -p randomly --randomly-seed=$(SEED) --randomly-dont-reset-seed

lint: $(VENV)/.dev
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .

format: $(VENV)/.dev
	$(BIN)/ruff check --fix . ; $(BIN)/ruff format .

types: $(VENV)/.dev
	$(BIN)/mypy

# Of trainers of models, each in an environment of its own, of a gigabyte or two: TRAINERS="trl verl" for some of them.
trainers:
	$(PYTHON) scripts/trainers.py $(TRAINERS)

images: $(VENV)/.demo
	scripts/docker-engine all

# Every benchmark, and a table of all at the end; `make bench BENCH="gate ledger"` runs some of them.
bench: $(VENV)/.dev
	$(BIN)/python benchmarks/run.py $(BENCH)

clean:
	rm -rf $(VENV) dist build .mypy_cache .ruff_cache .pytest_cache .hypothesis

$(VENV)/bin/python:
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11))' || { echo "Python 3.11 or later is needed; set PYTHON=/path/to/python3.11"; exit 1; }
	@echo "making a virtual environment in $(VENV)"
	@$(PYTHON) -m venv $(VENV) || { echo "python3 cannot make a virtual environment; on Debian or Ubuntu: sudo apt-get install python3-venv"; rm -rf $(VENV); exit 1; }

# pip says what it fetches and installs, line by line: the first time takes a minute or more.
$(VENV)/.demo: $(VENV)/bin/python pyproject.toml
	@echo "installing OpenFinGym and what it needs into $(VENV)"
	$(BIN)/python -m pip install --disable-pip-version-check -e .
	@touch $@

$(VENV)/.dev: $(VENV)/bin/python pyproject.toml
	@echo "installing OpenFinGym and what its tests need into $(VENV)"
	$(BIN)/python -m pip install --disable-pip-version-check -e '.[dev]'
	@touch $@ $(VENV)/.demo

$(VENV)/.ci: $(VENV)/bin/python pyproject.toml
	@echo "installing OpenFinGym and all that its tests compare with into $(VENV)"
	$(BIN)/python -m pip install --disable-pip-version-check -e '.[ci]'
	@touch $@ $(VENV)/.dev $(VENV)/.demo
