#!/usr/bin/env bash
# SPDX-License-Identifier: GPL-2.0-only
# mutants.sh [NAME...]: tests the gate. Makes each fault of mutants.tsv, or the named ones, in a copy of the last commit (with uncommitted changes to
# files that git knows), and runs the cheapest check of the gate that must then fail. Ends with a table; fails if a check passed. target/mutants keeps
# the copy, the builds and the logs. MUTANTS_WITHOUT=guest skips faults that need a guest.
set -euo pipefail
cd "$(dirname "$0")/.."
. scripts/fault-tree.sh
table=$PWD/scripts/mutants.tsv
work=$PWD/target/mutants
tree=$work/tree
log=$work/log
export CARGO_TARGET_DIR=$work/target
# The same as in the gate.
export PROPTEST_RNG_SEED=1
unset LOP_BUILT
runner=none

# wanted NAME...: lines of the table, with tab-separated fields: name, check, file, the original text, the faulty text.
wanted() {
  local name
  if [ $# -eq 0 ]; then
    grep -v '^#' "$table" | if [ "${MUTANTS_WITHOUT:-}" = guest ]; then grep -v $'\tguest '; else cat; fi
    return
  fi
  for name in "$@"; do grep "^$name	" "$table" || { echo "mutants.sh: no fault '$name' in $table" >&2; return 2; }; done
}

# with_fault FILE BEFORE AFTER: prints the file with the fault in it.
with_fault() {
  local text rest
  text=$(<"$1") rest=${text#*"$2"}
  if [ "$rest" = "$text" ] || [ "${rest#*"$2"}" != "$rest" ]; then echo "mutants.tsv: not once in $1: $2" >&2; return 1; fi
  printf '%s\n' "${text%%"$2"*}$3$rest"
}

# build CHECK, run CHECK: CHECK is arguments of cargo test, `guest GROUP` or `fleet`.
# shellcheck disable=SC2086  # words
build() {
  case $1 in
    fleet) ;;
    guest\ *) cargo build --locked -p lop -p lop-vm-judge ;;
    *) cargo test --locked --no-run $1 ;;
  esac
}

# Runs until the first test or sentence fails, in a session of its own, so that all of it can be ended then.
# shellcheck disable=SC2206  # words
run() {
  local command=(cargo test --locked --no-fail-fast $1)
  case $1 in
    guest\ *) command=(env LOP_BUILT="$CARGO_TARGET_DIR/debug" LOP_VM_JOBS=1 vm/tests/run.sh "${1#guest }") ;;
    fleet) command=(scripts/fleet-test.sh) ;;
  esac
  setsid timeout 3600 "${command[@]}" >"$log" 2>&1 &
  runner=$!
  while kill -0 "$runner" 2>/dev/null && [ -z "$(first_failed)" ]; do sleep 0.5; done
  kill -TERM -- "-$runner" 2>/dev/null || true
  wait "$runner"
}

# The first failed test or sentence in the log.
first_failed() { sed -n -e '/^ *--- FAIL: /{s/^ *--- FAIL: \([^ ]*\).*/\1/p;q}' -e '/^test .* FAILED$/{s/^test \(.*\) \.\.\. FAILED$/\1/p;q}' -e '/: not ok - /{s/.*: not ok - \([^:]*\).*/\1/p;q}' "$log"; }

# try NAME CHECK FILE BEFORE AFTER: sets $found to what found the fault. Fails if nothing did.
try() {
  with_fault "$3" "$4" "$5" >"$work/faulty"
  cat "$work/faulty" >"$3"
  log=$work/$1.log
  found="**it does not compile**, see $log"
  build "$2" >"$log" 2>&1 || return
  found="**NOT FOUND** by $2"
  ! run "$2" || return
  found=$(first_failed)
  [ -z "$found" ] || { found="${2#-p }: $found"; return 0; }
  found="**no test failed, and yet $2 did**, see $log"
  return 1
}

trap 'kill -TERM -- "-$runner" 2>/dev/null || true' EXIT
copy_tree "$tree"
wanted "$@" >"$work/wanted"
while IFS=$'\t' read -r _ _ file before after; do with_fault "$file" "$before" "$after" >/dev/null; done <"$work/wanted"
while read -r check; do
  log=$work/unchanged.log
  echo "== without a fault: $check"
  if ! build "$check" >"$log" 2>&1 || ! run "$check"; then tail -n 20 "$log"; echo "mutants.sh: $check is red without a fault"; exit 1; fi
done < <(cut -f 2 "$work/wanted" | sort -u)

rows=() missed=0
while IFS=$'\t' read -r name check file before after; do
  begin=$SECONDS
  try "$name" "$check" "$file" "$before" "$after" </dev/null || missed=$((missed + 1))
  git checkout --quiet -- "$file"
  echo "$name: $found ($((SECONDS - begin)) s)"
  rows+=("| ${name//-/ } | $file | $found |")
done <"$work/wanted"
printf '\n| fault | file | found by |\n|---|---|---|\n'
printf '%s\n' "${rows[@]}"
printf '\n%d faults, %d found\n' ${#rows[@]} $((${#rows[@]} - missed))
[ $missed = 0 ]
