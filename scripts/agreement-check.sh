#!/usr/bin/env bash
# SPDX-License-Identifier: GPL-2.0-only
# agreement-check.sh [--all]: checks that docs/agreement.md is exactly what `lop reproduce --agreement` prints, and that the likely cause of each miss is told.
# With --all also that another seed and a single thread change no verdict.
set -euo pipefail
cd "$(dirname "$0")/.."
page=docs/agreement.md
lop=$(scripts/built.sh)/lop

# The verdicts of a page: how many figures are near, which hold, and, by their notes, which are missed.
verdicts() {
  awk -F ' \\| ' '!/^\|/ || NF < 7 || NF > 8 { print; next } { print $1, $(NF - 2) ~ /^[hsa]/ ? $(NF - 2) : "", $NF }'
}

printed=$("$lop" reproduce --agreement)
kept=$(cat "$page")
if ! diff -u --label "$page" --label 'lop reproduce --agreement' - <(echo "$printed") <<<"$kept"; then
  echo "agreement: $page is out of date; 'lop reproduce --agreement >$page' renews it, and a miss stays a miss"
  exit 1
fi
if grep -n 'The cause is not known' "$page"; then
  echo "agreement: a miss without a cause; give the most likely one in data/published.toml (cause), or say there what was looked for in vain"
  exit 1
fi
if [ "${1:-}" = --all ]; then
  other=$("$lop" reproduce --agreement --seed 2 --threads 1)
  if ! diff -u <(verdicts <<<"$kept") <(verdicts <<<"$other"); then
    echo 'agreement: verdicts differ with --seed 2 --threads 1'
    exit 1
  fi
fi
echo "agreement: $(grep -c '^## ' <<<"$printed") studies are as in $page"
