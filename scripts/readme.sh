#!/usr/bin/env bash
# SPDX-License-Identifier: GPL-2.0-only
# readme.sh [--check]: writes into README.md what the commands in its comments print: a report up to the published figures, or only its verdict. With
# --check it only compares. Every figure of the page that is not a promise of the code or an example stands in such a block.
set -euo pipefail
cd "$(dirname "$0")/.."
page=README.md
PATH=$(scripts/built.sh):$PATH

# A report as a block of code.
report() {
  echo '```'
  $1 | sed '/^Published/,$d' | sed -e :a -e '/^\n*$/{$d;N;ba' -e '}'
  echo '```'
}

# The second line, which is the verdict, as wide as the page and indented as the comment.
verdict() {
  $1 | sed -n 2p | fold -s -w 145 | sed "s/^/$2/; s/ *$//"
}

renewed() {
  local line skips=
  while IFS= read -r line; do
    [[ $line =~ ^\ *'<!-- end -->' ]] && skips=
    [ -n "$skips" ] && continue
    printf '%s\n' "$line"
    if [[ $line =~ ^'<!-- '(lop .*)' -->'$ ]]; then
      report "${BASH_REMATCH[1]}"
      skips=1
    elif [[ $line =~ ^(\ *)'<!-- verdict of '(lop .*)' -->'$ ]]; then
      verdict "${BASH_REMATCH[2]}" "${BASH_REMATCH[1]}"
      skips=1
    fi
  done <"$page"
}

text=$(renewed)
if [ "${1:-}" != --check ]; then
  echo "$text" >"$page"
elif ! diff -u "$page" - <<<"$text"; then
  echo "readme: $page is not what the commands in its comments print; scripts/readme.sh renews it"
  exit 1
fi
