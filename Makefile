# Commands for development. `make` prints them.
.DEFAULT_GOAL := help
PYTHON ?= python3
VENV := .venv
FLEETS := . examples/custom examples/hub examples/machines
BIN := $(VENV)/bin
# Both packages at once, and gpuc first: then pip asks no index for the package that the other one needs.
INSTALL = $(BIN)/python -m pip install --quiet --disable-pip-version-check --config-settings editable_mode=compat
TORCH := $(VENV)/torch
TORCH_PIP = $(TORCH)/bin/python -m pip install --quiet --disable-pip-version-check
TORCH_CPU := https://download.pytorch.org/whl/cpu
# The date of `make check`: the capacity blocks of the examples end.
export SOURCE_DATE_EPOCH ?= 1796083200
export GPUC_TORCH_PYTHON ?= $(CURDIR)/$(TORCH)/bin/python

.PHONY: help compile test test-all test-wheel check docs wheel tools tools-argocd tools-lws tools-jobset tools-karpenter-hash tools-nfd tools-nodeadm tools-promtool tools-workloads observe torch conformance conformance-training conformance-all generate budgets format bench clean

help:  ## Print the commands.
	@sed -n 's/^\([a-z-]*\):.*## /  make \1\t/p' $(MAKEFILE_LIST)

$(VENV)/.installed: pyproject.toml rehearsal/pyproject.toml
	$(PYTHON) -m venv $(VENV)
	$(INSTALL) --editable '.[test,check]' --editable ./rehearsal
	@touch $@

compile: $(VENV)/.installed  ## Compile the specs of this repository and of the fleets in examples/ into out/ and clusters/.
	@set -e; for fleet in $(FLEETS); do (cd $$fleet && $(CURDIR)/$(BIN)/gpuc compile); done

test: $(VENV)/.installed  ## Run the tests except the slow ones; tests with reference data need GPUC_SHARED.
	$(BIN)/python -m pytest

test-all: $(VENV)/.installed  ## Run all tests, including the slow ones.
	$(BIN)/python -m pytest -m '' --durations 40

check: $(VENV)/.installed  ## Check style, types, import layers, CI workflows (builds actionlint with Go), and that out/ is up to date.
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy
	$(BIN)/lint-imports
	$(BIN)/python -m tests.ci.linters
	$(MAKE) docs
	@set -e; for fleet in $(FLEETS); do (cd $$fleet && $(CURDIR)/$(BIN)/gpuc check --fresh --strict); done

docs: $(VENV)/.installed  ## Build the manual as a site into .venv/site, and check its links and anchors.
	NO_MKDOCS_2_WARNING=1 $(BIN)/mkdocs build --quiet --strict
	$(BIN)/python -m tests.pages.site $(VENV)/site

