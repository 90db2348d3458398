# One-word tasks. `make demo` and `make test` are all that a fresh machine needs.
.DEFAULT_GOAL := help
.PHONY: defects docs site notebooks fuzz reliability help messages demo probe-meanwhile test test-all test-lab nightly weekly benchmarks lint format types check mutants probe wheel schema clean benchmark-%

VENV   := .venv
BIN    := $(VENV)/bin
PYTHON ?= python3
export PYTHONDONTWRITEBYTECODE ?=

help: ## this list
	@sed -n 's/^\([a-z%-]*\):.*## \(.*\)/  make \1\t\2/p' $(MAKEFILE_LIST) | expand -t 24

demo: ## set up, build the probe, measure matrices/loopback.yaml, print the table
	@$(MAKE) --no-print-directory --jobs 2 $(VENV)/runs probe-meanwhile
	@$(BIN)/python -m netlab run matrices/loopback.yaml

probe-meanwhile:   # what keeps it from being built is said by the run
	@$(MAKE) --no-print-directory -C probes >/dev/null 2>&1 || true

# The slowest are named, so that the budgets of docs/testing.md stay in sight.
SLOWEST = --durations 10 --durations-min 2
PARALLEL = --numprocesses auto --dist loadfile
PYTEST = $(BIN)/python -m pytest

test: $(VENV)/tests probe ## set up and run the tests that need no root, no lab and no waiting, and one measurement
	@status=0; \
	$(PYTEST) --kinds unit,agents $(PARALLEL) $(SLOWEST) || status=$$?; \
	$(PYTEST) tests/docs/test_readme.py --kinds demo || status=$$?; \
	exit $$status

test-lab: $(VENV)/further probe ## real probes, SSH servers, labs, wine, browsers: as root, with all that tests/suites/needs.py names
	@status=0; \
	$(PYTEST) --kinds lab --alone no $(PARALLEL) $(SLOWEST) || status=$$?; \
	$(PYTEST) --kinds lab --alone yes $(SLOWEST) || status=$$?; \
	exit $$status

test-all: test test-lab ## every test that this machine can run, those of the night and the week among them
	@$(PYTEST) --kinds night,week $(SLOWEST)

nightly: $(VENV)/further probe ## what judges this machine or takes long, an hour at most: the table in docs/night.md
	@$(BIN)/python -m benchmarks.night night $(WITH)

weekly: $(VENV)/week probe ## what takes longer than an hour: the other table in docs/night.md
	@$(BIN)/python -m benchmarks.night week $(WITH)

reliability: $(VENV)/further probe ## what is done to a run, and what becomes of it: docs/reliability.md
	@mkdir -p build
	@$(BIN)/python -m pytest tests/faults -o junit_family=xunit1 --junitxml build/reliability.xml $(SLOWEST); status=$$?; \
	$(BIN)/python docs/scripts/reliability.py build/reliability.xml; exit $$status

FUZZ_SECONDS = 3600
FUZZ_RUNS = 1000000
fuzz: $(VENV)/fuzz ## try every reader with made-up inputs: 10^6 or an hour each (FUZZ_SECONDS=60, TARGETS=journal)
	@$(BIN)/python tests/fuzz/fuzzing.py $(TARGETS) --seconds $(FUZZ_SECONDS) --runs $(FUZZ_RUNS)

lint: $(VENV)/tests ## formatter, linter, and who may import whom; changing nothing
	@$(BIN)/ruff format --check .
	@$(BIN)/ruff check .
	@$(BIN)/lint-imports --no-cache --config pyproject.toml

types: $(VENV)/tests ## type checker, strict
	@$(BIN)/mypy

format: $(VENV)/tests ## put every file in order
	@$(BIN)/ruff format .
	@$(BIN)/ruff check --fix .

check: lint types test test-lab ## what CI runs

probe: ## build the probe for this machine
	@$(MAKE) --no-print-directory -C probes

wheel: $(VENV)/cross ## dist/…whl with the probe for every system in it: its user needs no compiler
	@rm -rf build/wheel && mkdir -p build/wheel
	@cp -R netlab matrices pyproject.toml README.md LICENSE build/wheel
	@mkdir -p build/wheel/docs/man && cp docs/man/netlab.1 build/wheel/docs/man
	@$(BIN)/python -m netlab probes build --all --into build/wheel/netlab/probes
	@$(BIN)/python -m pip wheel --quiet --disable-pip-version-check --no-deps --wheel-dir dist ./build/wheel

