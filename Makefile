# kraft-spark: every target sets up what it needs by itself. `make help` lists them.
PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
READY := $(VENV)/.ready
SEED ?= 1
MINUTES ?= 10
FAULTS ?= 40
INPUTS ?= 1000000
SEEDS ?= 1000-1999
JOBS ?= 2
# The suites that start programs wait for elections and JVMs most of their time, so more than one fits on a core.
WAITING_JOBS ?= 3
NEWEST := .cache/newest
DOCS := .cache/docs
SPARK_HOME_OF_TESTS := .cache/spark
IN_GROUPS := --dist loadscope --no-loadscope-reorder
SLOWEST := --durations=20 --durations-min=5
# These suites run in the test process itself, so their coverage can be measured there at little cost.
MEASURED := $(addprefix tests/,core scenarios writers transactions codec metadata native records config security wire client backup storage runtime node metrics columns datasource)

.DEFAULT_GOAL := help
.PHONY: help setup demo test test-newest coverage check fix bench profile docs sim soak fire release lock clean

help: ## Show this list
	@awk -F ':.*## ' '/^[a-z-]+:.*## / {printf "  make %-12s %s\n", $$1, $$2}' $(MAKEFILE_LIST)

setup: $(READY) ## Make .venv from pinned versions and look for Java 17
	@echo "Ready. Next, run a first stream: $(BIN)/python -m examples.first_stream"
	@echo "The command is $(BIN)/kraft. $(BIN)/kraft doctor checks this machine."

