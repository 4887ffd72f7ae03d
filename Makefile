# Every target sets up what it needs in .venv first. PYTHON: which Python makes it.
PYTHON ?= python3
VENV   := .venv
BIN    := $(VENV)/bin
READY  := $(VENV)/.ready

# The workflow that other projects get, written for the linters.
WRITTEN := build/out/lint/.github/workflows/lloyal-track.yml

# A test run is two processes on the two cores that a small CI machine has.
PYTEST := $(BIN)/python -m pytest
JOBS   ?= 2

.DELETE_ON_ERROR:
.PHONY: bump test test-browser check lint format bench lock clean help

help: ## these lines
	@grep -hE '^[a-z-]+:.*## ' $(MAKEFILE_LIST) | sed 's/:.*## /\t/' | expand -t 14

bump: $(READY) ## the main job on real upstream code: move the pin if the evidence allows it
	$(BIN)/lloyal-track --config archives.toml bump --to master

test: lint ## everything: the fast gate and all tests, native ones included
	$(PYTEST) -n $(JOBS) -m "not browser"

test-browser: $(READY) ## the report in a headless Chromium, installed by apt if there is none
	@command -v chromium >/dev/null || command -v google-chrome >/dev/null || { \
	  sudo=$$(test "$$(id -u)" = 0 || echo sudo); \
	  $$sudo apt-get update -qq && \
	  $$sudo apt-get install -qq -y --no-install-recommends chromium fonts-dejavu-core; }
	$(PYTEST) -m browser

check: lint ## the fast gate: format, lint, types, import contract, workflows, fast tests
	$(PYTEST) -n $(JOBS) -m "not native and not archives and not browser"

lint: $(READY)
	$(BIN)/ruff format --check .
	$(BIN)/ruff check .
	$(BIN)/mypy
	$(BIN)/lint-imports
	@mkdir -p $(dir $(WRITTEN))
	$(BIN)/python -c 'from tracker.publish.workflow import workflow; print(workflow(commit="1" * 40))' > $(WRITTEN)
	$(BIN)/zizmor --offline --pedantic --no-progress --quiet .github action.yml $(WRITTEN)
	$(BIN)/actionlint .github/workflows/*.yml $(WRITTEN)
	$(BIN)/check-jsonschema --quiet --builtin-schema vendor.github-workflows .github/workflows/*.yml $(WRITTEN)
	$(BIN)/check-jsonschema --quiet --builtin-schema vendor.github-actions action.yml
	$(BIN)/check-jsonschema --quiet --builtin-schema vendor.dependabot .github/dependabot.yml

format: $(READY) ## rewrite the sources in the house format
	$(BIN)/ruff check --fix-only .
	$(BIN)/ruff format .

bench: $(READY) ## measure; prints a table
	$(BIN)/python -m tests.bench

# The lock holds hashes for every platform and Python >= 3.11, and no index address.
lock: ## renew requirements.lock from pyproject.toml
	$(PYTHON) -m venv build/out/lock
	build/out/lock/bin/python -m pip install -q uv
	build/out/lock/bin/uv pip compile pyproject.toml --extra dev --universal --upgrade \
	  --python-version 3.11 --generate-hashes --no-header --no-annotate -q -o requirements.lock

clean: ## remove what make made: the environment, builds, the mirror; never the pin
	rm -rf $(VENV) build/out dist vendor/archives
	rm -rf .mypy_cache .ruff_cache .pytest_cache .hypothesis .import_linter_cache

# The stamp is written last, so an interrupted set-up is done again.
$(READY): requirements.lock pyproject.toml
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11))' || { \
	  echo "error: $(PYTHON) is missing or older than Python 3.11"; \
	  echo "  next: install one, or name it: make PYTHON=/path/to/python3.12"; exit 1; }
	@$(PYTHON) -c "import ensurepip" 2>/dev/null || { \
	  echo "error: $(PYTHON) has no ensurepip, so it cannot make an environment"; \
	  echo "  next: apt-get install python3-venv"; exit 1; }
	$(PYTHON) -m venv $(VENV)
	$(BIN)/python -m pip install --quiet --disable-pip-version-check --require-hashes -r requirements.lock
	$(BIN)/python -m pip install --quiet --disable-pip-version-check --no-deps --no-build-isolation --editable .
	@touch $@
