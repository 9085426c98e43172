#!/usr/bin/env bash
# bench.sh: events per second of the simulator (criterion), then peak memory of a sweep.
set -euo pipefail
cd "$(dirname "$0")/.."
scripts/need.sh rust cc time
cargo bench --locked -p lop-simulator --benches
cargo build --quiet --release --locked -p lop
echo
scripts/peak-memory.sh --limit-mib 200 target/release/lop reproduce compile-parallelism --runs 20 --format json
