# `make help` lists the targets. Needed: Python 3.11 or newer with venv, make, the package registry.

PYTHON ?= python3
# Test processes: a number, or auto for one per core.
WORKERS ?= auto
VENV := .venv
BIN := $(VENV)/bin
READY := $(VENV)/.ready
DEBIAN_PACKAGES := chromium postgresql

.DEFAULT_GOAL := help
.DELETE_ON_ERROR:
.PHONY: help setup demo test unit test-system corpora hostile bench soak ten-times lint format lock wheel clean

help: ## list the targets
	@awk -F ':.*## ' '/^[a-z-]+:.*## / { printf "%-13s %s\n", $$1, $$2 }' Makefile

setup: $(READY) ## make .venv with everything pinned (one to three minutes, once)

# Made again when the pins or the project's metadata change.
$(READY): requirements/all.txt pyproject.toml
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11))' || \
		{ echo "Python 3.11 or newer is needed: make PYTHON=/path/to/python3 ..." >&2; exit 1; }
	@echo "Setting up $(VENV): this takes one to three minutes, once."
	$(PYTHON) -m venv $(VENV)
	$(BIN)/python -m pip install --quiet --disable-pip-version-check --require-hashes -r requirements/all.txt
	$(BIN)/python -m pip install --quiet --disable-pip-version-check --no-deps --no-build-isolation -e .
	@touch $@

demo: setup ## grade the sample class and show its table
	@isolation=$$($(BIN)/python -c 'from grader.bubblewrap import missing_piece as missing; \
		print("process" if missing() else "auto")'); \
	$(BIN)/grader grade fixtures/class --out build/demo --workers 2 --isolation $$isolation

test: lint unit ## everything that needs no Debian package: lint, types, rooms, pages, tests

unit: setup ## the tests alone
	$(BIN)/python -m pytest -n $(WORKERS) --dist loadfile -m "not system" tests

test-system: setup ## the tests that need Debian packages; installs those that are missing
	.ci/debian-packages $(DEBIAN_PACKAGES)
	$(BIN)/python -m pytest -n $(WORKERS) --dist loadfile -m system tests

corpora: setup ## grade every independent answer, right and wrong (half an hour)
	CORPORA=all CORPORA_WORKERS=2 $(BIN)/python -m pytest tests/test_independent_answers.py

hostile: setup ## every attack, three rounds by one worker and by two (an hour)
	$(BIN)/python -m tests.hostile

bench: setup ## the speed table, beside nbgrader and a plain pytest process (twenty minutes)
	$(BIN)/python -m tests.bench

soak: setup ## right programs against their error bounds, 30,000 draws (a quarter of an hour)
	$(BIN)/python -m tests.exact.soak

ten-times: setup ## the sample class graded ten times, each time otherwise (ten minutes)
	$(BIN)/python -m tests.ten_times

lint: setup ## style, format, types, imports between rooms, stale pages
	$(BIN)/ruff check
	$(BIN)/ruff format --check
	$(BIN)/mypy
	$(BIN)/lint-imports --no-logo
	$(BIN)/grader scaffolds --check

format: setup ## let ruff mend what it can
	$(BIN)/ruff check --fix
	$(BIN)/ruff format

# One version of a package for every Python, as far as there is one: the same verdicts for everybody.
# Not after setup, which waits for the lock. Where there is no .venv yet: make lock UV=uv
UV ?= $(BIN)/uv
LOCK := $(UV) pip compile pyproject.toml --no-config --universal --python-version 3.11 \
	--fork-strategy fewest --generate-hashes --no-header --quiet

lock: ## pin anew what is installed, within the ranges of pyproject.toml (LOCK_FLAGS=--upgrade: the newest)
	$(LOCK) --all-extras $(LOCK_FLAGS) --output-file requirements/all.txt
	$(LOCK) --no-annotate --constraint requirements/all.txt $(LOCK_FLAGS) --output-file requirements/student.txt

# From a copy that never held the secret rooms. The fixed date makes two builds the same bytes.
wheel: setup ## dist/*.whl, the student's package: without keys and exact answers
	@set -e; copy=$$(mktemp -d); trap 'rm -rf "$$copy"' EXIT; \
	tar -cf - --exclude=grader/keys --exclude=grader/exact --exclude=__pycache__ \
		.gitignore pyproject.toml README.md LICENSE grader | tar -xf - -C "$$copy"; \
	out=$$PWD/dist; python=$$PWD/$(BIN)/python; \
	cd "$$copy" && SOURCE_DATE_EPOCH=1577836800 $$python -m hatchling build -t wheel -d "$$out"

clean: ## remove what was built and cached; .venv stays
	rm -rf build dist .pytest_cache .mypy_cache .ruff_cache .import_linter_cache .hypothesis
	find grader tests exercises solutions -name __pycache__ -type d -prune -exec rm -rf {} +
