# Builds, runs and tests Howdah. `make` lists what there is.
#
# PG_CONFIG   the pg_config of the PostgreSQL to build for (15 to 18)
# PORT        the port of `make run` and `make run-bips`
# LINES_PORT  the port for lines of JSON of `make run-bips`
# DATA        their data folder
# DESTDIR     put before the folders of `make install`
# PROFILE     how the extension is built: server; release or quick, which are quicker to build and slower to run
# ONE         the test of `make test-one`, by a part of its name

PG_CONFIG ?= pg_config
CARGO ?= cargo
PORT ?= 9000
LINES_PORT ?= 4000
DATA ?= .howdah
PROFILE ?= server
TARGET = $(or $(CARGO_TARGET_DIR),target)

# Asked when a recipe runs: `make setup` may have to install pg_config first.
MAJOR = $(shell $(PG_CONFIG) --version | sed 's/^PostgreSQL \([0-9]*\).*/\1/')
# A folder for each version: going from one to another builds nothing twice.
EXTENSION = $(TARGET)/pg$(MAJOR)
STAGE = $(abspath $(EXTENSION))/stage
# Of a build whose requests can make their worker panic.
FAULTY_STAGE = $(abspath $(EXTENSION))/stage-that-panics
# By the folder that it names itself: another spelling of PG_CONFIG would build everything again.
ON_POSTGRES = PGRX_PG_CONFIG_PATH="$$($(PG_CONFIG) --bindir)/pg_config"
FEATURES = --features pg$(MAJOR)
TEST = PG_CONFIG="$(PG_CONFIG)" HOWDAH_STAGE="$(STAGE)" $(CARGO) test --workspace --exclude howdah --features howdah-cli/extension
# Tests that may run at the same time mostly wait; the others measure time. The argument goes to cargo.
TESTS = $(TEST) $(1) --test platform together:: -- --test-threads=4 && $(TEST) $(1) -- --skip together::

export PG_CONFIG

.PHONY: help setup setup-test setup-client build run run-bips test test-one test-client test-long test-versions hunt lint format install uninstall bench bench-http bench-client bench-queue clean

help: ## list what there is
	@awk -F ':.*## ' '/^[a-z-]+:.*## / { printf "  make %-15s %s\n", $$1, $$2 }' Makefile

setup: ## install what is missing (Debian, as root), or say how
	@CARGO="$(CARGO)" scripts/setup

setup-test: setup
	@CARGO="$(CARGO)" scripts/setup test

setup-client: setup
	@CARGO="$(CARGO)" scripts/setup client

build: setup ## build the extension and the howdah command
	@$(ON_POSTGRES) $(CARGO) build --profile "$(PROFILE)" -p howdah $(FEATURES) --target-dir "$(EXTENSION)"
	@$(CARGO) build --release -p howdah-cli
	@scripts/stage "$(EXTENSION)/$(PROFILE)/libhowdah.so" "$(STAGE)"

run: build ## serve examples/users on http://127.0.0.1:9000 until Ctrl-C
	@exec "$(TARGET)/release/howdah" up --stage "$(STAGE)" --data "$(DATA)" --port "$(PORT)" --app examples/users

run-bips: build ## load records into a queue while two consumers drain it, show the rates (RECORDS=1000000)
	@DATA="$(DATA)" PORT="$(PORT)" LINES_PORT="$(LINES_PORT)" scripts/run-bips "$(TARGET)/release/howdah" "$(STAGE)"

test: setup-test build ## every test but the long ones
	@$(call TESTS)
	@python3 -m unittest discover -s bench -t .
	@$(MAKE) --no-print-directory test-client

test-one: build ## one end-to-end test by a part of its name: make test-one ONE=together::errors PROFILE=quick
	@$(TEST) --test platform -- "$(ONE)" --test-threads=2

test-client: setup-client ## the JVM client alone
	@cd client && mvn -B -q verify && echo "The JVM client passed."

