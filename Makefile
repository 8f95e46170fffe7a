# The two commands that matter need no make: go run ./host demo, go test ./...

VERSION := $(shell git describe --tags --always --dirty 2>/dev/null || echo devel)
LDFLAGS := -s -w -X main.version=$(VERSION)

.PHONY: build dist test e2e race fuzz fuzz-hour kills pair many soak bench lint vuln ci

build: ## static binaries in bin/
	CGO_ENABLED=0 go build -trimpath -ldflags '$(LDFLAGS)' -o bin/longshore ./host
	CGO_ENABLED=0 go build -trimpath -ldflags '$(LDFLAGS)' -o bin/agentrunner ./agentrunner

dist: ## reproducible programs, Debian packages and images in dist/, with checksums; LONGSHORE_SIGN_KEY signs them
	./packaging/dist

test: ## what the README promises: the first tier
	go test ./...

e2e: ## the second tier: engines, browsers, npm, agent CLIs, kills, power loss, floods, packages
	LONGSHORE_TEST_ALL=1 ./.ci/e2e

race: ## both tiers under the race detector
	./.ci/race e2e

fuzz: ## every fuzz target for FUZZTIME each
	./.ci/fuzz $(or $(FUZZTIME),20s)

fuzz-hour: ## every fuzz target; an hour for all together
	./.ci/fuzz 1h shared

kills: ## KILLS hosts killed at random under a drain, a twentieth as many hosts, agentrunners and sshds at random steps of a send over HTTP and ssh, a power loss after each operation, and each call failing once; prints the faults and seeds
	LONGSHORE_TEST_KILLS=$(or $(KILLS),1000) go test -tags e2e -count=1 -timeout 60m -v -run 'UnderADrain.*OnThePage$$|AtEachStepOver|APowerLoss|AnyOneCall' ./e2e/kill ./e2e/remote

pair: ## hosts of a pair end PAIR times in each way, under texts on six platforms; prints how long each take-over took, and what was uncertain
	LONGSHORE_TEST_PAIR=$(or $(PAIR),200) go test -tags e2e -count=1 -timeout 180m -v -skip 'ManyGroups|ASoak' ./e2e/pair

many: ## a pair with 10,000 groups and 200,000 deliveries that wait; prints how long the take-over took
	LONGSHORE_TEST_MANY=1 go test -tags e2e -count=1 -timeout 60m -v -run ManyGroups ./e2e/pair

soak: ## for SOAK each: twenty groups on three channels, with faults, kills, reloads and approvals at random; a pair on six platforms, with ends of hosts, crashes of PostgreSQL and faults at random; prints their sums
	LONGSHORE_TEST_SOAK=$(or $(SOAK),10m) go test -p 1 -tags e2e -count=1 -timeout 24h -v -run ASoak ./e2e/kill ./e2e/pair

bench: ## each figure with the floor it is held against, from the same run
	./.ci/bench

lint:
	gofmt -l . && go vet ./...
	golangci-lint run

vuln: ## known vulnerabilities in what the programs call; says so if their database is out of reach
	./.ci/vuln

ci:
	bash .ci/run
