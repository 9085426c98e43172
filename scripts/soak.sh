#!/usr/bin/env bash
# SPDX-License-Identifier: GPL-2.0-only
# soak.sh [STAGE...]: what make test leaves out, or some stages of it: checks of shares, delays or percentiles, long loads, long builds.
# A check here states its samples, bound and chance of a false alarm, or only prints. Takes hours; goes on after a failed stage.
# FUZZ_SECONDS: time for all fuzzers together (1800). A run that completes all groups of soak/ renews docs/kernel-results.md.
set -euo pipefail
cd "$(dirname "$0")/.."
. scripts/stages.sh

# The tests that use proptest, with a new seed. PROPTEST_RNG_SEED repeats a failed one.
drawn_anew() {
  local seed=${PROPTEST_RNG_SEED:-$SRANDOM}
  echo "PROPTEST_RNG_SEED=$seed"
  PROPTEST_RNG_SEED=$seed cargo test --workspace --locked --no-fail-fast --lib --test live --test mutated --test bounds \
    --test engine_properties --test faster_clocks --test policy --test workload --test random_schedules
}

# Seeds that no earlier run had. The last one printed is the one that failed.
interleavings() { local seed=$SRANDOM; scripts/interleave.sh "$seed" $((seed + 63)) 10000000; }

# printed SCRIPT [ARGUMENT...]: prints a time or a share on this machine without judging it. Exit code 3 means that it is not as expected; any other, that
# it failed.
printed() {
  local code=0
  LOP=$LOP_BUILT/lop LOP_BIN=$LOP_BUILT/lop "$@" || code=$?
  [ $code = 0 ] || [ $code = 3 ]
}

# page STUDY BYTES FOLDER: writes the page of a study, or of all, and fails unless it is smaller. It is the same on every machine: no false alarms.
page() {
  local file=$3/$1.html size
  if ! "$LOP_BUILT/lop" reproduce "$1" --html "$file" >/dev/null; then
    echo "not ok - lop reproduce $1: no page"
    return 1
  fi
  size=$(stat -c %s "$file")
  if [ "$size" -ge "$2" ]; then
    echo "not ok - lop reproduce $1: a page of $size bytes; it has to be below $2"
    return 1
  fi
  echo "ok - lop reproduce $1: a page of $size bytes, below $2"
}

# Pages are sent by mail and opened in a browser, so they have to stay small.
pages() {
  local code=0 folder
  folder=$(mktemp -d) || return
  page everything 3000000 "$folder" || code=1
  page all 10000000 "$folder" || code=1
  rm -rf "$folder"
  return $code
}

kernel_groups() {
  local code=0
  vm/tests/run.sh --soak || code=$?
  scripts/kernel-results.sh "$commit" >target/kernel-results.md && mv target/kernel-results.md docs/kernel-results.md || code=1
  return $code
}

begin
commit=$(git rev-parse --short HEAD)$(git diff --quiet HEAD || echo ' with changes')
scripts/need.sh rust cc clang bpf c++ make openmp clang-openmp script python3
stage_that_builds
stage_of_build 'drawn' drawn_anew
stage 'interleavings' interleavings
stage 'fleet cluster' scripts/fleet-cluster.sh
stage 'fleet node' scripts/fleet-node.sh
stage 'fleet kills' scripts/fleet-kills.sh
stage 'fleet demo' scripts/fleet-demo.sh
stage 'fleet rate' scripts/fleet-rate.sh
stage_of_build 'every cell' cargo test --locked -p lop-simulator --test every_cell
stage_of_build 'reader' cargo test --workspace --locked --test soak -- --nocapture
stage_of_build 'kills' env LOP_KILLS=1000 LOP_ASKS=1000000 cargo test --workspace --locked --lib --test cli -- killed asks_and_asks
stage_of_build 'agreement' scripts/agreement-check.sh --all
stage_of_build 'pages' pages
stage_of_build 'untuned' env LOP="$LOP_BUILT/lop" scripts/untuned.sh
stage_of_build 'packages' scripts/package-check.sh --deb
stage_of_build 'replay' printed scripts/replay-check.sh
stage_of_build 'agent' printed scripts/agent-check.sh
stage_of_build 'amp' printed scripts/amp-check.sh
stage_of_build 'amp hints' printed scripts/amp-check.sh --slow 25 5 spinner
stage_of_build 'compare' env LOP="$LOP_BUILT/lop" scripts/compare-aa.sh
stage_of_build 'compare-build' env LOP="$LOP_BUILT/lop" scripts/compare-build.sh
stage_of_build 'guest' env LOP_BIN="$LOP_BUILT/lop" vm/tests/run-test.sh --all
stage_of_build 'kernel' kernel_groups
stage_of_build 'verifier' scripts/verifier-counts.sh
stage_of_build 'deliberate faults' scripts/mutants.sh
stage_of_build 'derived faults' scripts/policy-faults.sh --tenth
stage 'fuzzing' scripts/fuzz.sh "${FUZZ_SECONDS:-1800}"
code=0
finish || code=1
[ $# -gt 0 ] || echo 'printed but not judged: the stages fleet rate, untuned, replay, agent, amp and amp hints; in reader times and runs whose threads wait for one another; in kernel, what is counted as printed'
exit $code
