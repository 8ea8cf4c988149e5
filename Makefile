# Needs Python 3.11 or later and make; everything else is installed into .venv.
PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
PIP := $(BIN)/python -m pip --disable-pip-version-check --quiet --no-input
LIBRARY := .demo/library
QUESTION ?= How long did training HeronNet take, and on what hardware?

.PHONY: demo test setup setup-dev lint lock clean
.DEFAULT_GOAL := demo

demo: $(VENV)/.ready
	$(BIN)/quaere --library $(LIBRARY) add samples
	@echo
	@echo 'Asking: $(QUESTION)'
	@echo
	$(BIN)/quaere --library $(LIBRARY) ask '$(QUESTION)'

test: $(VENV)/.ready-dev
	$(BIN)/python -m pytest

setup: $(VENV)/.ready
setup-dev: $(VENV)/.ready-dev

$(VENV)/bin/python:
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11))' \
		|| { echo 'Quaere needs Python 3.11 or later; name one with make PYTHON=python3.11' >&2; exit 1; }
	@$(PYTHON) -m venv $(VENV) \
		|| { rm -rf $(VENV); echo 'Python has no venv here; on Debian: apt install python3-venv' >&2; exit 1; }

$(VENV)/.ready: requirements.lock pyproject.toml | $(VENV)/bin/python
	@echo 'Installing Quaere into $(VENV): about 1.2 GB and two minutes, once.'
	@$(PIP) install --require-hashes -r requirements.lock
	@$(PIP) install --no-deps --no-build-isolation -e .
	@touch $@

$(VENV)/.ready-dev: requirements-dev.lock $(VENV)/.ready
	@echo 'Installing what the tests need.'
	@$(PIP) install --require-hashes -r requirements-dev.lock
	@touch $@

lint: $(VENV)/.ready-dev
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy
	$(BIN)/lint-imports

# Needs uv. The locks name no index: pip takes the one that it is configured for.
lock:
	uv pip compile pyproject.toml --group build --universal --generate-hashes --no-emit-index-url --no-header \
		--no-annotate -q -o requirements.lock
	uv pip compile pyproject.toml --group build --extra dev --universal \
		--generate-hashes --no-emit-index-url --no-header --no-annotate -q -o requirements-dev.lock

clean:
	rm -rf $(VENV) .demo dist build .pytest_cache .mypy_cache .ruff_cache .hypothesis .import_linter_cache