$(READY): requirements/tools.txt pyproject.toml build_native.py $(wildcard raft/native/*.[ch]) scripts/ensure_java.sh scripts/ensure_prometheus.sh scripts/ensure_etcd.sh scripts/ensure_chromium.sh
	PYTHON=$(PYTHON) VENV=$(VENV) bash scripts/setup.sh
	@touch $@

demo: $(READY) ## Metadata changes through a quorum into Spark and back, the leader killed on the way
	$(BIN)/python -m examples.demo

test: $(READY) $(if $(CI),$(DOCS)/.ready) ## Everything that CI runs
	$(MAKE) --jobs=$(JOBS) --output-sync=line check coverage $(SPARK_HOME_OF_TESTS)/classes.jsa
	$(BIN)/pytest -n $(WAITING_JOBS) $(IN_GROUPS) $(SLOWEST) $(addprefix --ignore=,$(MEASURED))

# The processes of Spark start in half the time from this home and the archive of classes in it (see tests/conftest.py).
$(SPARK_HOME_OF_TESTS)/classes.jsa: $(READY)
	$(BIN)/python -m scripts.spark_home $(@D)
	SPARK_HOME=$(abspath $(@D)) SPARK_SUBMIT_OPTS="-XX:ArchiveClassesAtExit=$@ -XX:TieredStopAtLevel=1 -Xlog:disable" \
		$(BIN)/python -m examples.first_stream

coverage: $(READY) ## The suites that run in one process, and how much of the product they reach (floors: pyproject.toml)
	$(BIN)/pytest -n $(JOBS) $(IN_GROUPS) $(SLOWEST) --cov --cov-report= $(MEASURED)
	$(BIN)/python -m scripts.coverage_floors

scenarios: $(READY) $(SPARK_HOME_OF_TESTS)/classes.jsa ## The scenarios of Spark's Kafka suites, by number: proven, or impossible and why
	$(BIN)/python -m scripts.kafka_suites --run

test-newest: $(READY) $(NEWEST)/.ready ## The suites of `make coverage` on the newest CPython (scripts/cpython)
	$(NEWEST)/bin/python -m pytest -n $(JOBS) $(IN_GROUPS) $(MEASURED)

$(NEWEST)/.ready: requirements/tools.txt scripts/cpython/pom.xml scripts/cpython/fetch.sh
	"$$(bash scripts/cpython/fetch.sh)" -m venv --clear $(NEWEST)
	$(NEWEST)/bin/pip install --quiet --disable-pip-version-check -r requirements/tools.txt
	@touch $@

bench: $(READY) ## Beside Kafka and etcd, into benchmarks/results: make bench ONLY=sink,append BASELINE=../before
	bash scripts/ensure_etcd.sh || true
	$(BIN)/python -m benchmarks.run $(if $(ONLY),--only $(ONLY)) $(if $(BASELINE),--baseline $(BASELINE))

profile: $(READY) ## Where the time of appends, columns and codec goes, and what alternatives to decisions cost
	$(BIN)/python -m benchmarks.append
	$(BIN)/python -m benchmarks.columns
	$(BIN)/python -m benchmarks.codec
	$(BIN)/python -m benchmarks.decisions

docs: $(DOCS)/.ready ## The documentation as a site, into .cache/docs/site; a link that leads nowhere is an error
	NO_MKDOCS_2_WARNING=1 $(DOCS)/venv/bin/python -m mkdocs build --site-dir $(abspath $(DOCS)/site)
	@echo "The first page is $(DOCS)/site/index.html"

$(DOCS)/.ready: requirements/docs.txt
	$(PYTHON) -m venv --clear $(DOCS)/venv
	$(DOCS)/venv/bin/pip install --quiet --disable-pip-version-check -r requirements/docs.txt
	@touch $@

sim: $(READY) ## Replay one run of the simulator and print its log: make sim SEED=7
	$(BIN)/python -m tests.simulation --seed $(SEED)

soak: $(READY) ## Real nodes under faults and attack, random bytes, simulated runs: make soak MINUTES=10 INPUTS=1000000 SEEDS=1000-1999
	$(BIN)/python -m tests.soak --minutes $(MINUTES) --seed $(SEED)
	$(BIN)/python -m tests.soak --minutes $(MINUTES) --seed $(SEED) --compact
	$(BIN)/python -m tests.fire --faults 4 --seed $(SEED)
	[ "$$(id -u)" != 0 ] || $(BIN)/python -m tests.disk_faults --seed $(SEED)
	$(BIN)/python -m tests.hostile --seconds 20 --seed $(SEED)
	$(BIN)/python -m tests.hostile --seconds 20 --seed $(SEED) --neighbour stranger
	$(BIN)/python -m tests.hostile --seconds 20 --seed $(SEED) --neighbour client
	$(BIN)/python -m tests.hostile --seconds 20 --seed $(SEED) --neighbour observer
	$(BIN)/python -m tests.fuzz --inputs $(INPUTS) --seed $(SEED)
	$(BIN)/python -m tests.simulation --seeds $(SEEDS)

fire: $(READY) $(SPARK_HOME_OF_TESTS)/classes.jsa ## A stream between two quorums while everything is killed, frozen and cut off: make fire FAULTS=40 SEED=7
	$(BIN)/python -m tests.fire --faults $(FAULTS) --seed $(SEED)

check: $(READY) ## Style, types and import rules; reads only
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy
	$(BIN)/lint-imports

fix: $(READY) ## Mend what ruff can mend by itself
	$(BIN)/ruff check --fix .
	$(BIN)/ruff format .

release: check ## The source distribution and wheels into dist/, checked, and one tried; uploads nothing
	$(BIN)/python -m scripts.release

clean: ## Remove everything that make made
	rm -rf $(VENV) .cache .coverage benchmarks/work .mypy_cache .pytest_cache .ruff_cache .import_linter_cache .grimp_cache .hypothesis build dist
	rm -f raft/native/libkraft.*
	find . -name __pycache__ -type d -prune -exec rm -rf {} +

lock: ## Write requirements/tools.txt and docs.txt anew from tools.in and docs.in
	for name in tools docs; do \
		$(PYTHON) -m venv --clear .cache/lock && .cache/lock/bin/pip install --quiet -r requirements/$$name.in && \
		.cache/lock/bin/pip freeze > requirements/$$name.txt || exit 1; \
	done; rm -rf .cache/lock
