#!/usr/bin/env bash
# SPDX-License-Identifier: GPL-2.0-only
# verifier-counts.sh [--write]: compares the numbers of instructions that the verifier processed, as printed by the guest tests,
# with kernel/verifier.tsv. Fails if a program needs over 10 % more, if a printed one is not in the table, and if one in the table
# was not printed although its kernel ran. The kernels depend on the mirror, so a kernel that printed nothing is only named.
# --write stores the printed numbers instead, and keeps those of other kernels.
set -euo pipefail
cd "$(dirname "$0")/.."
kept=kernel/verifier.tsv
guests='verifier verifier-oldest'
for guest in $guests; do
  grep -q '^ *count ' "target/vm-tests/$guest.log" 2>/dev/null ||
    { echo "verifier-counts.sh: $guest printed no counts: run vm/tests/run.sh $guests first" >&2; exit 1; }
done
# The kernel cuts names, so of programs with the same one the dearest counts.
# shellcheck disable=SC2086  # words
counts=$(cd target/vm-tests && sed -n 's/^ *count //p' ${guests// /.log }.log | sort -k 1,4 -k 5,5nr | sort -s -u -k 1,4)
if [ "${1:-}" = --write ]; then
  [ -e "$kept" ] || : >"$kept"
  others=$(awk -F'[ \t]' 'FILENAME == "-" { printed[$1] = 1; next } FNR > 1 && !($1 in printed)' - "$kept" <<<"$counts")
  { printf 'kernel\tcpus\trules\tprogram\tinstructions\n'; printf '%s\n' "$counts" "$others" | tr ' ' '\t' | sed '/^$/d' | sort -u; } >"$kept.new"
  mv "$kept.new" "$kept"
  echo "verifier-counts.sh: kept in $kept"
  exit
fi
awk -F'[ \t]' -v guests="$guests" '
  { key = $1 " " $2 " " $3 " " $4; of = $1 ", " $2 " CPUs, " $3 " rules" }
  FILENAME != "-" {
    if (FNR > 1) { kept[key] = $5; order[++count] = key; was[of] += $5 }
    next
  }
  {
    printed[key] = ran[$1] = 1
    sum[of] += $5
    if (!(key in kept)) { print key ": not kept yet"; unknown++; next }
    if ($5 > kept[key] * 1.1) { printf "%s: %d instructions, %d are kept\n", key, $5, kept[key]; grew++ }
  }
  END {
    for (i = 1; i <= count; i++) {
      split(order[i], part, " ")
      if (!(part[1] in ran)) absent[part[1]] = 1
      else if (!(order[i] in printed)) { print order[i] ": kept, but not printed"; missing++ }
    }
    for (kernel in absent) print "kernel " kernel ": kept, but not among those that ran"
    for (of in sum) printf "kernel %s: %d instructions in all, %d kept\n", of, sum[of], was[of]
    write = "scripts/verifier-counts.sh --write"
    if (grew) print "a rule became dearer: mend it, or keep it with " write
    if (unknown) print unknown " not kept: a program or a kernel is new; if it should be, keep it with " write
    if (missing) print missing " not printed: run vm/tests/run.sh " guests " to its end; if a program is gone for good, " write
    exit grew || unknown || missing
  }' "$kept" - <<<"$counts"
