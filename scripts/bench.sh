#!/usr/bin/env bash
# bench.sh [NAME]: the engine's speed by criterion, then a table of events per second and of the sweep's time and memory.
# NAME: only cases whose name contains it.
set -euo pipefail
cd "$(dirname "$0")/.."
scripts/need.sh rust cc time
cargo build --quiet --release --locked -p lop
cargo bench --locked -p lop-simulator --bench engine -- "$@"
echo
scripts/peak-memory.sh --limit-mib 200 target/release/lop reproduce compile-parallelism --runs 20 --format json
