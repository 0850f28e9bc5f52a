# `make` lists the targets. The first target used builds .venv from pyproject.toml and constraints.txt; after that the
# environment is touched only when one of the two changes.

PYTHON ?= python3
WORKERS ?= 2
SEEDS ?= 20

BIN := .venv/bin
INSTALLED := .venv/.installed

export RUFF_CACHE_DIR := .cache/ruff
export HYPOTHESIS_STORAGE_DIRECTORY := .cache/hypothesis

.DEFAULT_GOAL := help
.PHONY: help demo check test lint bench soak docs clean

help: ## list the targets
	@awk -F ':.*## ' '/^[a-z]+:.*## / { printf "  make %-8s %s\n", $$1, $$2 }' $(MAKEFILE_LIST)

demo: $(INSTALLED) ## create tables, commit to them and look at the result
	$(BIN)/twinlog demo

check: lint ## lint and the fast tests; before every commit
	$(BIN)/pytest -m "not slow" -n $(WORKERS)

test: lint ## lint and all tests
	$(BIN)/pytest -n $(WORKERS)

lint: $(INSTALLED) ## formatting, lint rules, types, import layers
	$(BIN)/ruff format --check .
	$(BIN)/ruff check .
	$(BIN)/mypy
	$(BIN)/lint-imports --no-logo --cache-dir .cache/import-linter

bench: $(INSTALLED) ## measure against the bare drivers and delta-rs
	$(BIN)/python -m bench

soak: $(INSTALLED) ## the slow concurrency and crash tests with SEEDS=N seeds
	TWINLOG_SOAK_SEEDS=$(SEEDS) $(BIN)/pytest -m slow

docs: $(INSTALLED) ## regenerate docs/reference from the code
	$(BIN)/python -m docs.generate

clean: ## remove .venv, caches and build output
	rm -rf .venv .cache .hypothesis .pytest_cache .ruff_cache build dist src/*.egg-info
	find . -name __pycache__ -type d -prune -exec rm -rf {} +

$(INSTALLED): pyproject.toml constraints.txt
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11))' 2>/dev/null || { \
		echo "twinlog needs Python >= 3.11; '$(PYTHON) --version' says: $$($(PYTHON) --version 2>&1)" >&2; \
		echo "next: make PYTHON=/path/to/python3.11 $(MAKECMDGOALS)" >&2; \
		exit 1; }
	@echo "Installing into .venv (once, and again when pyproject.toml or constraints.txt change)"
	$(PYTHON) -m venv .venv
	$(BIN)/python -m pip install --upgrade --constraint constraints.txt pip
	$(BIN)/python -m pip install --constraint constraints.txt --build-constraint constraints.txt --group dev --editable .
	@touch $@
