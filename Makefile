# Two commands for newcomers: `make serve` and `make test`. The rest is for those who change the code.
# Settings (DUMBO_PORT, DUMBO_DATABASE_URL, ...) are taken from the environment; `make settings` lists them.

PYTHON ?= python3
VENV ?= .venv
JOBS ?= 2
BIN := $(VENV)/bin
PIP := $(BIN)/python -m pip install --quiet --disable-pip-version-check

.DEFAULT_GOAL := help
.PHONY: help serve settings test lint types layers openapi bench-service chaos lock sbom audit clean

help: ## Show this list
	@grep -hE '^[a-z-]+:.*##' $(MAKEFILE_LIST) | sed -E 's/:.*## /\t/' | awk -F'\t' '{printf "make %-14s %s\n", $$1, $$2}'

serve: $(VENV)/.serve ## Install what is needed and serve on http://127.0.0.1:8000
	@exec $(BIN)/dumbo serve

settings: $(VENV)/.serve ## List every setting with its default
	@$(BIN)/dumbo serve --help

test: $(VENV)/.bench ## Install the test and bench extras and run the whole suite, on SQLite and a real Postgres
	OMP_NUM_THREADS=1 OPENBLAS_NUM_THREADS=1 $(BIN)/pytest -n $(JOBS) $(PYTEST_ARGS)

lint: $(VENV)/.test ## Check style and formatting
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .

types: $(VENV)/.test ## Check types
	$(BIN)/mypy

layers: $(VENV)/.test ## Check who imports whom
	$(BIN)/lint-imports

openapi: $(VENV)/.serve ## Write openapi.yaml anew from the code
	$(BIN)/dumbo openapi > openapi.yaml.new
	mv openapi.yaml.new openapi.yaml

bench-service: $(VENV)/.bench ## Measure the service under load and write the table into the README
	$(BIN)/python -m benchmarks.service_load --readme

chaos: $(VENV)/.bench ## Try to break the service for hours, and write what was lost into the README
	$(BIN)/python -m tests.chaos --readme $(CHAOS_ARGS)

lock: $(VENV)/.test ## Pin and hash what the image installs, as it is installed here
	$(BIN)/python -m tests.support.lock > requirements.lock.new
	mv requirements.lock.new requirements.lock

sbom: $(VENV)/.test ## List what the image is made of, with hashes and licences, in sbom.json (CycloneDX)
	@$(BIN)/python -m tests.support.sbom sbom.json

audit: $(VENV)/.test ## Look up known vulnerabilities of what the image installs (needs a network)
	$(PIP) pip-audit
	$(BIN)/pip-audit --disable-pip --require-hashes -r requirements.lock

clean: ## Remove what these targets have made, except the data
	rm -rf $(VENV) build dist *.egg-info .pytest_cache .mypy_cache .ruff_cache .hypothesis .import_linter_cache

$(BIN)/python:
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11))' || \
		{ echo "DuMBO needs Python 3.11 or later; name one with: make PYTHON=python3.12"; exit 1; }
	$(PYTHON) -m venv $(VENV)

# A stamp for each set of dependencies: installing again is needed only when pyproject.toml has changed.
$(VENV)/.serve: pyproject.toml | $(BIN)/python
	$(PIP) -e .
	@touch $@

$(VENV)/.test: pyproject.toml | $(BIN)/python
	$(PIP) -e '.[test]'
	@touch $@ $(VENV)/.serve

$(VENV)/.bench: pyproject.toml | $(BIN)/python
	$(PIP) -e '.[test,bench]'
	@touch $@ $(VENV)/.serve $(VENV)/.test