# Long tests have the feature `long`; the models of the exchange need loom.
test-long: setup-test build ## the long tests too
	@$(ON_POSTGRES) $(CARGO) build --release -p howdah $(FEATURES),faults --target-dir "$(EXTENSION)"
	@scripts/stage "$(EXTENSION)/release/libhowdah.so" "$(FAULTY_STAGE)"
	@export HOWDAH_FAULTY_STAGE="$(FAULTY_STAGE)"; $(call TESTS,--all-features)
	@cd client && mvn -B -q -pl core,clojure -am test -Dtest='LazyRowTest#threadsThatShare*,ClojureNamespacesTest#tests*' \
	  -Dsurefire.failIfNoSpecifiedTests=false -Dhowdah.race.seconds=60
	@RUSTFLAGS="--cfg loom" $(CARGO) test --release -p exchange --lib --target-dir "$(TARGET)/loom"

# Hunts are tests whose module is called hunts; those of the client are in client/hunts and have names like client::copy.
hunt: setup-test setup-client build ## random attacks, each for HUNT_SECONDS=600; HUNT_SEED=… repeats one, ONE=… names one
	@export HUNT_SECONDS=$${HUNT_SECONDS:-600}; \
	case "$(ONE)" in client::*) ;; *) $(TEST) -- "$(or $(ONE),hunts::)" --nocapture --test-threads=1 || exit ;; esac; \
	case "$(ONE)" in "" | client::*) cd client && mvn -B -q -pl hunts -am test -Dtest=HuntsTest -Dsurefire.failIfNoSpecifiedTests=false ;; esac

test-versions: setup-test ## every test on PostgreSQL 16, 17 and 18 (VERSIONS="16 17" for some)
	@scripts/test-versions $(VERSIONS)

lint: setup ## formatting, clippy, shell scripts, SQL style; warnings are errors
	@$(CARGO) fmt --all --check
	@$(CARGO) clippy --workspace --exclude howdah --all-targets -- -D warnings
	@$(ON_POSTGRES) $(CARGO) clippy -p howdah $(FEATURES) --target-dir "$(EXTENSION)" -- -D warnings
	@scripts/lint

format: ## format the Rust code
	@$(CARGO) fmt --all

install: ## put the extension into the PostgreSQL that PG_CONFIG names
	@if command -v "$(CARGO)" >/dev/null; then $(MAKE) --no-print-directory build; fi
	@test -f "$(STAGE)/howdah.so" || { echo "Build it first: make build PG_CONFIG=$(PG_CONFIG)" >&2; exit 1; }
	@install -d "$(DESTDIR)$$($(PG_CONFIG) --pkglibdir)" "$(DESTDIR)$$($(PG_CONFIG) --sharedir)/extension"
	@install -m 755 "$(STAGE)/howdah.so" "$(DESTDIR)$$($(PG_CONFIG) --pkglibdir)/"
	@install -m 644 "$(STAGE)"/howdah.control "$(STAGE)"/*.sql "$(DESTDIR)$$($(PG_CONFIG) --sharedir)/extension/"
	@echo "Installed for $$($(PG_CONFIG) --version). Next: shared_preload_libraries = 'howdah', restart, create extension howdah;"

uninstall: ## take it out again
	@rm -f "$(DESTDIR)$$($(PG_CONFIG) --pkglibdir)/howdah.so" \
		"$(DESTDIR)$$($(PG_CONFIG) --sharedir)"/extension/howdah.control \
		"$(DESTDIR)$$($(PG_CONFIG) --sharedir)"/extension/howdah--*.sql

bench: bench-http bench-queue bench-client ## measure all three, in three hours or so

bench-http: build ## measure HTTP against its peers (CASES, SYSTEMS, DURATION for a part)
	@PG_CONFIG="$$("$(TARGET)/release/howdah" installation --stage "$(STAGE)" --data "$(TARGET)/bench-server")" \
		python3 -m bench.http.run

bench-client: ## measure the JVM client against its peers (CASES, SYSTEMS, RUNS, DURATION for a part)
	@python3 -m bench.client.run

bench-queue: build ## measure queues against their peers (CASES, SYSTEMS, DURATION for a part)
	@PG_CONFIG="$$("$(TARGET)/release/howdah" installation --stage "$(STAGE)" --data "$(TARGET)/bench-server")" \
		python3 -m bench.queue.run

clean: ## remove what was built; data folders stay
	@$(CARGO) clean
