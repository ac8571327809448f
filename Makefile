# Everything a person or a machine runs. Each target sets up what it needs; a second run sets up nothing again.
.DEFAULT_GOAL := help
SHELL := /bin/bash
.SHELLFLAGS := -euo pipefail -c
# While mypy reads the sources on one core, the other collects the tests, archives classes and compiles the packer.
MAKEFLAGS += --jobs=2

PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
RUN_READY := $(VENV)/.run-ready
DEV_READY := $(VENV)/.dev-ready
PACKER_READY := $(VENV)/.packer-ready
JAVA_READY := $(VENV)/.java-ready
JARS_READY := $(VENV)/.jars-ready
# Three workers for two cores: live tests wait most of their time. A fourth gains nothing. tests/conftest.py says which tests stay together.
# Bytecode is kept, also where PYTHONDONTWRITEBYTECODE is set: else each process would compile the tests anew.
PYTEST := PYTHONDONTWRITEBYTECODE= $(BIN)/python -m pytest --numprocesses 3 --no-loadscope-reorder
# Tests start hundreds of processes. Where PYTHONDONTWRITEBYTECODE is set, each would compile every module anew (0.6 s of CPU).
COMPILE := $(BIN)/python -m compileall -q src
SOURCES := src tests bench scripts examples

.PHONY: help demo quick test collected soak lint check page servers kubernetes prometheus registry s3 chromium format docs bench screenshots lock clean

help: ## List the targets
	@awk -F ':.*## ' '/^[a-z0-9-]+:.*## / {printf "  make %-11s %s\n", $$1, $$2}' $(MAKEFILE_LIST)

demo: $(JARS_READY) $(PACKER_READY) ## Set up and run the main job: a whole group on Spark under a changing load, audited
	$(BIN)/restow demo --for 4m

# The loop while one works. What has a marker needs a server, or more than a few seconds.
# (Not through $(MAKE): make runs such a recipe even with -n, and a test of the README calls `make -n quick`.)
quick: BEGUN := $(shell date +%s)
quick: lint $(PACKER_READY) ## Lint, types and every test that needs no broker, Spark or Kubernetes (a minute)
	@$(COMPILE)
	@TESTS_SAMPLE=yes $(PYTEST) -q -m 'not kafka and not spark and not kubernetes and not slow'
	@echo "make quick took $$(($$(date +%s) - $(BEGUN))) s"

test: lint page collected $(JARS_READY) $(PACKER_READY) servers ## Set up and pass every test
	@$(COMPILE)
	$(PYTEST)

# Pytest rewrites the assertions of every test file. Done once, beside mypy, and kept: else each worker would, for 14 s of CPU.
# What can't be collected is shown by the workers.
collected: $(DEV_READY)
	@$(COMPILE)
	@PYTHONDONTWRITEBYTECODE= $(BIN)/python -m pytest --collect-only --quiet --quiet > /dev/null || true

soak: $(DEV_READY) $(JARS_READY) $(PACKER_READY) ## Strike every part of a group again and again, and audit it (KILLS=100; SEED=7; PIPELINE=light)
	$(BIN)/python -m tests.soak.soak $(if $(SEED),--seed $(SEED)) $(if $(KILLS),--kills $(KILLS)) $(if $(PIPELINE),--pipeline $(PIPELINE))

lint: $(DEV_READY) ## Lint and types (mypy strict)
	$(BIN)/ruff check $(SOURCES)
	$(BIN)/ruff format --check $(SOURCES)
	$(BIN)/mypy

check: lint page ## Lint, types (the page's too, where node is at hand) and the import rules
	$(BIN)/python -m pytest -q tests/test_imports.py

page:
	scripts/check-page

# Looked for each time, which takes a moment: what could not be had yesterday may be in reach today.
KUBERNETES := $(BIN)/python -m tests.support.kubernetes.cluster.tools
PROMETHEUS := $(BIN)/python -m tests.support.prometheus
REGISTRY := $(BIN)/python -m tests.support.registry
S3 := $(BIN)/python -m tests.support.s3.store
CHROMIUM := scripts/need-chromium

