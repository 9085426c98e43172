#!/usr/bin/env bash
# SPDX-License-Identifier: GPL-2.0-only
# Checks that every file of data/ can be read by the command it is made for, by path as a user would give it.
set -euo pipefail
cd "$(dirname "$0")/.."
lop=$(scripts/built.sh)/lop
count=0
failures=0
shopt -s nullglob

# check FILE COMMAND...: must succeed and print something.
check() {
  local file=$1 said
  shift
  count=$((count + 1))
  if ! said=$("$@" 2>&1) || [ -z "$said" ]; then
    echo "$file: failed: $*"
    echo "$said" | sed 's/^/    /' | head -n 5
    failures=$((failures + 1))
  fi
}

for file in data/machines/*.toml; do check "$file" "$lop" machine show "$file"; done
for file in data/machines/fits/*.toml; do check "$file" "$lop" machine fit "$file"; done
for file in data/workloads/*.toml; do check "$file" "$lop" workload show "$file"; done
known=$("$lop" reproduce --list)
for file in data/experiments/*.toml; do
  check "$file" grep -w "$(basename "$file" .toml)" - <<<"$known"
done
[ "$count" -gt 0 ] || { echo 'examples: no files in data/'; exit 1; }
[ "$failures" = 0 ] || { echo "examples: $failures of $count files failed"; exit 1; }
echo "examples: $count files of data/ read"
