#!/usr/bin/env bash
# verifier-counts.sh [--write]: compares the instructions that the verifier looked at, as the guest tests printed them, with
# kernel/verifier.tsv; fails where a program needs more than a tenth more. --write keeps what was printed instead.
set -euo pipefail
cd "$(dirname "$0")/.."
kept=kernel/verifier.tsv
counts=$(cat target/vm-tests/verifier*.log 2>/dev/null | sed -n 's/^ *count //p' | sort -u)
[ -n "$counts" ] || { echo 'verifier-counts.sh: no counts: run vm/tests/run.sh verifier verifier-oldest first' >&2; exit 1; }
if [ "${1:-}" = --write ]; then
  { printf 'kernel\tcpus\tprogram\tinstructions\n'; tr ' ' '\t' <<<"$counts"; } >"$kept"
  echo "verifier-counts.sh: kept in $kept"
  exit
fi
awk -F'[ \t]' '
  NR == FNR { kept[$1 " " $2 " " $3] = $4; next }
  {
    key = $1 " " $2 " " $3
    sum[$1 " " $2] += $4
    if (!(key in kept)) { unknown[$1 " " $2]++; next }
    was[$1 " " $2] += kept[key]
    if ($4 > kept[key] * 1.1) { printf "%s: %d instructions, %d are kept\n", key, $4, kept[key]; grew++ }
  }
  END {
    for (of in sum) printf "kernel and CPUs %s: %d instructions in all, %d kept%s\n", of, sum[of], was[of], unknown[of] ? ", " unknown[of] " programs not kept yet" : ""
    if (grew) { print "a rule became dearer: mend it, or keep it with scripts/verifier-counts.sh --write"; exit 1 }
  }' "$kept" - <<<"$counts"
