#!/usr/bin/env bash
# SPDX-License-Identifier: GPL-2.0-only
# loads-test.sh: builds the programs of loads/ with gcc, with clang, and with the sanitizers for addresses, undefined behaviour and
# threads, and runs the tests of loads/check on each build.
set -euo pipefail
cd "$(dirname "$0")/.."
scripts/need.sh rust cc openmp clang clang-openmp sanitizers make
target=${CARGO_TARGET_DIR:-target}
clang=$(scripts/clang.sh)
failures=0

# Disables address randomisation, which gcc 12's thread sanitizer needs on some kernels, and which not every container allows.
plain_addresses() {
  if setarch --addr-no-randomize true 2>/dev/null; then setarch --addr-no-randomize "$@"; else "$@"; fi
}

# tested NAME CC KINDS [ARGUMENT-OF-TESTS...]
tested() {
  local name=$1 cc=$2 kinds=$3 folder said
  shift 3
  folder=$(scripts/loads.sh --cc "$cc" --sanitize "$kinds" --out "$target/loads-$name")
  if said=$(LOP_LOADS_DIR=$folder plain_addresses cargo test --locked --workspace --test every_load --test knobs --test structure -- "$@" 2>&1); then
    echo "loads: $name: $(awk '/^test result:/ { sum += $4 } END { print sum + 0 }' <<<"$said") tests passed"
  else
    echo "FAILED loads built by $cc${kinds:+ -fsanitize=$kinds}, in $folder:"
    echo "$said"
    failures=$((failures + 1))
  fi
}

# A second build does nothing, and a changed compiler rebuilds everything.
builds_what_changed() {
  local folder=$target/loads-gcc before
  before=$(stat -c %Y.%y "$folder/matmul")
  scripts/loads.sh --cc gcc --out "$folder" >/dev/null
  [ "$(stat -c %Y.%y "$folder/matmul")" = "$before" ] || { echo 'FAILED a second build does nothing'; failures=$((failures + 1)); }
  scripts/loads.sh --cc cc --out "$folder" >/dev/null
  [ "$(stat -c %Y.%y "$folder/matmul")" != "$before" ] || { echo 'FAILED another compiler builds all'; failures=$((failures + 1)); }
}

tested gcc gcc ''
tested clang "$clang" ''
tested addresses gcc address,undefined
# The thread sanitizer does not know libgomp's barriers, and reports races between accesses that they order.
LOP_LOADS_WITHOUT=parallel-for tested threads gcc thread --skip parallel_for
builds_what_changed

[ "$failures" = 0 ] || { echo "loads-test.sh: $failures failures"; exit 1; }
