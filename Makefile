# SPDX-License-Identifier: GPL-2.0-only
# The commands for people. Each target is a script in scripts/; these install missing tools and say so.

SECONDS ?= 60

PREFIX ?= /usr/local
DESTDIR ?=

export PREFIX DESTDIR

.PHONY: help build install uninstall deb demo test soak lint fleet-test fleet-demo loads bench vm-bench fuzz try clean

help:
	@echo 'make build  the release build, target/release/lop'
	@echo 'make install, make uninstall  lop, man pages, completions, unit file and the libraries of hints/ below PREFIX (/usr/local)'
	@echo 'make deb    a Debian package of the same'
	@echo 'make demo   build, simulate a recorded build under every policy, reproduce the kernel-compile study'
	@echo 'make test   the gate: format, lint, tests, policy for gcc, clang and BPF, the kernel side in a guest; all exact checks'
	@echo 'make soak   the rest, hours: shares, delays, percentiles, stressors, older kernels, long fuzzing, packaging, deliberate faults'
	@echo 'make lint   the quick part of make test: format, lint, rules of policy/'
	@echo 'make fleet-test  the part of make test that is about fleet/: gather on many machines, in Go'
	@echo 'make fleet-demo  the default scheduler of Kubernetes, MostAllocated and Gather place the same arrivals on machines that do not exist; minutes'
	@echo 'make loads  small native programs of known structure, in target/loads'
	@echo 'make bench  events per second (criterion), peak memory, cost of a wakeup that promotes a CPU, ns per call of hints/'
	@echo 'make vm-bench  lopsided, the kernel'"'"'s own scheduler and other installed ones, measured in a virtual machine'
	@echo 'make fuzz   fuzz the readers of TOML and JSON; SECONDS=60 in total'
	@echo 'make try    a shell in a virtual machine whose kernel has sched_ext, with lop in it'
	@echo 'make clean  remove what was built'

build:
	@scripts/build.sh

install:
	@scripts/install.sh

uninstall:
	@scripts/install.sh --remove

deb:
	@scripts/deb.sh

demo:
	@scripts/demo.sh

test:
	@scripts/test.sh

soak:
	@scripts/soak.sh

lint:
	@scripts/lint.sh

fleet-test:
	@scripts/fleet-test.sh

fleet-demo:
	@scripts/fleet-demo.sh

loads:
	@scripts/loads.sh

bench:
	@scripts/bench.sh

vm-bench:
	@vm/bench.sh

fuzz:
	@scripts/fuzz.sh $(SECONDS)

try:
	@scripts/try.sh

clean:
	cargo clean
