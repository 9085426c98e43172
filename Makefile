# Lopsided: what a person types. Each target is a script in scripts/; they install what is missing and say so.

SECONDS ?= 60

.PHONY: help demo test lint bench fuzz clean

help:
	@echo 'make demo   build, simulate a recorded build under every policy, reproduce the kernel-compile study'
	@echo 'make test   everything that is checked: format, lint, tests, policy for gcc, clang and BPF, examples, fuzzing'
	@echo 'make lint   the quick part of it: format, lint, rules of policy/'
	@echo 'make bench  events per second (criterion) and peak memory'
	@echo 'make fuzz   fuzz the readers of TOML and JSON; SECONDS=60 in all'
	@echo 'make clean  remove what was built'

demo:
	@scripts/demo.sh

test:
	@scripts/test.sh

lint:
	@scripts/lint.sh

bench:
	@scripts/bench.sh

fuzz:
	@scripts/fuzz.sh $(SECONDS)

clean:
	cargo clean
