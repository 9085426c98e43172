#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-only
# policy-index.sh: two tables of policy/README.md. One leads from a rule to its header, test and experiments. It is made from the first comment of
# each header: its first sentence, and the line `Tested in: NAMES. Studied in: NAMES.` The other lists the policies of policies.def.
#   policy-index.sh            prints the table of rules
#   policy-index.sh --write    puts both into policy/README.md
#   policy-index.sh --check    fails if policy/README.md has others, or a name in the table of rules has no file
set -euo pipefail
cd "$(dirname "$0")/.."
readme=policy/README.md

# The first comment of a header on one line, without its stars.
first_comment() {
  awk 'NR > 1 && /^\/\*/ { inside = 1 } inside { print } inside && /\*\// { exit }' "$1" |
    sed -E 's#^ ?/?\*+/?##; s#\*/$##' | tr '\n' ' ' | tr -s ' '
}

# Reads a header's comment into `rule`, `tests` and `studies`; fails if it has no line for the table.
read_header() {
  local comment
  comment=$(first_comment "$1")
  [[ $comment =~ Tested\ in:\ ([^.]*)\.\ Studied\ in:\ ([^.]*)\. ]] || return
  tests=${BASH_REMATCH[1]} studies=${BASH_REMATCH[2]}
  rule=$(sed -E 's/^ *//; s/\. .*//' <<<"$comment")
}

table() {
  echo '| rule | header | tests | experiments |'
  echo '|---|---|---|---|'
  local header rule tests studies
  for header in policy/{sets,place,queue,fast,domains,reserved,core}/*.h; do
    read_header "$header" || continue
    echo "| $rule | [${header#policy/}](${header#policy/}) | $tests | $studies |"
  done
}

policies() {
  echo '| name | what it is |'
  echo '|---|---|'
  sed -nE 's/^LOP_POLICY\("([^"]*)", [A-Z_]*, "([^"]*)".*/| `\1` | \2 |/p' policy/policies.def
}

# README.md with the tables between their marks.
with_tables() {
  sed '/^<!-- rules: /q' "$readme"
  table
  sed -n '/^<!-- end of rules -->/,/^<!-- policies: /p' "$readme"
  policies
  sed -n '/^<!-- end of policies -->/,$p' "$readme"
}

# Headers with rules that the table lacks, and names in it that no file has.
gaps() {
  local header rule tests studies name
  for header in policy/{sets,place,queue,fast,domains,reserved}/*.h policy/core/{auto,config}.h; do
    [[ $header != *_state.h ]] || continue
    read_header "$header" || { echo "$header: its first comment lacks the line 'Tested in: NAMES. Studied in: NAMES.'"; continue; }
    for name in ${tests//,/ }; do
      [ -e "policy/tests/policy/$name.rs" ] || [ -d "$name" ] || echo "$header: Tested in: $name: no such test"
    done
    for name in ${studies//,/ }; do
      [ "$name" = none ] || [ -e "data/experiments/$name.toml" ] || echo "$header: Studied in: $name: no such experiment"
    done
  done
}

case ${1-} in
  --write) with_tables >"$readme.new" && mv "$readme.new" "$readme" ;;
  --check)
    cmp -s <(with_tables) "$readme" || { echo "$readme: its tables are not those of the headers and of policies.def: scripts/policy-index.sh --write" >&2; exit 1; }
    found=$(gaps)
    [ -z "$found" ] || { echo "$found" >&2; exit 1; }
    ;;
  *) table ;;
esac
