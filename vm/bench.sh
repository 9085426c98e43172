#!/usr/bin/env bash
# SPDX-License-Identifier: GPL-2.0-only
# bench.sh: compares lopsided with the kernel's own scheduler and other sched_ext schedulers in one guest, in interleaved rounds. Then it counts the
# instructions that the callbacks of each take for the same work, in a separate guest for each (callbacks.c), so that the counts do not depend on the
# host's load. Prints tables and writes target/vm-bench/results.json.
# LOP_PEERS: a folder with scx_lavd, scx_cosmos, scx_bpfland, scx_rusty; those on PATH are found without it.
# SCHEDULERS: default "eevdf lopsided", where lopsided is highlow-spare; lopsided:POLICY is lopsided under another policy, such as lopsided:phase.
# GUEST: further options of vm/run, such as "--max-mhz 3000,3000,3000,3000,2000,2000,2000,2000": with kinds of CPUs auto has all rules for them.
# BENCHMARKS: a choice of those of bench-in-guest.sh, such as "hackbench-pipe-processes fork". TURNS (1): runs of each in a round, while a scheduler is
# loaded. ROUNDS (5; 0: none), LOOPS and HACKBENCH_GROUPS (200, 2). COUNTED (yes; no), which uses 100 loops. CROWD (0): number of busy threads that may
# only run on CPUs 0 and 1, with the counted work on the others. LOP_BENCH_BIN: a folder with built lop, lop-load, lop-judge.
set -euo pipefail
cd "$(dirname "$0")/.."
out=target/vm-bench
peers=(lavd cosmos bpfland rusty)

build() {
  [ -z "${LOP_BENCH_BIN:-}" ] || { bin=$LOP_BENCH_BIN; return; }
  cargo build --release --locked -q -p lop -p lop-vm-judge
  bin=${CARGO_TARGET_DIR:-target}/release
}

# Installed peers join, the others are named.
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

# in_guest VARIABLES [OPTION...]: the variables tell what to measure; the options are those of vm/run.
in_guest() {
  local variables=$1
  shift
  # shellcheck disable=SC2086  # words
  LOP_BIN=$bin/lop vm/run --cpus 8 --memory-mb 3072 --timeout "${TIMEOUT:-7200}" --share "$out" "$@" ${GUEST:-} "${options[@]}" \
    --bin "$bin/lop-load" --bin "$bin/lop-judge" --bin hackbench --bin perf -- "rounds=0 counted='' loops=100 $variables schedulers='$schedulers' groups=${HACKBENCH_GROUPS:-2}
      crowd=${CROWD:-0} benchmarks='${BENCHMARKS:-}' turns=${TURNS:-1} pipe_loops=${PIPE_LOOPS:-2000} wakeup_seconds=${WAKEUP_SECONDS:-3} forks=${FORKS:-500}
$(cat vm/tests/lib.sh vm/bench-in-guest.sh)" >>"$out/log" || { tail -n 20 "$out/log" >&2; return 1; }
  [ ! -e "$out/left-out" ] || { cat "$out/left-out" >>"$out/all-left-out" && rm "$out/left-out"; }
}

# QEMU accepts plugins for any version of its interface that it still supports.
plugin() {
  local version=1
  qemu-system-x86_64 --version | grep -q 'version [78]\.' || version=2
  cc -shared -fPIC -O2 -Wall -Wextra -Werror "-DPLUGIN_VERSION=$version" vm/callbacks.c -o "$out/callbacks.so"
}

# A separate guest for each, since a program may be loaded at the address of an earlier one.
count_callbacks() {
  local all=$schedulers scheduler
  plugin
  schedulers='' in_guest 'counted=marks' --instruction-ns 4
  for scheduler in $all; do
    [ "$scheduler" != eevdf ] || continue
    rm -f "$out/switches"
    schedulers=$scheduler in_guest "counted=$scheduler" --instruction-ns 4 --plugin "$PWD/$out/callbacks.so,marks=$PWD/$out/marks,out=$PWD/$out/counted"
    [ -e "$out/switches" ] || continue
    [ -s "$out/counted" ] || { echo "bench.sh: no callback of $scheduler was counted: $out/log" >&2; return 1; }
    awk -v of="$scheduler" -f vm/bench-counted.awk "$out/symbols" "$out/switches" "$out/counted" >>"$out/callbacks"
  done
}

scripts/need.sh rust cc bpf hackbench perf
schedulers=${SCHEDULERS:-eevdf lopsided} options=() bin=''
find_peers
build
rm -rf "$out"
mkdir -p "$out"
touch "$out/times" "$out/callbacks"
[ "${ROUNDS:-5}" = 0 ] || in_guest "rounds=${ROUNDS:-5} loops=${LOOPS:-200}"
[ "${COUNTED:-yes}" = no ] || count_callbacks
[ ! -e "$out/all-left-out" ] || sort -u "$out/all-left-out"
awk -v schedulers="$schedulers" -v json="$out/results.json" -f vm/bench-table.awk "$out/times" "$out/callbacks"
echo "$out/results.json"
