#!/usr/bin/env bash
# SPDX-License-Identifier: GPL-2.0-only
# house-rules.sh [FOLDER]: checks the rules for every file of the repository, or of FOLDER: at most 700 lines of code, no notes of unfinished work, no
# dead links, no second planner.
set -euo pipefail
cd "$(dirname "$0")/.."
. scripts/findings.sh
cd "${1:-.}"

files() {
  find . -name target -prune -o -name .git -prune -o -type f "$@" -print
}

while read -r file; do
  lines=$(wc -l <"$file")
  [ "$lines" -le 700 ] || finding "$file: $lines lines, at most 700: one module per concern"
done < <(files '(' -name '*.rs' -o -name '*.[ch]' -o -name '*.sh' -o -name '*.awk' -o -name '*.js' -o -name '*.go' ')')

# Written in parts, so that the pattern does not match this line.
notes='TO''DO|FIX''ME|X''XX'
while read -r hit; do
  finding "$hit: do it, or document what is missing"
done < <(files '(' -name '*.rs' -o -name '*.[ch]' -o -name '*.sh' -o -name '*.go' -o -name '*.md' -o -name '*.toml' ')' |
  xargs -r grep -nEHw "$notes" | cut -d: -f1,2 || true)

# Relative links and pictures in documents: [text](target), without those that have a scheme or are anchors.
while read -r file; do
  while read -r target; do
    [ -e "$(dirname "$file")/$target" ] || finding "$file: link to $target, which does not exist"
  done < <(grep -oE '\]\([^)# ]+' "$file" | cut -c3- | grep -v '^[a-z]*:' || true)
done < <(files -name '*.md')

# Plans are made by lop_plan_threads() alone, which adapters give facts. A caller of one kind of plan has to decide again which threads are planned, and how.
while read -r hit; do
  finding "$hit: only policy/ makes such a plan; call lop_plan_threads() (Planner::plan)"
done < <(files '(' -name '*.rs' -o -name '*.[ch]' -o -name '*.go' ')' -not -path './policy/*' |
  xargs -r grep -nEH '\blop_(gather|spread|plan_domains)\b|(\.|Planner::)(gather|spread)\(' | cut -d: -f1,2 || true)

end_of_findings 'house rules'
echo 'house rules: kept'
