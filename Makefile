# The two commands of the README, and the ones a contributor needs.
#   make demo    set up, and run a baseline agent on the five tasks, with verified scores
#   make test    set up, and pass the tests
.PHONY: demo test lint format types pytest trainers images bench clean
.DELETE_ON_ERROR:

PYTHON ?= python3
VENV ?= .venv
BIN := $(VENV)/bin
AGENT ?= ridge
# EXTRA=ci: PyTorch and esig too, which a few tests compare with.
EXTRA ?= dev
# Many tests wait for a program or a server: two processes more than there are cores.
PROCESSES ?= $(shell $(PYTHON) -c 'import os; print((os.cpu_count() or 1) + 2)')
TASKS := commodity-forecast crypto-forecast equity-forecast fx-forecast treasury-forecast

demo: $(VENV)/.demo
	$(BIN)/openfingym run $(TASKS) --agent $(AGENT)

# Types are checked in what time the tests leave while they wait for programs and servers.
test: lint
	@$(MAKE) --no-print-directory -j 2 types pytest

pytest: $(VENV)/.dev
	$(BIN)/python -m pytest -n $(PROCESSES) --dist loadfile --no-loadscope-reorder

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

bench: $(VENV)/.dev
	$(BIN)/python benchmarks/startup.py
	$(BIN)/python benchmarks/verifier.py
	$(BIN)/python benchmarks/gate.py
	$(BIN)/python benchmarks/rollout.py
	$(BIN)/python benchmarks/trading.py
	$(BIN)/python benchmarks/report.py
	$(BIN)/python benchmarks/receipts.py
	$(BIN)/python benchmarks/workspace.py
	$(BIN)/python benchmarks/turns.py
	$(BIN)/python benchmarks/instances.py
	$(BIN)/python benchmarks/rollouts.py

clean:
	rm -rf $(VENV) dist build .mypy_cache .ruff_cache .pytest_cache .hypothesis

$(VENV)/bin/python:
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11))' || { echo "Python 3.11 or later is needed; set PYTHON=/path/to/python3.11"; exit 1; }
	@$(PYTHON) -m venv $(VENV) || { echo "python3 cannot make a virtual environment; on Debian or Ubuntu: sudo apt-get install python3-venv"; rm -rf $(VENV); exit 1; }

$(VENV)/.demo: $(VENV)/bin/python pyproject.toml
	$(BIN)/python -m pip install --quiet --disable-pip-version-check -e .
	@touch $@

$(VENV)/.dev: $(VENV)/bin/python pyproject.toml
	$(BIN)/python -m pip install --quiet --disable-pip-version-check -e '.[$(EXTRA)]'
	@touch $@ $(VENV)/.demo
