#!/usr/bin/env bash
# kernel-results.sh: prints what the last `vm/tests/run.sh --soak` judged and what it found, as Markdown; soak.sh keeps it in docs/kernel-results.md.
set -euo pipefail
cd "$(dirname "$0")/.."
logs=target/vm-tests

# The kernel of a group: the newest, unless it asks for another one.
kernel_of() {
  local asked
  asked=$(sed -n 's/^# guest: .*--kernel \([^ ]*\).*/\1/p' "vm/tests/soak/$1.sh")
  cat "$(vm/kernel.sh ${asked:+"$asked"})/release"
}

for file in vm/tests/soak/*.sh; do
  group=$(basename "$file" .sh)
  [ -e "$logs/$group.log" ] || { echo "kernel-results.sh: $group has not run: vm/tests/run.sh --soak" >&2; exit 1; }
done
cat <<EOF
# What the kernel side did

Written by \`make soak\` on $(date -u +%Y-%m-%d), commit $(git rev-parse --short HEAD)$(git diff --quiet HEAD || echo ' with changes'). Guests are emulated: a figure compares what ran in one
boot, and says nothing of how long anything takes on a real machine. Lines with ok or FAILED are judged; the others are figures
that may come out otherwise by chance, and are said only.
EOF
for file in vm/tests/soak/*.sh; do
  group=$(basename "$file" .sh)
  printf '\n## %s\n\n%s\n\nKernel %s. %s\n\n| | check | figures |\n|---|---|---|\n' "$group" \
    "$(sed -n '1s/^# [a-z-]*.sh: //p' "$file")" "$(kernel_of "$group")" "$(grep -E '^[0-9]+ held, ' "$logs/$group.log" | tail -n 1 || echo 'It did not come to its end.')"
  sed -n -E '/^((not )?ok|figure) - /{ s/^figure - (.*): (holds|does not hold)( \((.*)\))?$/| \2 | \1 | \4 |/;  s/^not ok - ([^:]*): (.*)$/| FAILED | \1 | \2 |/; s/^ok - (.*) \((.*)\)$/| ok | \1 | \2 |/; s/^ok - (.*)$/| ok | \1 | |/; p }' "$logs/$group.log"
done
