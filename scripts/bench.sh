#!/usr/bin/env bash
# SPDX-License-Identifier: GPL-2.0-only
# bench.sh [NAME]: measures the engine's speed with criterion, then prints tables of events per second, of a large fleet's and a large plan's time, of the sweep's time and
# memory, of the cost of a wakeup that promotes a CPU, and of ns per call of the library of hints/. NAME: only engine cases whose name contains it.
set -euo pipefail
cd "$(dirname "$0")/.."
scripts/need.sh rust cc bpf time
cargo build --quiet --release --locked -p lop
cargo bench --locked -p lop-simulator --bench engine -- "$@"
echo
cargo bench --locked -p lop-simulator --bench fleet --bench plan
echo
scripts/peak-memory.sh --limit-mib 200 target/release/lop reproduce compile-parallelism --runs 20 --format json
echo
cc -std=gnu11 -O2 -Wall -Werror -Ipolicy $(printf -- "-I%s " policy/*/) -Ikernel/tests/native kernel/benches/promoting.c kernel/tests/native/quiet_env.c -o target/promoting
target/promoting
echo
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
env -u LOP_HINT_DIR cargo bench --locked -p lopsided --bench calls
LOP_HINT_DIR=$folder cargo bench --locked -p lopsided --bench calls
