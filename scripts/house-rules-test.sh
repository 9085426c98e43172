#!/usr/bin/env bash
# SPDX-License-Identifier: GPL-2.0-only
# Tests house-rules.sh: each file below breaks one rule and must be found for that reason; the last ones break none.
set -euo pipefail
cd "$(dirname "$0")/.."
trial=$(mktemp -d)
trap 'rm -rf "$trial"' EXIT
failures=0

# finds REASON FILE TEXT: a repository with this file alone is refused with REASON; an empty REASON: it is accepted.
finds() {
  local code=0
  rm -rf "${trial:?}"/*
  mkdir -p "$trial/$(dirname "$2")"
  printf '%s\n' "$3" >"$trial/$2"
  scripts/house-rules.sh "$trial" >"$trial.log" 2>&1 || code=$?
  if { [ -n "$1" ] && { [ "$code" = 0 ] || ! grep -q -e "$1" "$trial.log"; }; } || { [ -z "$1" ] && [ "$code" != 0 ]; }; then
    echo "house-rules-test.sh: expected '${1:-no finding}' for $2: $3"
    cat "$trial.log"
    failures=$((failures + 1))
  fi
}

for call in 'lop_gather(p);' 'moves = lop_spread(p);' 'unsafe { ffi::lop_spread(plan) }' 'planner.gather(&mut threads);' \
  'Planner::spread(&mut planner, &mut threads);' 'lop_plan_domains(p, s, threads, nr);'; do
  finds 'only policy/ makes such a plan' simulator/src/plan.rs "$call"
  finds '' policy/src/plan.rs "$call"
done
finds '' kernel/src/plan.rs 'planner.plan(sched, &mut threads, period_ns, now_ns);'
finds 'at most 700' lop/src/long.rs "$(seq 701)"
finds 'what is missing' lop/src/notes.rs '// TO''DO: all of it'
finds 'does not exist' docs/links.md '[more](nowhere.md)'
rm -f "$trial.log"
[ "$failures" = 0 ] || exit 1
echo 'house rules check: each broken rule is found'
