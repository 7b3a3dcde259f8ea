# make run: a working stack on this machine. make test: everything that CI runs. The README says more.

SHELL := /bin/bash
VENV := .venv/bin
SOURCES := files/telebrowser/src plugins tests scripts
PYTEST_ARGS ?=
SCENARIOS ?=
FUZZ_EXAMPLES ?= 20000

.DEFAULT_GOAL := help
.PHONY: help run down packages venv view venv-dev test test-ansible molecule ansible-matrix fuzz unit lint format docs lock bench clean

help: ## Show this list
	@sed -n 's/^\([a-z-]*\):.*## \(.*\)/make \1\t\2/p' $(MAKEFILE_LIST) | expand -t 18

run: packages venv ## Start the stack, check it with a real browser, print the clients' configuration
	@$(VENV)/telebrowser up
	@$(VENV)/telebrowser doctor --live
	@$(VENV)/telebrowser config

down: ## Stop the stack; browsers close in order, with their cookies saved
	@if [ -x $(VENV)/telebrowser ]; then $(VENV)/telebrowser down; fi

packages: ## Install the Debian packages that are missing (as root), or print the line that does it
	@scripts/packages.sh

venv: ## Create .venv from the hashed lock
	@scripts/venv.sh

view: packages ## Create .venv-view with Selkies, for the view of the whole desktop (TELEBROWSER_SELKIES_PYTHON)
	@scripts/view.sh

venv-dev:
	@scripts/venv.sh dev

test: packages lint ## Everything that CI runs: lint, then all tests on real browsers (SCENARIOS: molecule scenarios to deploy as well, as root)
	@scripts/clients.sh
	@scripts/view.sh
	@scripts/ansible_gate.sh
	@SCENARIOS="$(SCENARIOS)" scripts/test.sh $(PYTEST_ARGS)

test-ansible: packages venv-dev ## The Ansible collection: lint, docs, sanity, units, tarball, modules on a real stack (ARGS: only these steps)
	@scripts/ansible_gate.sh $(ARGS)

molecule: ## Deploy the collection on the Docker Engine of this machine, and tear it down again (as root; ARGS: only these scenarios)
	@scripts/molecule.sh $(ARGS)

ansible-matrix: packages venv-dev ## The collection on each release of ansible-core and each Python of hosts that is at hand
	@scripts/ansible_matrix.sh $(ARGS)

fuzz: venv-dev ## Random traffic against the session filter for longer: FUZZ_EXAMPLES conversations of 80 messages
	@FUZZ_EXAMPLES=$(FUZZ_EXAMPLES) $(VENV)/python -m pytest tests/unit/gateway/test_fuzz.py --timeout 0 $(PYTEST_ARGS)

unit: venv-dev ## The tests that need neither a browser nor a socket
	@$(VENV)/python -m pytest tests/unit $(PYTEST_ARGS)

lint: venv-dev ## ruff, ruff format and mypy --strict
	@$(VENV)/ruff check $(SOURCES)
	@$(VENV)/ruff format --check $(SOURCES)
	@$(VENV)/mypy

format: venv-dev ## Let ruff format and fix the sources
	@$(VENV)/ruff format $(SOURCES)
	@$(VENV)/ruff check --fix $(SOURCES)

docs: venv-dev ## Write the parts of docs/ that come from the code
	@$(VENV)/python scripts/docs.py
	@$(VENV)/python scripts/role_docs.py

lock: ## Write the hashed locks anew from files/telebrowser/pyproject.toml (needs uv)
	@scripts/lock.sh

bench: packages venv-dev ## Measure the product beside its peers and write docs/BENCHMARKS.md (needs Node and npm)
	@$(VENV)/python -m tests.bench.run $(BENCH_ARGS)

clean: down ## Stop the stack and remove what make created; the data directory stays
	rm -rf .venv .venv-view .venv-ansible .ansible .bench build tests/clients/node_modules .pytest_cache .mypy_cache .ruff_cache
	find . -name __pycache__ -prune -exec rm -rf {} +
