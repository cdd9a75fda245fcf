# The commands of docs/HACKING.md.
export LOCKSTEP_WARNINGS_AS_ERRORS = 1

build:
	swift build

test:
	swift test --disable-xctest --skip IntegrationTests

integration:
	swift build -c release --product lockstep
	swift build -c release --product lockstep-lab
	swift build -c release --product TestPeer
	LOCKSTEP_PROGRAM=$$(swift build -c release --show-bin-path)/lockstep \
		swift test --disable-xctest --filter IntegrationTests

lint:
	swift format lint --strict --recursive --parallel Sources Tests Fuzz Package.swift \
		Benchmarks/Sources Benchmarks/Package.swift
	deploy/planted-defects --check

bench:
	swift build -c release --traits Etcd --product lockstep
	swift build -c release --traits Etcd --product lockstep-lab
	$$(swift build -c release --show-bin-path)/lockstep-lab bench

# The hot paths one by one, and their allocations against the limits, see Benchmarks/README.md.
hot-paths:
	Benchmarks/run --check

SEEDS = 300
simulate:
	swift build -c release --product lockstep-lab
	$$(swift build -c release --show-bin-path)/lockstep-lab simulate --seeds $(SEEDS) --jobs 2

defects:
	deploy/defects

# What seeds reach of the pure code that ships; deploy/coverage --tests for the unit tests.
coverage:
	deploy/coverage

# Every decoder for SECONDS seconds each, see docs/FUZZING.md.
SECONDS = 60
fuzz:
	Fuzz/run all $(SECONDS)

check: lint build test

.PHONY: build test integration lint bench hot-paths simulate defects coverage fuzz check
