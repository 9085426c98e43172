#!/usr/bin/env bash
# SPDX-License-Identifier: GPL-2.0-only
# Tests verifier-counts.sh with fake logs and a fake table: it must find counts that grew, and new or missing programs and kernels.
set -euo pipefail
cd "$(dirname "$0")/.."
trial=$(mktemp -d)
trap 'rm -rf "$trial"' EXIT
mkdir -p "$trial/scripts" "$trial/kernel" "$trial/target/vm-tests"
cp scripts/verifier-counts.sh "$trial/scripts/"
failures=0
checks=0

# printed NEWEST OLDEST: the output of the guests, in lines of `KERNEL CPUS RULES PROGRAM INSTRUCTIONS`.
printed() {
  local logs=$trial/target/vm-tests
  rm -f "$logs"/*
  { echo 'ok - the verifier takes it'; sed 's/^/count /' <<<"$1"; } >"$logs/verifier.log"
  [ -z "$2" ] || sed 's/^/count /' <<<"$2" >"$logs/verifier-oldest.log"
}

# compared EXPECTED-CODE SAID [OPTION]: the expected exit code of the comparison, and a part of its output.
compared() {
  local expected=$1 said=$2 code=0
  shift 2
  checks=$((checks + 1))
  "$trial/scripts/verifier-counts.sh" "$@" >"$trial/log" 2>&1 || code=$?
  [ "$code" = "$expected" ] && grep -qF -e "$said" "$trial/log" && return
  echo "verifier-counts-test.sh: check $checks: exit code $code, expected $expected and '$said':"
  cat "$trial/log"
  failures=$((failures + 1))
}

newest=$'7.2 64 no one 100\n7.2 64 no two 1000'
oldest='6.16 64 no one 200'

printed "$newest" "$oldest"
compared 0 'kept in kernel/verifier.tsv' --write
compared 0 'kernel 7.2, 64 CPUs, no rules: 1100 instructions in all, 1100 kept'

printed "${newest/100$'\n'/110$'\n'}" "$oldest"
compared 0 '7.2, 64 CPUs, no rules: 1110 instructions in all, 1100 kept'
printed "${newest/100$'\n'/111$'\n'}" "$oldest"
compared 1 '7.2 64 no one: 111 instructions, 100 are kept'
compared 1 'a rule became dearer'

printed "$newest"$'\n7.2 64 all one 5' "$oldest"
compared 1 '7.2 64 all one: not kept yet'
printed "$newest"$'\n7.2 64 no three 5' "$oldest"
compared 1 '7.2 64 no three: not kept yet'
compared 1 'scripts/verifier-counts.sh --write'
printed "${newest//7.2/7.3}" "$oldest"
compared 1 '7.3 64 no one: not kept yet'
compared 1 'kernel 7.2: kept, but not among those that ran'

printed "${newest%$'\n'*}" "$oldest"
compared 1 '7.2 64 no two: kept, but not printed'
compared 1 'run vm/tests/run.sh verifier verifier-oldest'

# Two programs with the same name in what the kernel tells of it: the dearer one counts.
printed "$newest"$'\n7.2 64 no one 20' "$oldest"
compared 0 'kernel 7.2, 64 CPUs, no rules: 1100 instructions in all, 1100 kept'

# Mirrors differ in their newest kernel: the counts of both are kept, and either one is enough.
printed "${newest//7.2/6.18}" "$oldest"
compared 0 'kept in' --write
compared 0 'kernel 7.2: kept, but not among those that ran'
printed "$newest" "$oldest"
compared 0 'kernel 6.18: kept, but not among those that ran'

# A guest that printed nothing is neither compared nor kept.
printed "$newest" ''
compared 1 'verifier-oldest printed no counts'
compared 1 'verifier-oldest printed no counts' --write

printed "$newest"$'\n7.2 64 no three 5' "$oldest"
compared 0 'kept in' --write
compared 0 '7.2, 64 CPUs, no rules: 1105 instructions in all, 1105 kept'

: >"$trial/kernel/verifier.tsv"
compared 1 '7.2 64 no one: not kept yet'

[ "$failures" = 0 ] || exit 1
echo "verifier-counts.sh: $checks checks held"
