# Builds, runs and tests Howdah. `make` lists what there is.
#
# PG_CONFIG   the pg_config of the PostgreSQL to build for (15 to 18)
# PORT        the port of `make run` and `make run-bips`
# TLS         1 has `make run` serve HTTPS, too
# TLS_PORT    the port for it
# LINES_PORT  the port for lines of JSON of `make run-bips`
# DATA        their data folder
# DESTDIR     put before the folders of `make install`
# PROFILE     how the extension is built: server, the fastest; trial, in three fifths of the time; or quick, in seconds after a change, which runs
#             slower. What is measured and installed takes server, make run and make run-bips trial, tests quick, unless one is given
# ONE         the test of `make test-one`, by a part of its name

PG_CONFIG ?= pg_config
CARGO ?= cargo
PORT ?= 9000
TLS_PORT ?= 9443
LINES_PORT ?= 4000
DATA ?= .howdah
PROFILE ?= server
TARGET = $(or $(CARGO_TARGET_DIR),target)

# Asked when a recipe runs: `make setup` may have to install pg_config first.
MAJOR = $(shell $(PG_CONFIG) --version | sed 's/^PostgreSQL \([0-9]*\).*/\1/')
STAGE = $(abspath $(TARGET))/pg$(MAJOR)/stage
# Of a build whose requests can make their worker panic.
FAULTY_STAGE = $(abspath $(TARGET))/pg$(MAJOR)/stage-that-panics
# By the folder that it names itself: another spelling of PG_CONFIG would build everything again.
ON_POSTGRES = PGRX_PG_CONFIG_PATH="$$($(PG_CONFIG) --bindir)/pg_config"
# The extension by itself, as it is used; by trial with the command, and by quick with all that its tests need, so that nothing is built twice.
EXTENSION_quick = $(WORKSPACE) --lib --bins --test platform
EXTENSION_trial = -p howdah -p howdah-cli --features howdah/pg$(MAJOR)
EXTENSION = $(or $(EXTENSION_$(PROFILE)),-p howdah --features pg$(MAJOR))
WORKSPACE = --workspace --features howdah/pg$(MAJOR),howdah-cli/extension
# The command, which is built by release where there is no need for another profile.
BUILT_BY = $(if $(filter quick trial,$(PROFILE)),$(PROFILE),release)
HOWDAH = $(TARGET)/$(BUILT_BY)/howdah
# What tests are built by, unless it was asked for otherwise.
TEST_PROFILE = $(if $(filter command environment,$(origin PROFILE)),$(PROFILE),quick)
# What is tried is built by, likewise.
RUN_PROFILE = $(if $(filter command environment,$(origin PROFILE)),$(PROFILE),trial)
# Of the clusters of tests: in memory, where there is room, as in scripts/run-tests.
SCRATCH = $(or $(TMPDIR),$(shell [ "$$(df --output=avail -k /dev/shm 2>/dev/null | tail -1)" -gt 4194304 ] 2>/dev/null && echo /dev/shm || echo /tmp))
# The argument is the profile.
TEST_BY = TMPDIR="$(SCRATCH)" $(ON_POSTGRES) $(CARGO) test $(WORKSPACE) --profile "$(1)"
TEST = $(call TEST_BY,$(PROFILE))
TESTS = $(ON_POSTGRES) CARGO="$(CARGO)" TESTED="$(WORKSPACE) --profile $(PROFILE)" HOWDAH_STAGE="$(STAGE)" scripts/run-tests
MVN = cd client && mvn -B -q -Dhowdah.scratch="$(SCRATCH)"

OVERWRITTEN = together::queue_dead_letters together::queue_values together::queue_large_letters together::queue_retries together::queue_messages \
	together::argument_ways together::arguments together::errors together::ingest_ together::parsed_bodies together::query_handlers \
	together::example together::changes

export PG_CONFIG

.PHONY: help setup setup-test setup-long setup-client setup-lint setup-bench setup-packages extension packages try-packages docs build run run-bips check quick test test-one test-command test-client test-timing test-long test-overwritten test-versions pictures hunt lint format install uninstall bench bench-http bench-client bench-queue clean

help: ## list what there is
	@awk -F ':.*## ' '/^[a-z-]+:.*## / { printf "  make %-15s %s\n", $$1, $$2 }' Makefile

setup: ## install what is missing (Debian, as root), or say how
	@CARGO="$(CARGO)" scripts/setup

