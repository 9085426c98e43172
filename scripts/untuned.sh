#!/usr/bin/env bash
# SPDX-License-Identifier: GPL-2.0-only
# untuned.sh: auto over what is shipped, on machines that no rule was tuned to: those that machines-from-source.py makes of Debian's linux-source package,
# with the workloads of as-shipped. Prints distributions of energy and time over all cells, and judges nothing; a machine that lop refuses is a failure.
# LOP: the command (default: lop). No row of a single machine is printed or kept: a rule that is chosen by one would be tuned to it.
set -euo pipefail
cd "$(dirname "$0")/.."
lop=${LOP:-lop}
scripts/need.sh cc python3
source=$(scripts/linux-source.sh)
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT

echo "source: $(basename "$source")"
python3 scripts/machines-from-source.py "$source" data/machines "$work/machines"

failures=0
for file in "$work"/machines/*.toml; do
  "$lop" machine show "$file" >"$work/shown" 2>&1 || { echo "not ok - lop machine show refuses $(basename "$file"): $(head -n 1 "$work/shown")"; failures=1; }
done
[ "$failures" = 0 ] || exit 1

# The sweep over workloads is that of as-shipped, but for the work that most of these machines cannot finish within its time.
{
  echo 'id = "untuned"'
  echo 'title = "auto beside what is shipped, on machines that no rule was tuned to"'
  echo 'description = "Printed as a distribution by scripts/untuned.sh."'
  echo 'machine = "laptop-hybrid"'
  echo 'workload = "browser"'
  echo 'policies = ["linux", "linux:performance", "auto"]'
  echo 'seed = 1'
  echo 'runs = 3'
  echo '[[sweep]]'
  echo 'point = "machine"'
  echo 'key = "machine"'
  (cd "$work" && printf 'values = [\n' && printf '  "./%s",\n' machines/*.toml && printf ']\n')
  awk '/^\[\[sweep\]\]/ { block = "" } { block = block $0 "\n" } END { printf "%s", block }' data/experiments/as-shipped.toml | grep -v '"batch-and-interactive"'
} >"$work/untuned.toml"
"$lop" simulate "$work/untuned.toml" --format json >"$work/results.json"
python3 scripts/distribution.py "$work/results.json"