# One after the other: some of them install packages, as Java's script does, and share a Go toolchain.
servers: $(DEV_READY) $(JARS_READY)
	$(KUBERNETES)
	$(PROMETHEUS)
	$(REGISTRY)
	$(S3)
	$(CHROMIUM)

kubernetes: $(DEV_READY) ## Build and install the Kubernetes that tests run on, once (five minutes)
	$(KUBERNETES)

prometheus: $(DEV_READY) ## Fetch the Prometheus that tests scrape with, once
	$(PROMETHEUS)

registry: $(DEV_READY) $(JARS_READY) ## Fetch the schema registry that tests use, once
	$(REGISTRY)

s3: $(DEV_READY) ## Build the S3 server that tests use, once (two minutes)
	$(S3)

chromium: ## Install the browser in which tests look at the page, where that is possible
	$(CHROMIUM)

format: $(DEV_READY) ## Rewrite the code in the house's format
	$(BIN)/ruff check --fix $(SOURCES)
	$(BIN)/ruff format $(SOURCES)

docs: $(RUN_READY) ## Write the pages that are made from the code
	$(BIN)/python scripts/docs.py
	$(BIN)/python scripts/picture.py

bench: $(JARS_READY) $(PACKER_READY) ## Measure decisions, a large group's simulation and a consumer's cycles, and check the packer's targets
	$(BIN)/restow bench packing
	$(BIN)/python bench/targets.py
	$(BIN)/python bench/large_groups.py
	$(BIN)/python bench/growth.py
	$(BIN)/python bench/growth.py --largest
	$(BIN)/python -m bench.scale
	$(BIN)/python bench/event_log.py
	$(BIN)/python bench/picture.py
	$(BIN)/python bench/cycle.py
	$(BIN)/python -m bench.discarded_code
	$(BIN)/python -m bench.page

screenshots: $(DEV_READY) $(JARS_READY) $(PACKER_READY) ## Run the demo and photograph its page for the README (five minutes)
	$(CHROMIUM)
	$(BIN)/python -m scripts.screenshots

lock: $(DEV_READY) ## Resolve pyproject.toml anew into requirements/*.txt
	$(BIN)/python scripts/lock.py

clean: ## Remove what the targets above made
	rm -rf $(VENV) out .mypy_cache .ruff_cache .pytest_cache .hypothesis

$(BIN)/python:
	PYTHON=$(PYTHON) scripts/make-venv $(VENV)

$(JAVA_READY): | $(BIN)/python
	scripts/need-java
	touch $@

# Fetches the jars of Kafka and of Spark's Kafka connector, once; afterwards neither needs a network. Then archives the
# classes of both, so that they start sooner.
$(JARS_READY): src/restow/java/jars.py src/restow/java/class_data.py src/restow/pipeline/spark/jars.py src/restow/pipeline/spark/class_archive.py $(RUN_READY) | $(JAVA_READY)
	$(BIN)/python -m restow.java
	$(BIN)/python -m restow.kafka.embedded.build_archive
	$(BIN)/python -m restow.pipeline.spark.jars
	$(BIN)/python -m restow.pipeline.spark.build_archive
	touch $@

# --require-hashes: a fresh machine gets, byte for byte, what was tested.
$(RUN_READY): requirements/run.txt pyproject.toml | $(BIN)/python
	$(BIN)/python -m pip install --quiet --disable-pip-version-check --require-hashes -r requirements/run.txt
	$(BIN)/python -m pip install --quiet --disable-pip-version-check --no-deps --editable .
	touch $@

# Kept beside the source, by its fingerprint: an update compiles again, here, and not when somebody waits for a decision.
$(PACKER_READY): $(RUN_READY) $(wildcard src/restow/packing/*.py)
	@echo 'Compiling the packer, once (half a minute), so that no decision has to wait for it.'
	$(BIN)/python -c 'from restow.packing import warm_up; warm_up()'
	touch $@

$(DEV_READY): requirements/dev.txt $(RUN_READY)
	$(BIN)/python -m pip install --quiet --disable-pip-version-check --require-hashes -r requirements/dev.txt
	touch $@
