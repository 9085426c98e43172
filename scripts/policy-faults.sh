#!/usr/bin/env bash
# SPDX-License-Identifier: GPL-2.0-only
# policy-faults.sh: tests the tests of policy/ with faults that policy-faults.awk derives from its headers.
#   policy-faults.sh --tenth [SEED]   a random tenth of the faults; prints the seed that repeats the choice
#   policy-faults.sh --all            all of them
#   policy-faults.sh NAME...          these
#   policy-faults.sh --list           prints all: name, file, line, the text there, the faulty text
#   policy-faults.sh --check          the gate: the derivation misses no named constant and no formula, altered headers compile, each judged fault exists
# One build in target/faults has all faults, and the variable LOP_FAULT selects one. Each runs `cargo test -p lop-policy --test policy` until a test fails.
# Fails if none does, unless policy-faults.tsv says why no test can; and if a test finds a fault that is listed there.
set -euo pipefail
cd "$(dirname "$0")/.."
. scripts/fault-tree.sh
derive=$PWD/scripts/policy-faults.awk
judged=$PWD/scripts/policy-faults.tsv
work=$PWD/target/faults
export CARGO_TARGET_DIR=$work/target
# The same as in the gate.
export PROPTEST_RNG_SEED=1
# The altered headers know bindgen's clang from the compiler.
export CC=gcc

folders=(policy/*/) headers=(policy/[!s]*/*.h policy/sets/*.h policy/lopsided.h)

# derived [FOLDER]: all faults; also writes the altered headers to FOLDER.
derived() { awk ${1:+-v out="$1"} -f "$derive" "${headers[@]}"; }

# with_faults LIST: alters the policy/ of the folder that it runs in, and lists the faults. Functions are not inlined, as each has
# several bodies, which every caller would copy.
with_faults() {
  local name numbers
  derived . >"$1"
  sed -i 's/static inline __attribute__((always_inline, unused))/static inline __attribute__((noinline, unused))/' policy/core/env.h
  sed -i 's/opt_level(3)/opt_level(1)/; s/-Wall/-w/; /-Wextra/d; /-Werror/d' policy/build.rs
  sed -i '/#include "types.h"/r /dev/stdin' policy/src/native.h <<'C'
#ifdef __clang__
static const int lop_fault;
#else
char *getenv(const char *name);
int atoi(const char *digits);
static int lop_fault;
__attribute__((constructor)) static void lop_read_fault(void) { lop_fault = getenv("LOP_FAULT") ? atoi(getenv("LOP_FAULT")) : 0; }
#endif
#define lop_not_after(a, b) ((s64)((a) - (b)) <= 0)
C
  # Constants that rules in Rust use.
  while read -r name; do
    numbers=$(grep -nE "^$name(-half)?	" "$1" | cut -d: -f1 | paste -sd,)
    sed -i "/const /!s/ffi::$name\>/crate::with_fault([$numbers], &)/" policy/src/*.rs
  done < <(grep -hv 'const ' policy/src/*.rs | grep -o 'ffi::LOP_[A-Z_]*' | cut -d: -f3 | sort -u)
  cat >>policy/src/lib.rs <<'RUST'
#[allow(dead_code)]
pub(crate) fn with_fault(numbers: [usize; 2], value: u32) -> u32 {
    let on = std::env::var("LOP_FAULT").ok().and_then(|number| number.parse().ok());
    if on == Some(numbers[0]) { 2 * value } else if on == Some(numbers[1]) { value / 2 } else { value }
}
RUST
}

compiles() {
  echo '#include "src/native.h"' >policy/all.c
  gcc -std=gnu11 -fsyntax-only -w -Ipolicy "${folders[@]/#/-I}" policy/all.c
}

judgements() { grep -v '^#' "$judged"; }

check() {
  local code=0 list=$work/checked trial constant name text reason
  trial=$(mktemp -d)
  cp -r policy "$trial"
  (cd "$trial" && with_faults "$list" && compiles) || { echo 'policy-faults.sh: the headers with all faults do not compile'; code=1; }
  rm -rf "$trial"
  derived >/dev/null || code=1
  while read -r constant; do
    grep -qE "^$constant(-half)?	" "$list" || { echo "policy-faults.sh: $constant has no fault"; code=1; }
  done < <(sed -nE 's/^[ \t]*#[ \t]*define[ \t]+(LOP_[A-Z0-9_]+)[ \t]+[^ \t].*/\1/p' "${headers[@]}")
  while IFS=$'\t' read -r name text reason; do
    [ -n "$reason" ] || { echo "policy-faults.sh: $name is judged without a reason"; code=1; }
    cut -f 1,5 "$list" | grep -xF "$name	$text" >/dev/null || { echo "policy-faults.sh: $name is judged, but no such fault exists: $text"; code=1; }
  done < <(judgements)
  [ $code != 0 ] || echo "policy faults: $(wc -l <"$list"), $(judgements | wc -l) of them judged"
  return $code
}

