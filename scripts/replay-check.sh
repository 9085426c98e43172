#!/usr/bin/env bash
# SPDX-License-Identifier: GPL-2.0-only
# replay-check.sh [RUNS]: records `make -j2` of a small C tree on this machine, replays it on a model of this machine, and compares
# the simulated time with the measured one: the median of RUNS (5) must be within 10 %. Exit code 3: it is not, or others disturbed
# every run.
#
# The tree is generated in a temporary folder: 24 files of C and one program. A run that others disturbed (according to the
# recording they held a CPU for more than 5 % of the time while the build was ready for it) is repeated, up to three times RUNS.
# The measured command runs without recording, alternating with the recorded one.
#
#   LOP    the program to check (default: lop)
#   BOUND  the allowed deviation, in percent (default: 10)
set -euo pipefail
runs=${1:-5}
lop=${LOP:-lop}
bound=${BOUND:-10}
case $runs in '' | *[!0-9]* | 0) echo "replay-check.sh: expected a number of runs, found '$runs'" >&2; exit 2 ;; esac
for tool in "$lop" make cc awk; do
  command -v "$tool" >/dev/null || { echo "replay-check.sh: $tool is missing (apt-get install make gcc; LOP=path of lop)" >&2; exit 1; }
done

folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT

# Elapsed seconds of a command.
seconds() {
  local begin
  begin=$(date +%s%N)
  "$@" >/dev/null
  awk -v ns=$(($(date +%s%N) - begin)) 'BEGIN { printf "%.4f\n", ns / 1e9 }'
}

median() { sort -n | awk '{ v[NR] = $1 } END { print (v[int((NR + 1) / 2)] + v[int(NR / 2) + 1]) / 2 }'; }

# The number with this name in the JSON of a replay.
number() { sed -n "s/^ *\"$1\": \([0-9.e-]*\),*$/\1/p" "$2" | head -n 1; }

"$(dirname "$0")/c-tree.sh" "$folder"
cd "$folder"
"$lop" machine capture -o host.toml
make -s -j2 >/dev/null
good=0
for turn in $(seq $((3 * runs))); do
  make -s clean
  measured=$(seconds make -s -j2)
  make -s clean
  "$lop" record --force -o build.trace -- make -s -j2 2>note
  "$lop" simulate --trace build.trace --machine ./host.toml --policy linux --format json >replay.json
  recorded=$(number recorded_s replay.json)
  others=$(number others_s replay.json)
  simulated=$(number time_s replay.json)
  line=$(awk -v m="$measured" -v r="$recorded" -v o="$others" -v s="$simulated" \
    'BEGIN { printf "measured %.3f s, recorded %.3f s, simulated %.3f s, simulated / measured %.3f, held by others %.3f s", m, r, s, s / m, o }')
  if awk -v o="$others" -v r="$recorded" 'BEGIN { exit !(o > 0.05 * r) }'; then
    echo "turn $turn: $line: disturbed, not counted"
    continue
  fi
  echo "turn $turn: $line"
  awk -v m="$measured" -v s="$simulated" 'BEGIN { print s / m }' >>ratios
  good=$((good + 1))
  [ "$good" -lt "$runs" ] || break
done
[ "$good" -gt 0 ] || { echo "replay-check.sh: others disturbed every run; try again on an idle machine" >&2; exit 3; }
ratio=$(median <ratios)
echo "simulated / measured: $ratio in the median of $good runs; size of a recording: $(stat -c %s build.trace) bytes"
awk -v r="$ratio" -v b="$bound" 'BEGIN { exit !(r > 1 + b / 100 || r < 1 - b / 100) }' || exit 0
echo "replay-check.sh: expected a ratio within $bound % of 1" >&2
exit 3
