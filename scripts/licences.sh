#!/usr/bin/env bash
# SPDX-License-Identifier: GPL-2.0-only
# licences.sh: checks that every file of code names the licence of its folder, that LICENSES/ has the texts, and that everything linked into `lop` is
# compatible with GPL-2.0-only.
set -euo pipefail
cd "$(dirname "$0")/.."
. scripts/findings.sh

licence_of() {
  case $1 in
    policy/*) echo 'GPL-2.0-only OR BSD-2-Clause' ;;
    simulator/* | machine/* | compare/* | report/* | trace/* | hints/*) echo 'MIT OR Apache-2.0' ;;
    fleet/*) echo 'Apache-2.0' ;;
    *) echo 'GPL-2.0-only' ;;
  esac
}

while IFS=: read -r file said; do
  [ "$said" = "$(licence_of "$file")" ] || finding "$file: expected 'SPDX-License-Identifier: $(licence_of "$file")' in its first two lines, found '$said'"
done < <(find . '(' -name target -o -name .git ')' -prune -o -type f '(' -name '*.rs' -o -name '*.[ch]' -o -name '*.def' -o -name '*.sh' -o -name '*.awk' -o -name '*.go' -o -name '*.js' -o -name '*.css' -o -name '*.py' \
    -o -name '*.yaml' -o -name Cargo.toml -o -name Makefile -o -name go.mod -o -name '*.service' -o -path ./.ci/run ')' \
  -printf '%P\n' | sort | xargs awk '
    FNR == 1 { if (file != "") print file ":" said; file = FILENAME; said = "" }
    FNR <= 2 && /SPDX-License-Identifier: / { said = $0; sub(/.*SPDX-License-Identifier: /, "", said); sub(/ *\*\/$/, "", said) }
    END { print file ":" said }')

for licence in GPL-2.0-only BSD-2-Clause MIT Apache-2.0; do
  [ -s "LICENSES/$licence.txt" ] || finding "LICENSES/$licence.txt: its text is missing"
done

# Licences that may be linked into a GPL-2.0-only program, and what cargo says of each crate. cargo-deny asks the same of the same data, but Debian has
# no package of it, and to compile it takes longer than the rest of `make lint`. clang-sys is Apache-2.0: scx_utils depends on it for building BPF programs, but `lop` calls
# none of it and so contains none of it.
allowed=' MIT BSD-2-Clause BSD-3-Clause 0BSD ISC Zlib Unlicense BSL-1.0 Unicode-3.0 LGPL-2.1-only GPL-2.0-only '
not_linked=' clang-sys '

# Whether at least one alternative consists of allowed licences only: evaluates the expression as arithmetic, with 1 or 0 for each licence.
is_allowed() {
  local expression='' word
  for word in $(sed 's/ WITH [A-Za-z0-9.-]*/-with-exception/g; s,/, OR ,g; s/[()]/ & /g' <<<"$1"); do
    case $word in
      OR) expression+='||' ;;
      AND) expression+='&&' ;;
      '(' | ')') expression+=$word ;;
      *) [[ $allowed == *" $word "* ]] && expression+=1 || expression+=0 ;;
    esac
  done
  ((expression))
}

crates=0
while IFS='|' read -r crate licence; do
  crates=$((crates + 1))
  [[ $not_linked == *" ${crate%% *} "* ]] || is_allowed "$licence" || finding "$crate: '$licence' must not be linked into lop, which is GPL-2.0-only"
done < <(cargo tree --locked --package lop --edges normal --prefix none --format '{p}|{l}' | sed 's/ (\*)$//; s/ (\/[^)]*)|/|/' | sort -u)
[ "$crates" -gt 50 ] || finding "cargo tree lists $crates crates only: not what lop links"

end_of_findings 'licences'
echo "licences: each file names its own, $crates crates may be linked into lop"
