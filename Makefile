# Needs Python 3.11 or later and make; everything else is installed into .venv.
PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
PIP := $(BIN)/python -m pip --disable-pip-version-check --quiet --no-input
LIBRARY := .demo/library
QUESTION ?= How does HeronNet compare with Egret-2 three hours ahead?

.PHONY: demo test setup setup-dev lint lock clean FORCE
.DEFAULT_GOAL := demo

demo: $(VENV)/.ready
	$(BIN)/quaere --library $(LIBRARY) add samples/*.pdf
	@echo
	@echo 'Asking: $(QUESTION)'
	@echo
	$(BIN)/quaere --library $(LIBRARY) ask '$(QUESTION)'

test: $(VENV)/.ready-dev
	$(BIN)/python -m pytest

setup: $(VENV)/.ready
setup-dev: $(VENV)/.ready-dev

# .ready holds the folder it was made in: an environment that was moved, or whose Python is gone, is made anew.
ifneq ($(shell $(BIN)/python -c '' 2>/dev/null && cat $(VENV)/.ready),$(CURDIR))
$(VENV)/.ready: FORCE
endif
FORCE:

$(VENV)/.ready: requirements.lock pyproject.toml
	@$(PYTHON) -c 'import sys; sys.exit(not (3, 11) <= sys.version_info < (3, 15))' \
		|| { echo 'Quaere needs Python 3.11 to 3.14; name one with: make PYTHON=python3.12' >&2; exit 1; }
	@if [ -e $@ ] && [ "$$(cat $@)" != '$(CURDIR)' ] || ! $(BIN)/python -c '' 2>/dev/null; then \
		rm -rf $(VENV) && $(PYTHON) -m venv $(VENV) || { rm -rf $(VENV); \
		echo 'This Python cannot make a virtual environment; on Debian: apt install python3-venv' >&2; exit 1; }; fi
	@echo 'Installing Quaere into $(VENV): about 1 GB and one to two minutes, once.'
	@$(PIP) install --require-hashes -r requirements.lock
	@$(PIP) install --no-deps --no-build-isolation -e .
	@echo '$(CURDIR)' > $@

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
UV_LOCK := uv pip compile pyproject.toml --group build --universal --python-version 3.11 --generate-hashes \
	--no-emit-index-url --no-emit-find-links --no-header --no-annotate --quiet
lock:
	$(UV_LOCK) -o requirements.lock
	$(UV_LOCK) --extra dev --extra ocr --extra report --constraint requirements.lock -o requirements-dev.lock
	$(UV_LOCK) --extra dev --extra eval -o requirements-eval.lock
	$(UV_LOCK) --extra dev --extra bge --constraint requirements-dev.lock -o requirements-bge.lock
	@! grep -nE '://|^-' requirements.lock requirements-dev.lock requirements-eval.lock requirements-bge.lock
	@! grep -nE '^(torch|transformers|flagembedding)==' requirements.lock requirements-dev.lock

clean:
	rm -rf $(VENV) .demo dist build .pytest_cache .mypy_cache .ruff_cache .hypothesis .import_linter_cache
