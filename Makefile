# Tieout: `make serve` and `make test` are the two commands; each is complete on a fresh machine with Python >= 3.11.

PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
DEMO := instances/demo
ROWS ?= 150000
MINUTES ?= 30
unexport PYTHONDONTWRITEBYTECODE  # where it is set, each process that a test starts compiles the service anew
NPM := $(shell command -v npm 2>/dev/null)
SUITES := tests/conformance tests/identity
BEYOND := conformance identity integration/browser integration/installed integration/stack oracles  # of tests/, in test-all alone
PYTEST = $(BIN)/python -m pytest -n 4 --dist loadfile --no-loadscope-reorder --durations=25
VERSION = $(shell sed -n 's/^version = "\(.*\)"/\1/p' pyproject.toml)
WHEEL = dist/tieout-$(VERSION)-py3-none-any.whl
MCPB := bundle/node_modules/.bin/mcpb

.PHONY: wheel bundle widgets screenshots goldens audit secrets serve test test-all test-beyond test-deep test-mutations lint bench verify-upgrade schemas docs gallery constraints ci-deps clean
.DELETE_ON_ERROR:

serve: $(VENV)/runtime.done $(DEMO)/.tieout/store/CURRENT  ## serve the demo books to MCP clients on this machine
	$(if $(NPM),-@$(MAKE) --silent widgets)
	$(BIN)/tieout serve --instance $(DEMO)

test: lint $(if $(NPM),widgets)  ## lint, types, architecture and every test but those of test-all
	$(PYTEST) $(BEYOND:%=--ignore=tests/%)

test-all: lint $(SUITES:=/node.done) bundle/node.done $(if $(NPM),widgets)  ## also the browser, conformance, logins, the installed wheel, the stack and real books; the laws on more books
	HYPOTHESIS_PROFILE=whole $(PYTEST)

test-beyond: $(SUITES:=/node.done) bundle/node.done $(if $(NPM),widgets)  ## what test-all has beyond test, and the tests that the file SKIPPED names
	$(if $(NPM),cd widgets && $(NPM) run --silent check)
	HYPOTHESIS_PROFILE=whole $(PYTEST) $(BEYOND:%=tests/%) $(SKIPPED:%=@%)

test-deep: $(VENV)/dev.done $(SUITES:=/node.done) bundle/node.done $(if $(NPM),widgets)  ## each part of the deep tests for MINUTES; PARTS="laws kills" chooses
	$(BIN)/python -m tests.deep $(MINUTES) $(PARTS)

test-mutations: $(VENV)/dev.done  ## break each rule of the figures on its own: a test must fail every time
	$(BIN)/python -m tests.mutations

wheel: $(VENV)/runtime.done $(if $(NPM),widgets)  ## one wheel in dist, with the views, the migrations and the demo
	$(BIN)/python -m hatchling build -t wheel -d dist

bundle: wheel $(VENV)/dev.done bundle/node.done  ## one .mcpb in dist, for desktop hosts; takes Node
	$(BIN)/python scripts/bundle.py $(WHEEL) dist/bundle
	$(BIN)/uv lock --quiet --directory dist/bundle --python $(abspath $(BIN))/python
	$(BIN)/python scripts/bundle.py --check dist/bundle
	$(MCPB) validate dist/bundle/manifest.json
	$(MCPB) pack dist/bundle dist/tieout-$(VERSION).mcpb

widgets: widgets/dist/built  ## the views of results that MCP hosts show; takes Node

screenshots: widgets $(VENV)/dev.done  ## the pictures of the documentation, taken anew; takes Chromium
	PICTURES=$(CURDIR)/docs/screenshots $(BIN)/python -m pytest -q tests/integration/browser -k pictures

widgets/dist/built: widgets/node.done $(shell find widgets -name node_modules -prune -o -name dist -prune -o -type f -print)
	@echo "building the views …"
	cd widgets && node build.mjs
	touch $@

lint: $(VENV)/dev.done $(if $(NPM),widgets/node.done)
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy
	$(BIN)/lint-imports --no-cache
	$(BIN)/python -m scripts.class_sizes
	$(if $(NPM),cd widgets && $(NPM) run --silent check)

bench: $(VENV)/dev.done  ## the benches at their stated sizes; see benches/README.md
	$(BIN)/python -m benches

verify-upgrade: $(VENV)/runtime.done  ## verify the running stack step by step; ARGS="--help" tells what it takes
	$(BIN)/python -m scripts.verify_upgrade $(ARGS)

goldens: $(VENV)/dev.done  ## write what the views are tested on anew, from what the engine answers, and what hosts list
	GOLDENS=write $(BIN)/python -m pytest -q tests/unit/engine/present/test_table.py tests/unit/engine/present/test_grid.py \
	  tests/integration/server/test_listed_tools.py