wheel: $(VENV)/.installed  ## Build the wheels and the source distributions of both packages into dist/, and check their metadata.
	$(BIN)/python -m tests.versions
	$(BIN)/python -m build --no-isolation --outdir dist .
	$(BIN)/python -m build --no-isolation --outdir dist rehearsal
	$(BIN)/python -m twine check --strict dist/*

test-wheel:  ## Run all tests with the wheels in dist/ in place of the packages of the checkout.
	$(PYTHON) -m venv --clear $(VENV)/wheel
	$(VENV)/wheel/bin/python -m pip install --quiet --disable-pip-version-check "$$(ls $(CURDIR)/dist/gpuc-*.whl)[test,check]" $(CURDIR)/dist/gpuc_rehearsal-*.whl
	$(VENV)/wheel/bin/python -m pytest -m '' --override-ini pythonpath=.

tools: $(VENV)/.installed  ## Build the programs of the rehearsal into the user's cache (needs Go; takes about 20 minutes on two cores without earlier builds).
	$(BIN)/gpuc tools

tools-argocd: $(VENV)/.installed  ## Build Argo CD and Helm for `gpuc rehearse --argocd` (needs Go; takes a quarter of an hour once).
	$(BIN)/gpuc tools --argocd

tools-lws: $(VENV)/.installed  ## Build the controller of LeaderWorkerSets for `make conformance-all` (needs Go; takes some minutes once).
	$(BIN)/gpuc tools --lws

tools-jobset: $(VENV)/.installed  ## Build the controller of JobSets for `make conformance` (needs Go; takes some minutes once).
	$(BIN)/gpuc tools --jobset

tools-karpenter-hash: $(VENV)/.installed  ## Build karpenter-hash for `make conformance-all` (needs Go; takes some minutes once).
	$(BIN)/gpuc tools --karpenter-hash

tools-nfd: $(VENV)/.installed  ## Build nfd-master for `make conformance-all` (needs Go; takes some minutes once).
	$(BIN)/gpuc tools --nfd

tools-nodeadm: $(VENV)/.installed  ## Build nodeadm and kubectl for `make conformance-all` (needs Go; takes some minutes once).
	$(BIN)/gpuc tools --nodeadm

tools-promtool: $(VENV)/.installed  ## Build promtool, which tests the alerts (needs Go; takes two minutes once).
	$(BIN)/gpuc tools --promtool

tools-workloads: $(VENV)/.installed tools-jobset tools-lws  ## Build the controllers of JobSets, LeaderWorkerSets, TrainJobs and Ray for `make conformance-all` (needs Go; takes some minutes once).
	$(BIN)/gpuc tools --kuberay
	$(BIN)/gpuc tools --trainer

$(VENV)/.conformance: $(VENV)/.installed
	$(INSTALL) --editable '.[conformance]' --editable ./rehearsal
	@touch $@

conformance: tools tools-jobset $(VENV)/.conformance  ## Compare gpuc with real programs: gator, kubeconform, rehearsals, planted mistakes, random gangs, random workloads, Prometheus and Alertmanager if found.
	$(BIN)/python -m tests.conformance.run

observe: $(VENV)/.installed  ## Test rules, dashboards and notifications with Prometheus and Alertmanager (Debian's packages, unpacked without root; needs Go).
	$(BIN)/python -m tests.observe.programs
	GPUC_OBSERVE=1 $(BIN)/python -m pytest -m '' -n 1 tests/observe

torch: $(VENV)/.installed  ## Install PyTorch into .venv/torch, unless GPUC_TORCH_PYTHON names a Python with PyTorch.
	@$(GPUC_TORCH_PYTHON) -c 'import torch' 2>/dev/null \
	  || { $(PYTHON) -m venv $(TORCH) && { $(TORCH_PIP) --index-url $(TORCH_CPU) torch numpy || $(TORCH_PIP) torch numpy; }; } \
	  || echo "PyTorch cannot be installed; the test of the gang command will not run"

conformance-training: tools tools-workloads $(VENV)/.conformance  ## Run training jobs of the examples with the real controllers of workloads.
	$(BIN)/python -m tests.conformance.long training

conformance-all: tools tools-workloads torch $(VENV)/.conformance  ## The same with more random gangs, gangs with torchrun, LeaderWorkerSets, training jobs, NodeConfigs, the GPU gate, alerts, dashboards, notifications, undetected mutations, Argo CD and all draws of the tests; writes benchmarks/conformance.md, trace.md and argocd.md (GPUC_CHARTS: folder of charts).
	$(BIN)/python -m tests.conformance.long
	GPUC_KUBELET=1 $(BIN)/python -m pytest -m '' --full

generate: $(VENV)/.installed  ## Write the generated files: the schema and the reference of the spec language, the tables of policies.
	$(BIN)/python -m tests.derive.rows
	$(BIN)/python -m tests.derive.policies
	$(BIN)/python -m tests.pipeline.effects
	$(BIN)/python -m tests.derive.reference_page > $(VENV)/reference.md
	mv $(VENV)/reference.md docs/reference.md
	$(BIN)/gpuc schema > $(VENV)/gpuc.schema.json
	mv $(VENV)/gpuc.schema.json gpuc.schema.json
	$(BIN)/gpuc draw prod-use1 > $(VENV)/prod-use1.svg
	mv $(VENV)/prod-use1.svg docs/prod-use1.svg

budgets: $(VENV)/.installed  ## Write what the commands load, call and read into the table of budgets, after a change that is worth its costs.
	$(BIN)/python -m tests.budgets --write

format: $(VENV)/.installed  ## Format the code.
	$(BIN)/ruff check --fix-only --quiet .
	$(BIN)/ruff format .

bench: $(VENV)/.installed  ## Compare run time with plain cdk8s, and with helm and kubeconform if installed.
	$(BIN)/python -m benchmarks

clean:  ## Remove the virtual environment and caches.
	rm -rf $(VENV) build dist .mypy_cache .ruff_cache .pytest_cache .hypothesis *.egg-info rehearsal/build rehearsal/*.egg-info