setup-test: setup
	@CARGO="$(CARGO)" scripts/setup test

setup-long: setup-test
	@CARGO="$(CARGO)" scripts/setup long

setup-client: setup
	@CARGO="$(CARGO)" scripts/setup client

setup-lint: setup
	@CARGO="$(CARGO)" scripts/setup lint

setup-bench: setup
	@CARGO="$(CARGO)" scripts/setup bench

setup-packages: setup
	@CARGO="$(CARGO)" scripts/setup packages

extension: setup
	@$(ON_POSTGRES) $(CARGO) build --profile "$(PROFILE)" $(EXTENSION)
	@scripts/stage "$(TARGET)/$(PROFILE)/libhowdah.so" "$(STAGE)"

build: extension ## build the extension and the howdah command
	@$(if $(filter quick trial,$(PROFILE)),,$(CARGO) build --release -p howdah-cli)
	@ln -sfn "$(BUILT_BY)/howdah" "$(TARGET)/howdah"

run: PROFILE = $(RUN_PROFILE)
run: build ## serve examples/users on http://127.0.0.1:9000 until Ctrl-C; TLS=1 by HTTPS, too, on TLS_PORT=9443
	@exec "$(HOWDAH)" up --stage "$(STAGE)" --data "$(DATA)" --port "$(PORT)" --app examples/users \
		$(if $(filter-out 0 no off,$(TLS)),--tls --tls-port "$(TLS_PORT)")

run-bips: PROFILE = $(RUN_PROFILE)
run-bips: build ## load records into a queue while two consumers drain it, show the rates (RECORDS=1000000)
	@DATA="$(DATA)" PORT="$(PORT)" LINES_PORT="$(LINES_PORT)" scripts/run-bips "$(HOWDAH)" "$(STAGE)"

check: lint test ## what has to pass before a change lands: lint and tests

quick: PROFILE = $(TEST_PROFILE)
quick: lint ## lint, and the tests of what needs no PostgreSQL
	@$(TESTS) --crates

test: PROFILE = $(TEST_PROFILE)
test: setup-test extension ## every test but the long ones and those of time
	@$(TESTS) --beside '$(MAKE) --no-print-directory test-client'
	@$(TEST) --doc -q
	@python3 -m unittest discover -s bench -t .

test-one: PROFILE = $(TEST_PROFILE)
test-one: extension ## one end-to-end test by a part of its name: make test-one ONE=together::errors
	@begin=$$(date +%s); \
	HOWDAH_STAGE="$${HOWDAH_STAGE:-$(STAGE)}" $(TEST) --test platform -- "$(ONE)" --test-threads=2 && \
	echo "It took $$(($$(date +%s) - begin)) s after the extension was built."

test-command: PROFILE = $(TEST_PROFILE)
test-command: extension ## end-to-end tests of the command, by a part of their names: make test-command ONE=dev
	@HOWDAH_STAGE="$${HOWDAH_STAGE:-$(STAGE)}" $(TEST) --test command -- "$(ONE)" --test-threads=2

test-client: setup-client ## the JVM client alone
	@$(MVN) verify && echo "The JVM client passed."

# The bounds are in tests/timing and, of the client, in its class Bound. Each test has three runs, of which the best counts.
test-timing: setup-test setup-client build ## what is about time, alone on the machine, as it is built for use
	@HOWDAH_STAGE="$(STAGE)" $(call TEST_BY,quick) --test platform timing::every_bound_holds -- --ignored --exact --nocapture
	@$(MVN) -pl core,jdbc,clojure -am test -Dgroups=timing -DexcludedGroups=long -Dhowdah.timing=true -Dsurefire.rerunFailingTestsCount=2 \
	  -Dsurefire.failIfNoSpecifiedTests=false && echo "The JVM client keeps its bounds."

# Long tests have the feature `long`; the models of the exchange and of the counters of commits need loom.
test-long: PROFILE = $(TEST_PROFILE)
test-long: setup-long extension ## the long tests too, those of time, on clusters that each test makes anew
	@$(ON_POSTGRES) $(CARGO) build --profile "$(PROFILE)" $(EXTENSION) --features howdah/faults
	@scripts/stage "$(TARGET)/$(PROFILE)/libhowdah.so" "$(FAULTY_STAGE)"
	@HOWDAH_FRESH=1 HOWDAH_FAULTY_STAGE="$(FAULTY_STAGE)" $(TESTS) -- --features howdah-tests/long,howdah-cli/long
	@$(MVN) -pl core,clojure -am test -Dtest='LazyRowTest#threadsThatShare*,ClojureNamespacesTest#tests*' \
	  -Dsurefire.failIfNoSpecifiedTests=false -Dhowdah.race.seconds=60
	@$(MVN) verify -Dgroups=long -DexcludedGroups=
	@RUSTFLAGS="--cfg loom" $(CARGO) test --release -p exchange -p registry --lib --target-dir "$(TARGET)/loom"
	@$(MAKE) --no-print-directory test-overwritten
	@$(MAKE) --no-print-directory test-timing

