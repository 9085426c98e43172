#!/usr/bin/env bash
# judge-test.sh: boots one guest (half a minute) and shows there that the judge's verdicts follow speeds that were set by hand.
# JUDGE_BIN: folder of lop-load and lop-judge (target/debug under the crate's target folder).
set -euo pipefail
cd "$(dirname "$0")/../.."
bin=${JUDGE_BIN:-${CARGO_TARGET_DIR:-target}/debug}
[ -x "$bin/lop-judge" ] || { echo "judge-test.sh: no lop-judge in $bin; cargo build -p lop-vm-judge" >&2; exit 1; }
exec vm/run --cpus 4 --cpufreq --timeout 3600 --bin "$bin/lop-judge" --bin "$bin/lop-load" -- "$(cat vm/tests/lib.sh vm/tests/judge-in-guest.sh)"
