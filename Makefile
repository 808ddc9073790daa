# What a person types and what CI runs are the same targets.
PYTHON ?= python3.11
VENV := .venv
BIN := $(VENV)/bin
export DBT_SEND_ANONYMOUS_USAGE_STATS = false

.DEFAULT_GOAL := help
.PHONY: help setup demo demo-kafka build models models-check docs test unit property property-long \
        golden test-kafka test-package test-cluster test-delta \
        lint format types verify cases chaos fuzz bench bench-parse bench-memory bench-models bench-histories bench-tables \
        bench-layouts profile clean

help: ## List the targets
	@grep -E '^[a-z-]+:.*## ' $(MAKEFILE_LIST) | sed -E 's/:.*## /\t/' | expand -t 16

# A fresh virtual environment needs new build tools before pyspark installs.
$(VENV)/.ready: pyproject.toml constraints.txt
	@command -v $(PYTHON) >/dev/null || { echo "Python 3.11 is missing: expected $(PYTHON) on the PATH (or: make PYTHON=...)"; exit 1; }
	$(PYTHON) -m venv $(VENV)
	$(BIN)/pip install --quiet --upgrade pip wheel setuptools
	$(BIN)/pip install --quiet --constraint constraints.txt --editable '.[dev]'
	@touch $@

setup: $(VENV)/.ready ## Make the virtual environment from the constraints

demo: setup ## Land the sample shop, build its tables, show a summary and the docs' place
	$(BIN)/dbt build
	$(BIN)/dbt docs generate --quiet
	$(BIN)/changefold summary

demo-kafka: setup ## The sample shop through a real Kafka: builds while a producer writes
	$(BIN)/changefold demo-kafka

build: setup ## dbt build on the sample topics
	$(BIN)/dbt build

models: setup ## Write the models of the topics' tables
	$(BIN)/changefold models

models-check: setup ## Fail if a generated model is stale
	$(BIN)/changefold models --check

docs: setup ## Serve the dbt docs on loopback
	$(BIN)/dbt docs generate --quiet
	$(BIN)/dbt docs serve --host 127.0.0.1

# Half of a small build is waiting: two files of tests at a time fill two cores.
test: setup ## All tests: unit, property, golden, integration, cluster
	$(BIN)/pytest --numprocesses 2 --dist loadfile --no-loadscope-reorder

unit: setup ## Tests without Spark
	$(BIN)/pytest tests/python/unit tests/python/property/test_canal_json_property.py \
		tests/python/property/test_simple_property.py \
		tests/python/property/test_damaged_messages.py

property: setup ## Random histories through the whole pipeline
	$(BIN)/pytest tests/python/property

property-long: setup ## The same with a thousand histories and a seed of its own
	CHANGEFOLD_PROPERTY_EXAMPLES=10 $(BIN)/pytest tests/python/property/test_exactness.py

golden: setup ## Recorded topics against the source's own outcome
	$(BIN)/pytest tests/python/integration

test-kafka: setup ## Landing from a real Kafka, which the tests start on loopback
	$(BIN)/pytest tests/python/integration/test_kafka.py

test-package: setup ## Another dbt project that has this one as a package
	$(BIN)/pytest tests/python/integration/test_package.py

test-cluster: setup ## A Spark cluster of two workers, its catalog in a PostgreSQL
	$(BIN)/pytest tests/cluster

test-delta: setup ## A recorded topic with tables of Delta
	$(BIN)/pytest tests/delta

lint: setup ## ruff, mypy, arrows between rooms, sqlfluff, dbt parse with warnings as errors
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy
	$(BIN)/lint-imports --no-cache
	$(BIN)/sqlfluff lint --processes 2 models sample tests/dbt
	$(BIN)/dbt --warn-error-options '{"error": "all"}' parse --quiet --no-partial-parse \
		--target-path target/lint

format: setup ## Let the formatters have their way
	$(BIN)/ruff check --fix .
	$(BIN)/ruff format .
	$(BIN)/sqlfluff fix models sample tests/dbt

# make verify CORPUS="<folder> ..." [VARIANT=<file stem>] [RUNS=n|each] [EXPORT=<folder>]
verify: setup ## Is the pipeline exact? CORPUS="folder ..." [VARIANT=stem] [RUNS=n|each] [EXPORT=folder]
	@test -n "$(CORPUS)" || { echo 'usage: make verify CORPUS="<folder> ..." [VARIANT=<file stem>] [RUNS=n|each] [EXPORT=<folder>]'; exit 2; }
	$(BIN)/changefold verify $(CORPUS) $(if $(VARIANT),--variant "$(VARIANT)") --runs $(or $(RUNS),1) $(if $(EXPORT),--export "$(EXPORT)")

# make cases [RUNS=n|each]
cases: setup ## The small cases in tests/cases, all in one scratch project; RUNS=n|each
	$(BIN)/changefold verify tests/cases/* --runs $(or $(RUNS),1)

chaos: setup ## Kill builds at random moments; SEEDS=n, 30 by default
	CHANGEFOLD_KILL_SEEDS=$(or $(SEEDS),30) $(BIN)/pytest tests/python/property/test_kills.py

# make fuzz [MESSAGES=n] [SEED=n]
fuzz: setup ## Decode 20,000 damaged messages of all protocols; MESSAGES=n SEED=n
	$(BIN)/changefold fuzz --messages $(or $(MESSAGES),20000) --seed $(or $(SEED),1)

# make bench [MESSAGES="400000 2000000"] [RUNS=n] [MORE_COLUMNS=90]
bench: setup ## This project beside hand-written Spark and DuckDB, same messages, equal rows
	$(BIN)/python benchmarks/contest.py --messages $(or $(MESSAGES),400000 2000000) \
		--runs $(or $(RUNS),3) --more-columns $(or $(MORE_COLUMNS),0) \
		--write docs/performance.md

# make bench-parse [ONLY=debezium] [MESSAGES=n] [RUNS=n]
bench-parse: setup ## Rate of the parsing functions against native from_json; ONLY=contest
	$(BIN)/python benchmarks/parse.py --messages $(or $(MESSAGES),400000) \
		--runs $(or $(RUNS),5) $(if $(ONLY),--only $(ONLY))

bench-memory: setup ## Driver memory of a load against one of ten times the size; MESSAGES=n
	$(BIN)/python benchmarks/memory.py $(if $(MESSAGES),--messages $(MESSAGES))

# make bench-histories [MESSAGES=n]
bench-histories: setup ## Histories as views and as tables: what builds and readers pay
	$(BIN)/python benchmarks/history_forms.py --messages $(or $(MESSAGES),2000000)

# make bench-tables [TABLES="6 50 500"] [ROWS=n]
bench-tables: setup ## Seconds of builds by the number of source tables
	$(BIN)/python benchmarks/table_counts.py --tables $(or $(TABLES),6 50 500) \
		--rows $(or $(ROWS),10)

# make profile [MESSAGES=n] [SVG=file]
profile: setup ## Where the time of a build goes, by node and by what Spark's tasks did
	$(BIN)/python benchmarks/build_profile.py --messages $(or $(MESSAGES),200000) \
		$(if $(SVG),--svg "$(SVG)")

bench-layouts: setup ## Ways to end the versions of a history: a batch's time, a reader's
	$(BIN)/python benchmarks/history_layouts.py

bench-models: setup ## Jobs, shuffles, rows and files of each model, load and increments
	$(BIN)/python benchmarks/model_costs.py

clean: ## Remove the warehouse and what dbt wrote
	rm -rf warehouse target logs
