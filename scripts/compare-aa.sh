#!/usr/bin/env bash
# SPDX-License-Identifier: GPL-2.0-only
# compare-aa.sh [REPETITIONS [ROUNDS [WORK]]]: tests `lop compare` on this machine. It makes 100 comparisons of a command with itself (A/A) and counts
# how many 95 % intervals of the time's ratio cover 1; and 100 with a command of 10 % more work (A/B), and counts how many are above 1. Each has 10
# rounds. LOP names the binary; the command is a shell that counts, about 20 ms. Fails if fewer than 83 of A/A cover 1: if each does with 94 %
# probability, that happens in 3 of 100,000 runs. The count of A/B is only printed, since it depends on what else the machine does.
set -euo pipefail
cd "$(dirname "$0")/.."
lop=${LOP:-target/release/lop}
repetitions=${1:-100}
rounds=${2:-10}
work=${3:-20000}
need=$((repetitions * 83 / 100))

[ -x "$lop" ] || { echo "compare-aa: no $lop; run 'make build', or name another with LOP=FILE" >&2; exit 1; }
scripts/need.sh python3
export XDG_STATE_HOME
XDG_STATE_HOME=$(mktemp -d)
trap 'rm -rf "$XDG_STATE_HOME"' EXIT

# count N: a line for sh that counts to N.
count() { echo "i=0; while [ \$i -lt $1 ]; do i=\$((i + 1)); done"; }

# Sets $value, $low and $high: the time's ratio of the second result and its interval.
ratio() {
  local said
  said=$("$lop" compare --meter none --format json "$@" 2>"$XDG_STATE_HOME/err" |
    python3 -c 'import json, sys; r = json.load(sys.stdin)["results"][1]; print(r["relative"]["time"], *r["relative_ci95"]["time"])') ||
    { cat "$XDG_STATE_HOME/err" >&2; return 1; }
  read -r value low high <<<"$said"
}

covered=0 found=0
for ((i = 1; i <= repetitions; i++)); do
  ratio --policy linux,linux --runs "$rounds" --seed "$i" "$(count "$work")"
  if awk "BEGIN { exit !($low <= 1 && 1 <= $high) }"; then
    covered=$((covered + 1))
  else
    printf 'repetition %d: %.3f [%.3f, %.3f] does not cover 1\n' "$i" "$value" "$low" "$high"
  fi
  ratio --runs "$rounds" --seed "$i" "$(count "$work")" "$(count $((work * 11 / 10)))"
  if awk "BEGIN { exit !($low > 1) }"; then
    found=$((found + 1))
  else
    printf 'repetition %d, 10 %% more work: %.3f [%.3f, %.3f] is not found\n' "$i" "$value" "$low" "$high"
  fi
done
echo "A/A: $covered of $repetitions intervals of $rounds rounds cover 1"
echo "A/B, 10 % more work: $found of $repetitions intervals of $rounds rounds lie above 1"
[ "$covered" -ge "$need" ] || { echo "fewer than $need cover 1" >&2; exit 1; }