schema: $(VENV)/runs ## write netlab/matrix.schema.json anew
	@$(BIN)/python -m netlab.config.schema

benchmark-%: $(VENV)/tests ## set-up, throughput, …: the figures of the README, measured here (WITH="--help" tells the options)
	@$(BIN)/python -m $(subst /,.,$(basename $(or $(wildcard benchmarks/*/$(subst -,_,$*).py),$(error there is no benchmark $*)))) $(WITH)

benchmarks: $(VENV)/tests probe ## those whose figures are compared, one after the other: the table of one day in docs/benchmarks.md
	@$(BIN)/python -m benchmarks.one_day

mutants: $(VENV)/mutants ## alter the arithmetic, a small fault at a time, and count what its tests find: an hour
	@rm -rf mutants
	@env -u PYTHONPATH $(BIN)/mutmut run netlab.ethernet.x_above_tolerance__mutmut_1  # makes all, tries one
	@env -u PYTHONPATH $(BIN)/python -m benchmarks.truth.tried_mutants
	@$(BIN)/python -m benchmarks.truth.mutants

defects: $(VENV)/further probe ## plant the defects of benchmarks/defects/list.json, one at a time, and count what the tests find: as root, hours
	@$(BIN)/python -m benchmarks.defects try

messages: $(VENV)/tests ## collect the texts of reports into the catalogues of other languages (LANGUAGE=fr begins one)
	@$(BIN)/python docs/scripts/messages.py $(LANGUAGE)

docs: $(VENV)/runs ## bring the list of packages, what produced each finding, the drawing and the manual page up to date
	@$(BIN)/python docs/scripts/code_map.py
	@$(BIN)/python docs/scripts/findings_produced.py
	@$(BIN)/python docs/scripts/man_page.py

site: $(VENV)/site ## the documentation as a site, every link in it followed: build/site/index.html
	@NO_MKDOCS_2_WARNING=1 $(BIN)/mkdocs build --strict --config-file docs/site/mkdocs.yml
	@echo build/site/index.html

notebooks: $(VENV)/tests ## execute the notebooks of the documentation, and keep what their cells answer
	@$(BIN)/python docs/scripts/notebook.py

clean: ## remove what was built; runs/ stays
	@rm -rf $(VENV) build dist mutants *.egg-info
	@$(MAKE) --no-print-directory -C probes clean

# Stamps: what a run needs, and what the tests and the probes of other systems need beyond.
$(VENV)/runs: pyproject.toml .ci/set-up
	@PYTHON="$(PYTHON)" .ci/set-up "$(VENV)" "."
	@touch $@

$(VENV)/tests: pyproject.toml .ci/set-up
	@PYTHON="$(PYTHON)" .ci/set-up "$(VENV)" ".[dev]"
	@touch $(VENV)/runs $@

$(VENV)/further: pyproject.toml .ci/set-up
	@PYTHON="$(PYTHON)" .ci/set-up "$(VENV)" ".[dev,cluster,cross,dataframe,history,parquet,scan,site,installers]"
	@touch $(VENV)/runs $(VENV)/tests $(VENV)/cross $(VENV)/site $@

$(VENV)/week: pyproject.toml .ci/set-up
	@PYTHON="$(PYTHON)" .ci/set-up "$(VENV)" ".[dev,cluster,cross,dataframe,fuzz,history,installers,mutants,parquet,scan,site]"
	@touch $(VENV)/runs $(VENV)/tests $(VENV)/cross $(VENV)/further $(VENV)/fuzz $(VENV)/mutants $(VENV)/site $@

$(VENV)/site: pyproject.toml .ci/set-up
	@PYTHON="$(PYTHON)" .ci/set-up "$(VENV)" ".[site]"
	@touch $(VENV)/runs $@

$(VENV)/cross: pyproject.toml .ci/set-up
	@PYTHON="$(PYTHON)" .ci/set-up "$(VENV)" ".[cross]"
	@touch $(VENV)/runs $@

$(VENV)/fuzz: pyproject.toml .ci/set-up
	@PYTHON="$(PYTHON)" .ci/set-up "$(VENV)" ".[dev,fuzz]"
	@touch $(VENV)/runs $(VENV)/tests $@

$(VENV)/mutants: pyproject.toml .ci/set-up
	@PYTHON="$(PYTHON)" .ci/set-up "$(VENV)" ".[dev,mutants]"
	@touch $(VENV)/runs $(VENV)/tests $@
