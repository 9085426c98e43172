#!/usr/bin/env bash
# SPDX-License-Identifier: GPL-2.0-only
# compare-build.sh [ROUNDS]: compares `make -j2` of a small C tree under linux and highlow-spare, enforced by affinity, with the modelled meter, in 10
# rounds. Prints the table without judging its figures. Exit code 1 unless the command succeeds and the table is complete: every run of both policies
# with its time and energy, ratios with intervals, and energies marked as modelled. LOP: the program.
set -euo pipefail
cd "$(dirname "$0")/.."
rounds=${1:-10}
lop=$(realpath "${LOP:-${CARGO_TARGET_DIR:-target}/debug/lop}")
scripts/need.sh make cc python3
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
scripts/c-tree.sh "$folder" 20
cd "$folder"
"$lop" machine capture -o host.toml
XDG_STATE_HOME=$folder/state "$lop" compare --policy linux,highlow-spare --enforce affinity --meter modelled --model ./host.toml --runs "$rounds" --warmup 1 \
  --prepare 'make -s clean' --export-json "$folder/table.json" -- make -s -j2 | tee "$folder/table"
grep -q 'energy: modelled' "$folder/table" || { echo 'compare-build.sh: the table does not say that energies are modelled' >&2; exit 1; }
python3 - "$folder/table.json" "$rounds" <<'PYTHON'
import json, sys

table, rounds = json.load(open(sys.argv[1])), int(sys.argv[2])
results = table["results"]
assert [row["policy"] for row in results] == ["linux", "highlow-spare"], results
assert table["rounds"] == rounds and table["meter"]["kind"] == "modelled", table["meter"]
assert table["enforcement"].startswith("affinity"), table["enforcement"]
for row in results:
    assert row["exit_codes"] == [0] * rounds and row["meter"] == "modelled", row
    for values in (row["times"], row["energies_j"]):
        assert len(values) == rounds and min(values) > 0, row
for low, high in results[1]["relative_ci95"].values():
    assert 0 < low <= high, results[1]
assert {"time", "edp"} < set(results[1]["relative_ci95"]), results[1]
PYTHON
