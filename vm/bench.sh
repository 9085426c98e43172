#!/usr/bin/env bash
# bench.sh: lopsided against the kernel's own scheduler and other sched_ext schedulers in one guest, in interleaved rounds; then what each
# BPF program takes, in a guest on a clock that counts instructions, so that it does not depend on what else the host does. Prints tables
# and writes target/vm-bench/results.json. LOP_PEERS: a folder with scx_lavd, scx_cosmos, scx_bpfland; those on PATH are found without it.
# SCHEDULERS: instead of "eevdf lopsided", which is highlow-spare; lopsided:POLICY is lopsided under another policy, as lopsided:phase.
# GUEST: further options of vm/run, as "--max-mhz 3000,3000,3000,3000,2000,2000,2000,2000": on kinds of CPUs auto has all rules for them.
# BENCHMARKS: of those of bench-in-guest.sh, as "hackbench-pipe-processes fork". TURNS (1): so often each in a round, while a scheduler is loaded.
# ROUNDS (5), COUNTS (3; 0: none), LOOPS and HACKBENCH_GROUPS (200, 2), LOP_BENCH_BIN: a folder with lop, lop-load, lop-judge that are built already.
set -euo pipefail
cd "$(dirname "$0")/.."
out=target/vm-bench
peers=(lavd cosmos bpfland)

build() {
  [ -z "${LOP_BENCH_BIN:-}" ] || { bin=$LOP_BENCH_BIN; return; }
  cargo build --release --locked -q -p lop -p lop-vm-judge
  bin=${CARGO_TARGET_DIR:-target}/release
}

# Peers that are here join, the others are named.
find_peers() {
  local name found
  for name in "${peers[@]}"; do
    if found=$(PATH=${LOP_PEERS:-}:$PATH type -P "scx_$name"); then
      schedulers+=" $name"
      options+=(--bin "$found")
    else
      echo "bench.sh: scx_$name is not installed and stays out (cargo install scx_$name; LOP_PEERS)" >&2
    fi
  done
}

# in_guest VARIABLES [OPTION...]: those say what is measured, options are of vm/run.
in_guest() {
  local variables=$1
  shift
  # shellcheck disable=SC2086  # words
  LOP_BIN=$bin/lop vm/run --cpus 8 --memory-mb 3072 --timeout "${TIMEOUT:-7200}" --share "$out" "$@" ${GUEST:-} "${options[@]}" \
    --bin "$bin/lop-load" --bin "$bin/lop-judge" --bin hackbench --bin perf -- "$variables schedulers='$schedulers' groups=${HACKBENCH_GROUPS:-2}
      benchmarks='${BENCHMARKS:-}' turns=${TURNS:-1} pipe_loops=${PIPE_LOOPS:-2000} wakeup_seconds=${WAKEUP_SECONDS:-3} forks=${FORKS:-500}
$(cat vm/tests/lib.sh vm/bench-in-guest.sh)" >>"$out/log" || { tail -n 20 "$out/log" >&2; return 1; }
}

scripts/need.sh rust cc bpf hackbench perf
schedulers=${SCHEDULERS:-eevdf lopsided} options=() bin=''
find_peers
build
rm -rf "$out"
mkdir -p "$out"
touch "$out/times" "$out/callbacks"
[ "${ROUNDS:-5}" = 0 ] || in_guest "rounds=${ROUNDS:-5} counts=0 loops=${LOOPS:-200}"
[ "${COUNTS:-3}" = 0 ] || in_guest "rounds=0 counts=${COUNTS:-3} loops=$((${LOOPS:-200} / 2))" --instruction-ns 4
[ ! -e "$out/left-out" ] || sort -u "$out/left-out"
awk -v schedulers="$schedulers" -v json="$out/results.json" -f vm/bench-table.awk "$out/times" "$out/callbacks"
echo "$out/results.json"
