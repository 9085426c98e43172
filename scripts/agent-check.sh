#!/usr/bin/env bash
# SPDX-License-Identifier: GPL-2.0-only
# agent-check.sh [ROUNDS]: cost and delay of enforcement by affinity. Prints the time from when a second thread wants to run until the first one has a
# second CPU (highlow), and the share of one CPU that lop itself took with eight busy processes and with none, and that of lop top. LOP_BIN: the program.
set -euo pipefail
cd "$(dirname "$0")/.."
rounds=${1:-20}
lop=${LOP_BIN:-${CARGO_TARGET_DIR:-target}/debug/lop}
[ "$(nproc)" -ge 2 ] || { echo 'agent-check.sh: needs two CPUs' >&2; exit 1; }
LOP_RUN_DIR=$(mktemp -d)
export LOP_RUN_DIR
trap 'rm -rf "$LOP_RUN_DIR"' EXIT

# Bound to one CPU while it is alone. Then another process runs until this one gets its second CPU.
cat >"$LOP_RUN_DIR/reaction" <<'EOF'
own() { while read -r name list; do [ "$name" = Cpus_allowed_list: ] && cpus=$list; done </proc/self/status; }
for _ in $(seq "$1"); do
  own; while [[ $cpus == *[-,]* ]]; do own; done
  begin=${EPOCHREALTIME/./}
  (while :; do :; done) &
  other=$!
  own; while [[ $cpus != *[-,]* ]]; do own; done
  echo $((${EPOCHREALTIME/./} - begin))
  kill $other; wait $other 2>/dev/null || true
done
EOF
"$lop" run --enforce affinity --policy highlow -- bash "$LOP_RUN_DIR/reaction" "$rounds" | sort -n |
  awk '{ us[NR] = $1 } END { printf "reaction: median %.1f ms, longest %.1f ms of %d\n", us[int((NR + 1) / 2)] / 1000, us[NR] / 1000, NR }'

share() {
  "$lop" run -v --enforce affinity --policy highlow-spare -- "$@" 2>&1 >/dev/null | grep -o 'looked.*'
}
echo "eight busy: $(share bash -c 'for _ in 1 2 3 4 5 6 7 8; do (end=$((SECONDS + 10)); while [ $SECONDS -lt $end ]; do :; done) & done; wait')"
echo "idle: $(share sleep 10)"

# On a terminal of 80 x 24, measured by the CPU time of its threads.
top_share() {
  local pid before after begin
  script -qec "stty rows 24 cols 80; echo \$\$ >'$LOP_RUN_DIR/top'; exec '$lop' top" /dev/null < <(exec sleep 20) >/dev/null &
  sleep 5
  pid=$(cat "$LOP_RUN_DIR/top")
  took() { awk '{ sum += $1 } END { print sum }' "/proc/$pid/task"/*/schedstat; }
  before=$(took) begin=${EPOCHREALTIME/./}
  sleep 10
  after=$(took)
  awk -v ns=$((after - before)) -v us=$((${EPOCHREALTIME/./} - begin)) 'BEGIN { printf "%.3f %% of one CPU in %.1f s\n", ns / us / 10, us / 1e6 }'
  kill -INT "$pid"
  wait
}
echo "lop top: $(top_share)"