schemas: $(VENV)/runtime.done  ## write the JSON Schemas of an instance's files for editors
	$(BIN)/python scripts/schemas.py

gallery: $(VENV)/runtime.done $(DEMO)/.tieout/store/CURRENT  ## draw the charts of the demo for docs/gallery.md
	$(BIN)/python -m scripts.gallery

docs: schemas $(VENV)/dev.done  ## write what the documentation takes out of the code
	$(BIN)/python scripts/settings_table.py
	$(BIN)/python -m scripts.tools_page
	$(BIN)/python -m scripts.agents_page

secrets: $(VENV)/dev.done  ## write down what looks like a secret and was looked at
	PYTHONPATH=. $(BIN)/python scripts/known_secrets.py

audit: $(VENV)/dev.done  ## known faults of the packages; asks the advisory databases of both registries
	$(BIN)/uv tool run pip-audit==2.10.1 -r constraints/runtime.txt --disable-pip --require-hashes
	for suite in $(SUITES) bundle widgets; do $(NPM) audit --prefix $$suite || exit 1; done

constraints: $(VENV)/dev.done  ## resolve every dependency anew, with hashes
	$(BIN)/uv pip compile pyproject.toml --extra install $(RESOLVE) -o constraints/runtime.txt
	$(BIN)/uv pip compile pyproject.toml --extra install --extra dev -c constraints/runtime.txt $(RESOLVE) -o constraints/dev.txt
	$(BIN)/uv pip compile pyproject.toml $(SOURCES:%=--extra %) -c constraints/runtime.txt -c constraints/dev.txt $(RESOLVE) -o constraints/sources.txt
	$(BIN)/uv pip compile pyproject.toml --extra deep -c constraints/runtime.txt -c constraints/dev.txt -c constraints/sources.txt $(RESOLVE) -o constraints/deep.txt
	$(BIN)/uv pip compile pyproject.toml --extra spark -c constraints/runtime.txt -c constraints/dev.txt -c constraints/sources.txt -c constraints/deep.txt $(RESOLVE) -o constraints/spark.txt

SOURCES := duckdb flightsql snowflake bigquery clickhouse

RESOLVE := --universal --python-version 3.11 --generate-hashes --no-emit-index-url --no-annotate --upgrade --quiet \
	--custom-compile-command "make constraints"

# RUNLEVEL=1 keeps Debian from starting the servers that it installs: the tests start their own
APT := apt-get update && RUNLEVEL=1 DEBIAN_FRONTEND=noninteractive apt-get install -y --no-install-recommends

ci-deps:  ## what the tests take beyond pip and npm, from Debian
	command -v npm >/dev/null || ($(APT) nodejs npm)
	(command -v nginx && command -v openssl) >/dev/null || ($(APT) nginx-light openssl)
	command -v redis-server >/dev/null || ($(APT) redis-server)
	command -v soffice >/dev/null || ($(APT) libreoffice-calc-nogui)
	command -v faketime >/dev/null || ($(APT) faketime)
	command -v chromium >/dev/null || ($(APT) chromium fonts-liberation)
	(command -v dockerd && command -v debootstrap && command -v slirp4netns && command -v ip) >/dev/null || ($(APT) docker.io debootstrap slirp4netns iproute2)
	ls /usr/lib/postgresql/*/bin/postgres >/dev/null 2>&1 || ($(APT) postgresql)

clean:
	rm -rf $(VENV) $(SUITES:=/node_modules) $(SUITES:=/node.done) bundle/node_modules bundle/node.done dist widgets/node_modules widgets/node.done widgets/dist $(DEMO)/.tieout $(DEMO)/data

$(VENV)/pyvenv.cfg:
	$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11) and "Tieout needs Python 3.11 or newer")'
	$(PYTHON) -m venv $(VENV)

$(VENV)/%.done: constraints/%.txt pyproject.toml | $(VENV)/pyvenv.cfg
	@echo "installing Python packages into $(VENV) …"
	$(BIN)/pip install --quiet --disable-pip-version-check --require-hashes -r $<
	$(BIN)/pip install --quiet --disable-pip-version-check --no-deps --no-build-isolation --editable .
	touch $@

$(DEMO)/.tieout/store/CURRENT: $(wildcard $(DEMO)/*.py $(DEMO)/generator/*.py) | $(VENV)/runtime.done
	$(BIN)/python $(DEMO)/generate.py --rows $(ROWS)
	$(BIN)/tieout load --instance $(DEMO)

NPM_QUIETLY := --loglevel=error --no-audit --no-fund --no-update-notifier  # --silent would hide why it fails

%/node.done: %/package-lock.json
ifdef NPM
	@echo "installing the packages of $* …"
	$(NPM) ci $(NPM_QUIETLY) --prefix $* --ignore-scripts
	touch $@
else
	@echo "npm is not here: the tests of $* will be skipped"
endif
