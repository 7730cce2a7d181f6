# `make help` lists the targets. Go and make are all that must be there; the databases are brought up when missing.

SHELL       := /bin/bash
.SHELLFLAGS := -euo pipefail -c
MAKEFLAGS   += --no-print-directory
.DEFAULT_GOAL := help

GO       ?= go
FUZZTIME ?= 10s
# Test binaries at once. They share the servers, and most of what they wait for is a disk.
P        ?= 2
# One test binary; long, since a slow disk makes durable commits slow.
TIMEOUT  ?= 60m

# Not in go.mod: a linter's dependencies are not the library's.
STATICCHECK := honnef.co/go/tools/cmd/staticcheck@v0.8.2

ENGINES_CMD := $(GO) run ./internal/engines/cmd/engines
# SQLite's files lie beside the servers' data: in memory, where there is room. Benchmarks measure the disk.
IN_DIR = TMPDIR=$$($(ENGINES_CMD) dir)
# Modules of their own below this one.
NESTED = $$(find . -mindepth 2 -name go.mod -not -path './.*' -exec dirname {} \; | sort)

.PHONY: help demo test check plans large fuzz bench bench-quick engines-up engines-down engines-status

help: ## Show this list
	@awk -F ':.*## ' '/^[a-z-]+:.*## / { printf "make %-15s %s\n", $$1, $$2 }' $(MAKEFILE_LIST)
	@echo
	@echo 'ENGINES=sqlite,postgres narrows every target to these engines. FUZZTIME is for each fuzz target (10s).'
	@echo 'BENCH='\''-rounds 7 -scenarios drain,slow'\'' is handed to the benchmark; go run ./cmd/bench -help in internal/bench lists its flags.'

demo: ## Run the quickstart: SQLite, no server needed
	@$(GO) run ./examples/quickstart

test: engines-up ## Test everything on every engine
	@export $(IN_DIR); $(GO) test -p $(P) -timeout $(TIMEOUT) ./...; \
	for dir in $(NESTED); do echo "module $$dir"; (cd "$$dir" && $(GO) test -p $(P) -timeout $(TIMEOUT) ./...); done

check: engines-up ## Format, vet, lint, race tests, tidy: before each commit
	@unformatted=$$(gofmt -l .); [[ -z "$$unformatted" ]] || { echo "gofmt -w $$unformatted"; exit 1; }
	@$(GO) vet ./...
	@$(GO) run $(STATICCHECK) ./...
	@$(GO) mod tidy -diff
	@$(IN_DIR) $(GO) test -race -p 1 -timeout 90m ./... # of two at once, each would cost the other its leases
	@for dir in $(NESTED); do echo "module $$dir"; (cd "$$dir" && $(GO) vet ./... && $(GO) mod tidy -diff); done

plans: engines-up ## Test how the engines run each statement, on half a million events; 20 minutes
	@export $(IN_DIR); OUTBOX_TEST_ROWS=500000 $(GO) test -count 1 -timeout $(TIMEOUT) -run 'FromItsIndex|ByItsNumbers' ./relay ./outbox

large: engines-up ## Test at full size what the suite tests small: head of line, fan-out, the host's writers; 40 minutes
	@export $(IN_DIR) OUTBOX_TEST_BEHIND=100000 OUTBOX_TEST_HOST_TIME=30s OUTBOX_TEST_FANOUT=2000; \
	$(GO) test -count 1 -v -timeout $(TIMEOUT) -run 'OneFailing|HostsWriters' ./internal/fleet; \
	$(GO) test -count 1 -v -timeout $(TIMEOUT) -run HealthyEndpoints ./relay/webhook

fuzz: ## Run each fuzz target for FUZZTIME
	@for dir in $$(grep -rl --include='*_test.go' '^func Fuzz' . | xargs -r -n 1 dirname | sort -u); do \
		for name in $$(grep -h '^func Fuzz' "$$dir"/*_test.go | sed 's/^func \(Fuzz[A-Za-z0-9_]*\).*/\1/'); do \
			echo "$$dir $$name"; \
			(cd "$$dir" && $(GO) test -run '^$$' -fuzz "^$$name\$$" -fuzztime $(FUZZTIME) .); \
		done; \
	done

bench: ## Measure beside peers and bare SQL, all scenarios, into docs/bench: hours, on a machine that does nothing else
	@cd internal/bench && $(GO) run ./cmd/bench -out ../../docs/bench $(BENCH)

bench-quick: ## The same in small, in a few minutes, into .cache/bench
	@cd internal/bench && $(GO) run ./cmd/bench -quick -out ../../.cache/bench $(BENCH)

engines-up: ## Bring up the databases that are missing
	@$(ENGINES_CMD) up

engines-down: ## Stop the databases
	@$(ENGINES_CMD) down

engines-status: ## List the databases: version, port, how each was found
	@$(ENGINES_CMD) status