pictures: PROFILE = $(TEST_PROFILE)
pictures: setup-long extension ## the pictures of the documentation, made anew by a browser
	@HOWDAH_PICTURES=docs/pictures HOWDAH_STAGE="$${HOWDAH_STAGE:-$(STAGE)}" $(TEST) --test command -- _in_chromium:: --ignored --test-threads=1

# Hunts are tests whose module is called hunts; those of the client are in client/hunts and have names like client::copy.
hunt: PROFILE = $(TEST_PROFILE)
hunt: setup-test setup-client extension ## random attacks, each for HUNT_SECONDS=600; HUNT_SEED=… repeats one, ONE=… names one
	@export HUNT_SECONDS=$${HUNT_SECONDS:-600} HOWDAH_STAGE="$(STAGE)"; \
	case "$(ONE)" in client::*) ;; *) $(TEST) -- "$(or $(ONE),hunts::)" --nocapture --test-threads=1 || exit ;; esac; \
	case "$(ONE)" in "" | client::*) cd client && mvn -B -q -pl hunts -am test -Dtest=HuntsTest -Dsurefire.failIfNoSpecifiedTests=false ;; esac

# Those that have to do with values and with memory that ends; an extension that was built for the distribution's server runs in it.
test-overwritten: PROFILE = $(TEST_PROFILE)
test-overwritten: extension ## tests on a server that overwrites memory when it is freed (ONE names others)
	@pg_config="$$(scripts/overwriting-server)" || exit; \
	PGRX_PG_CONFIG_PATH="$$($(PG_CONFIG) --bindir)/pg_config" PG_CONFIG="$$pg_config" TMPDIR="$(SCRATCH)" HOWDAH_STAGE="$(STAGE)" \
	$(CARGO) test $(WORKSPACE) --profile "$(PROFILE)" --test platform -- $(or $(ONE),$(OVERWRITTEN)) --test-threads=2

test-versions: setup-test ## every test on PostgreSQL 16, 17 and 18 (VERSIONS="16 17" for some)
	@scripts/test-versions $(VERSIONS)

lint: setup-lint ## formatting, clippy, dependencies, shell, Python, SQL, Java; warnings are errors
	@$(CARGO) fmt --all --check
	@scripts/lint
	@$(ON_POSTGRES) $(CARGO) clippy -q $(WORKSPACE) --lib --bins --tests --examples --profile "$(TEST_PROFILE)" -- -D warnings

format: setup-lint ## format the code
	@$(CARGO) fmt --all
	@scripts/lint --fix

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

packages: setup-packages ## what people install, into target/packages (PG_CONFIGS names the servers to build for)
	@PROFILE="$(PROFILE)" scripts/packages $(or $(PG_CONFIGS),$(PG_CONFIG))

try-packages: ## install the packages in an empty Debian, as root, and ask
	@scripts/try-packages

docs: ## a site of all pages with a search, in target/docs
	@scripts/docs

bench: bench-http bench-queue bench-client ## measure all three, in three hours or so

bench-http: setup-bench build ## measure HTTP against its peers (CASES, SYSTEMS, DURATION for a part)
	@PG_CONFIG="$$("$(HOWDAH)" installation --stage "$(STAGE)" --data "$(TARGET)/bench-server")" \
		HOWDAH="$(HOWDAH)" python3 -m bench.http.run

bench-client: setup-bench ## measure the JVM client against its peers (CASES, SYSTEMS, RUNS, DURATION for a part)
	@python3 -m bench.client.run

bench-queue: setup-bench build ## measure queues against their peers (CASES, SYSTEMS, DURATION for a part)
	@PG_CONFIG="$$("$(HOWDAH)" installation --stage "$(STAGE)" --data "$(TARGET)/bench-server")" \
		python3 -m bench.queue.run

clean: ## remove what was built; data folders stay
	@$(CARGO) clean
