#!/usr/bin/env bash
# SPDX-License-Identifier: GPL-2.0-only
# fuzz.sh [SECONDS]: fuzzes every reader of what users or their programs write, guided by coverage, for SECONDS (60) in total.
#
# The engine is libFuzzer. cargo-fuzz only wants a nightly compiler for its sanitizers. The coverage instrumentation is an LLVM
# pass that the stable compiler has too, and in safe code the faults to find are panics.
# Seeds are the files of data/ and machine/tests/live/trees, fuzz/seeds for formats without such files, and rt-app's own
# examples if LOP_RTAPP_EXAMPLES names them. New inputs go to target/fuzz/corpus, crashing ones to target/fuzz/crashes.
set -euo pipefail
cd "$(dirname "$0")/.."
seconds=${1:-60}
case $seconds in '' | *[!0-9]*) echo "fuzz.sh: expected seconds, found '$seconds'" >&2; exit 2 ;; esac
scripts/need.sh rust cc c++ bpf

out=target/fuzz
host=$(rustc -vV | sed -n 's/^host: //p')
mapfile -t targets < <(sed -n 's/^name = "\(.*_\(toml\|json\|sysfs\|text\|trace\|page\)\)"$/\1/p' fuzz/Cargo.toml)
each=$((seconds / ${#targets[@]}))
[ "$each" -gt 0 ] || each=1
mkdir -p "$out/crashes"

seeds_of() {
  case $1 in
    machine_toml) printf '%s\n' data/machines fuzz/seeds/machine_toml ;;
    override_toml) echo data/machines ;;
    fit_toml) echo data/machines/fits ;;
    workload_toml) echo data/workloads ;;
    rtapp_json) printf '%s\n' fuzz/seeds/rtapp_json ${LOP_RTAPP_EXAMPLES:+"$LOP_RTAPP_EXAMPLES"} ;;
    experiment_toml) echo data/experiments ;;
    live_sysfs) echo machine/tests/live/trees ;;
    meter_* | intensity_text | published_toml) echo "fuzz/seeds/$1" ;;
    speeds_json | qos_json) echo "fuzz/seeds/$1" ;;
    recording_trace | hint_page) echo "fuzz/seeds/$1" ;;
  esac
}

build() {
  local flags='-Cpasses=sancov-module -Cllvm-args=-sanitizer-coverage-level=4 --cfg fuzzing'
  flags+=' -Cllvm-args=-sanitizer-coverage-inline-8bit-counters -Cllvm-args=-sanitizer-coverage-pc-table'
  flags+=' -Cllvm-args=-sanitizer-coverage-trace-compares'
  # The product's lock file, for the same versions; cargo adds the engine to it.
  [ fuzz/Cargo.lock -nt Cargo.lock ] || cp Cargo.lock fuzz/Cargo.lock
  # --target keeps the flags away from build scripts and procedural macros.
  RUSTFLAGS=$flags cargo build --quiet --release --manifest-path fuzz/Cargo.toml --target "$host" --target-dir "$out"
}

# The first number after "cov:" in the given lines of a libFuzzer log.
coverage() {
  sed -n "s/.*$2.* cov: \([0-9]*\) .*/\1/p" "$1" | tail -n 1
}

run() {
  local target=$1 log=$out/$1.log corpus=$out/corpus/$1 seeds input rc=0 before after runs
  mkdir -p "$corpus"
  mapfile -t seeds < <(seeds_of "$target")
  [ -d "${seeds[0]}" ] || { echo "fuzz.sh: $target: no seeds: ${seeds[0]} is missing" >&2; return 1; }
  "$out/$host/release/$target" -max_total_time="$each" -timeout=600 -rss_limit_mb=1024 -max_len=16384 -print_final_stats=1 \
    -artifact_prefix="$out/crashes/$target-" "$corpus" "${seeds[@]}" >"$log" 2>&1 || rc=$?
  if [ $rc != 0 ]; then
    echo "fuzz.sh: $target failed (exit $rc); the end of $log:" >&2
    grep -aE 'panicked|ERROR|Test unit written' -A 2 "$log" | head -n 20 >&2
      input=$(sed -n 's/.*Test unit written to //p' "$log" | tail -n 1)
    echo "fuzz.sh: once more: $out/$host/release/$target $input" >&2
    return 1
  fi
  before=$(coverage "$log" INITED)
  after=$(coverage "$log" DONE)
  runs=$(sed -n 's/^stat::number_of_executed_units: *//p' "$log")
  echo "fuzz: $target: $runs inputs in $each s, coverage $before -> $after"
  # Without coverage the engine is just a random generator, and its success means little.
  [ "${after:-0}" -gt 100 ] || { echo "fuzz.sh: $target: no coverage seen; see $log" >&2; return 1; }
}

build
failed=0
for target in "${targets[@]}"; do run "$target" || failed=$((failed + 1)); done
[ $failed = 0 ] || { echo "fuzz.sh: $failed of ${#targets[@]} targets failed" >&2; exit 1; }