# build: sets $tests to a program with all faults.
build() {
  copy_tree "$work/tree"
  with_faults "$work/list"
  if ! cargo test --locked --no-run -p lop-policy --test policy >"$work/build.log" 2>&1; then tail -n 40 "$work/build.log"; return 1; fi
  tests=$(realpath "$(sed -nE 's/^ *Executable .*\((.*)\)$/\1/p' "$work/build.log")")
  cd policy
}

# found NUMBER: prints what finds the fault; nothing if all tests pass. A fault that lets the tests run for more than $limit seconds is found by the
# timeout only if they need less than a quarter of that without a fault ($alone): then the fault takes the time, not the machine.
limit=60 alone=60
found() {
  local line
  line=$({ LOP_FAULT=$1 timeout $limit "$tests" 2>/dev/null || echo "exit $?"; } | grep -m 1 -E '^test .* FAILED$|^test result: ok|^exit ') || true
  case $line in
    'test result: ok'*) ;;
    'exit 124') if ((4 * alone < limit)); then echo "TIMEOUT of $limit s, found: without a fault it is $alone s"; else echo '**TIMEOUT**'; fi ;;
    'exit '*) echo "the end of the process (${line#exit })" ;;
    *) sed -E 's/^test (.*) \.\.\. FAILED$/\1/' <<<"$line" ;;
  esac
}

# The numbers of a tenth of the faults that are not judged. The generator is that of Park and Miller: awks differ in theirs.
tenth() {
  awk -F '\t' -v seed="$1" 'BEGIN { x = seed % 2147483646 + 1; for (i = 0; i < 10; i++) x = x * 16807 % 2147483647 }
    FNR == NR { judged[$1] = 1; next }
    { x = x * 16807 % 2147483647 }
    x % 10 == 0 && !($1 in judged) { print FNR }' "$judged" "$work/list"
}

# The numbers of faults by name.
named() {
  local name
  for name in "$@"; do
    grep -nE "^$name	" "$work/list" | cut -d: -f1 | grep . || { echo "policy-faults.sh: no fault '$name'" >&2; return 2; }
  done
}

# try NUMBER...: tries each fault, and fails if one is neither found nor judged.
try() {
  local number name text by begin wrong=0 timeouts=0 count=$# begin_all=$SECONDS
  by=$(found 0)
  [ -z "$by" ] || { echo "policy-faults.sh: without a fault: $by"; return 1; }
  alone=$((SECONDS - begin_all))
  for number in "$@"; do
    IFS=$'\t' read -r name _ _ _ text < <(sed -n "${number}p" "$work/list")
    begin=$SECONDS
    by=$(found "$number")
    if judgements | grep "^$name	" >/dev/null; then
      if [ -z "$by" ]; then by=judged; else by="**JUDGED, BUT FOUND** by $by" wrong=$((wrong + 1)); fi
    elif [ -z "$by" ]; then
      by="**NOT FOUND**: $text" wrong=$((wrong + 1))
    elif [ "$by" = '**TIMEOUT**' ]; then
      by="$by of $limit s, which tells nothing: without a fault it is $alone s" wrong=$((wrong + 1))
    fi
    [[ $by != *TIMEOUT* ]] || timeouts=$((timeouts + 1))
    echo "$name: $by ($((SECONDS - begin)) s)"
  done
  echo "$count faults, $wrong not as they should be, $timeouts timeouts, $((SECONDS - begin_all)) s; $alone s without a fault"
  [ $wrong = 0 ]
}

mkdir -p "$work"
case ${1---help} in
  --list) derived ;;
  --check) check ;;
  --tenth)
    seed=${2:-$SRANDOM}
    echo "seed $seed: scripts/policy-faults.sh --tenth $seed repeats this choice"
    build
    mapfile -t numbers < <(tenth "$seed")
    try "${numbers[@]}"
    ;;
  --all)
    build
    mapfile -t numbers < <(seq "$(wc -l <"$work/list")")
    try "${numbers[@]}"
    ;;
  --*) sed -n '3,/^set/{/^set/d;s/^# \{0,1\}//;p}' "$0" ;;
  *)
    build
    named "$@" >"$work/numbers"
    mapfile -t numbers <"$work/numbers"
    try "${numbers[@]}"
    ;;
esac
