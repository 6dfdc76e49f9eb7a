# `make help` lists the targets. Every target that needs the toolchain sets it up first; when it is there, that takes a
# moment.
SHELL := /bin/bash
.DEFAULT_GOAL := help
export PATH := $(CURDIR)/.toolchain/bin:$(CURDIR)/.toolchain/venv/bin:$(PATH)
SEED ?= 1
AGENT ?= examples/orders-desk/agent.yaml
# The total time of a demo counts what is installed and built before it.
SINCE := $(shell date +%s)

.PHONY: help setup build demo world check check-world test e2e bench figures faults chaos sbom audit cluster \
  cluster-down test-cluster test-vllm test-targets test-frameworks lint format clean clean-all

help: ## list the targets
	@awk -F ':.*## ' '/^[a-z0-9-]+:.*## /{printf "  make %-12s %s\n", $$1, $$2}' $(MAKEFILE_LIST)

setup: ## install what is missing: Node 24, npm and Python packages, Temporal, the jail
	@scripts/setup.sh

build: setup ## compile TypeScript and bundle the workflows
	@scripts/build.sh

demo: build ## one improvement run of the demo agent: make demo [SEED=1] [KEEP=1]
	@./whet demo $(AGENT) --seed $(SEED) --since $(SINCE) $(if $(KEEP),--keep)

world: build ## one improvement run of a world of examples/worlds: make world NAME=venue-desk [SEED=1] [KEEP=1]
	@./whet demo examples/worlds/$(NAME)/agent.yaml --seed $(SEED) --since $(SINCE) $(if $(KEEP),--keep)

check-world: build ## whether a world is well made, without a model: make check-world NAME=venue-desk
	@python examples/shared/check_world.py examples/worlds/$(NAME)

check: setup ## format, lint, types, unused, sizes, commit messages, ruff of what changed: make check [BASE=REV]
	@scripts/check.sh $(BASE)

test: ## every check and every test
	@scripts/test.sh

e2e: build ## the tiny configuration end to end on the real Temporal server
	@WHET_E2E=1 npx --no-install jest test/e2e

bench: build ## one measurement: make bench NAME=train
	@scripts/bench.sh $(NAME)

figures: build ## run one measurement and write its rows of docs/measured.md: make figures NAME=gate [ARGS=...]
	@node --enable-source-maps dist/scripts/figures.js $(NAME) $(ARGS)

faults: build ## kill each process once in the middle of its stage and compare with an undisturbed run
	@test/faults/kill
	@test/faults/owner-kills

chaos: build ## disturb runs at random and compare: make chaos [CHAOS='--runs 3 --faults kill,stop --seed 1']
	@test/faults/chaos $(CHAOS)

sbom: setup ## what a release consists of, as CycloneDX, from the lock files
	@scripts/sbom.sh

audit: setup ## known vulnerabilities of what is locked; needs registries that answer with advisories
	@scripts/audit.sh

cluster: ## a real Kubernetes of one node here, with the trainer image in it (root; the first time takes minutes)
	@scripts/cluster.sh up && scripts/cluster.sh image

cluster-down: ## end it
	@scripts/cluster.sh down

test-cluster: build ## training as Jobs in a real cluster, every way to get stuck; with KUBECONFIG set, in that one
	@scripts/test-cluster.sh

test-vllm: setup ## trainer and gateway against a real vLLM, installed into .toolchain/vllm the first time (6 GB)
	@scripts/test-vllm.sh

test-targets: setup ## the environment kinds of others, such as tau2, installed the first time (2 GB)
	@scripts/test-targets.sh

test-frameworks: setup ## the orders desk as agents of frameworks, installed the first time (220 MB)
	@scripts/test-frameworks.sh

lint: setup ## check and correct style and types
	@npm run --silent lint && npm run --silent types:check && ruff check --fix .

format: setup ## format TypeScript, Markdown, YAML and Python
	@npm run --silent format && ruff format .

clean: ## stop what `whet up` started; remove what was built, not what was installed
	@if [ -e dist/cli/main.js ]; then ./whet down; fi
	rm -rf dist coverage .pytest_cache .ruff_cache

clean-all: ## say what this checkout made and installed, with sizes, and remove it: make clean-all [YES=1] [CACHES=1]
	@YES=$(YES) CACHES=$(CACHES) scripts/clean-all.sh
