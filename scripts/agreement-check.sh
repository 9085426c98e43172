#!/usr/bin/env bash
# agreement-check.sh [--all]: docs/agreement.md is what `lop reproduce --agreement` prints, byte by byte. Without --all, only its sections about
# studies that are quick.
set -euo pipefail
cd "$(dirname "$0")/.."
page=docs/agreement.md
lop=$(scripts/built.sh)/lop
slow=(critical-sections barriers)

# Sections that do not follow a heading of a slow study.
quick_part() {
  awk -v slow=" ${slow[*]} " '/^## / { taken = !index(slow, " " $2 " ") } taken' "$page"
}

if [ "${1:-}" = --all ]; then
  printed=$("$lop" reproduce --agreement)
  kept=$(cat "$page")
else
  mapfile -t studies < <(sed -n 's/^study = "\(.*\)"$/\1/p' data/published.toml | uniq | grep -vxF "$(printf '%s\n' "${slow[@]}")")
  printed=$("$lop" reproduce --agreement "${studies[@]}" | sed 1d)
  kept=$(quick_part)
fi
if ! diff -u --label "$page" --label 'lop reproduce --agreement' - <(echo "$printed") <<<"$kept"; then
  echo "agreement: $page is not what comes out; 'lop reproduce --agreement >$page' renews it, and a miss stays a miss"
  exit 1
fi
echo "agreement: $(grep -c '^## ' <<<"$printed") studies come out as $page has them"
