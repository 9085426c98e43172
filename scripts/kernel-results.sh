#!/usr/bin/env bash
# SPDX-License-Identifier: GPL-2.0-only
# kernel-results.sh COMMIT: prints the checks and results of the last `vm/tests/run.sh --soak` as Markdown; soak.sh stores it in
# docs/kernel-results.md. COMMIT: the commit that was tested.
set -euo pipefail
cd "$(dirname "$0")/.."
logs=target/vm-tests
commit=${1:?COMMIT}

# The kernel of a group: the newest, unless it names another one.
kernel_of() {
  local asked
  asked=$(sed -n 's/^# guest: .*--kernel \([^ ]*\).*/\1/p' "vm/tests/soak/$1.sh")
  cat "$(vm/kernel.sh ${asked:+"$asked"})/release"
}

# The description in its first lines.
shows() { awk '/^# SPDX-/ { next } !shown { sub(/^# [a-z-]*\.sh: /, "") } /^# [a-z]*: / { exit } { sub(/^# /, ""); printf "%s%s", (shown++ ? " " : ""), $0 } END { print "" }' "vm/tests/soak/$1.sh"; }

# Rows: a sentence, its result, its figures. Bars in them are escaped.
rows() {
  sed -n -E '/^((not )?ok|figure) - / {
    s/\|/\\|/g
    s/^figure - (.*): (holds|does not hold)( \((.*)\))?$/| \2 | \1 | \4 |/
    s/^not ok - (.*)$/| FAILED | \1 | |/
    s/^ok - ([^(]*) \((.*)\)$/| ok | \1 | \2 |/
    s/^ok - (.*)$/| ok | \1 | |/
    p
  }' "$logs/$1.log"
}

for file in vm/tests/soak/*.sh; do
  group=$(basename "$file" .sh)
  [ -e "$logs/$group.log" ] || { echo "kernel-results.sh: $group has not run: vm/tests/run.sh --soak" >&2; exit 1; }
  grep -qE '[0-9]+ held, [0-9]+ failed$' "$logs/$group.log" || { echo "kernel-results.sh: $group did not come to its end: $logs/$group.log" >&2; exit 1; }
done
groups() {
  local file group
  for file in vm/tests/soak/*.sh; do
    group=$(basename "$file" .sh)
    printf '\n## %s\n\n%s\n\nKernel %s. %s\n\n| | check | figures |\n|---|---|---|\n' "$group" "$(shows "$group")" "$(kernel_of "$group")" \
      "$(grep -oE '[0-9]+ held, [0-9]+ failed$' "$logs/$group.log" | tail -n 1)"
    rows "$group"
  done
}
tables=$(groups)

# count KIND: the number of rows of that kind.
count() { grep -c "^| $1 | " <<<"$tables" || true; }

cat <<EOF
# What the kernel side did

Written by \`make soak\` on $(date -u +%Y-%m-%d), commit $commit. Guests are emulated: a figure compares what ran in one
boot, and says nothing of how long anything takes on a real machine. Beside other schedulers: [peers.md](peers.md).

Judged: $(count ok) held, $(count FAILED) failed. Printed only, since it may come out otherwise by chance: $(count holds) sentences held, $(count 'does not hold') did not:

$(sed -n 's/^| does not hold | \(.*\) | \(.*\) |$/- \1 (\2)/p' <<<"$tables" | sed 's/ ( *)$//')
$tables
EOF
