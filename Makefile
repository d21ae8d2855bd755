# The verbs of daily work. `make` alone prints them.
.DEFAULT_GOAL := help
PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin

.PHONY: help compile test test-all check tools tools-argocd conformance conformance-all generate format bench clean

help:  ## Print the verbs.
	@sed -n 's/^\([a-z-]*\):.*## /  make \1\t/p' $(MAKEFILE_LIST)

$(VENV)/.installed: pyproject.toml
	$(PYTHON) -m venv $(VENV)
	$(BIN)/python -m pip install --quiet --disable-pip-version-check --config-settings editable_mode=compat --editable '.[test,check]'
	@touch $@

compile: $(VENV)/.installed  ## Compile the specs into out/ and clusters/.
	$(BIN)/gpuc compile

test: $(VENV)/.installed  ## Run the tests but for the slow ones; with GPUC_SHARED also those against the reference data.
	$(BIN)/python -m pytest

test-all: $(VENV)/.installed  ## Run every test: those of `make test` and the slow ones.
	$(BIN)/python -m pytest -m ''

check: $(VENV)/.installed  ## Lint, types, import layers, and whether out/ is what the specs compile to.
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy
	$(BIN)/lint-imports
	$(BIN)/gpuc check --fresh --strict

tools: $(VENV)/.installed  ## Build the programs of the rehearsal into the user's cache (needs Go; half an hour once).
	$(BIN)/python tools/build.py

tools-argocd: $(VENV)/.installed  ## Build Argo CD and Helm for `gpuc rehearse --argocd` (needs Go; a quarter of an hour once).
	$(BIN)/python tools/build.py --argocd

$(VENV)/.conformance: $(VENV)/.installed
	$(BIN)/python -m pip install --quiet --disable-pip-version-check --config-settings editable_mode=compat --editable '.[conformance]'
	@touch $@

conformance: tools $(VENV)/.conformance  ## Let the real programs judge the examples: gator, kubeconform, rehearsals, planted faults, some random work.
	$(BIN)/python -m tests.conformance.run

conformance-all: tools $(VENV)/.conformance  ## The same with more random work and undetected mutations, then Argo CD, into benchmarks/argocd.md (GPUC_CHARTS names a folder of charts).
	$(BIN)/python -m tests.conformance.argocd

generate: $(VENV)/.installed  ## Write what is derived: the schema of the spec language, the tables of policies.
	$(BIN)/python -m gpuc.catalog
	$(BIN)/python -m gpuc.policy.library
	$(BIN)/gpuc schema > $(VENV)/gpuc.schema.json
	mv $(VENV)/gpuc.schema.json gpuc.schema.json

format: $(VENV)/.installed  ## Format the code.
	$(BIN)/ruff check --fix-only --quiet .
	$(BIN)/ruff format .

bench: $(VENV)/.installed  ## Measure against plain cdk8s, and against helm and kubeconform where they are installed.
	$(BIN)/python -m benchmarks

clean:  ## Remove the virtual environment and caches.
	rm -rf $(VENV) .mypy_cache .ruff_cache .pytest_cache .hypothesis *.egg-info
