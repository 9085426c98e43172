#!/usr/bin/env bash
# SPDX-License-Identifier: GPL-2.0-only
# judge-test.sh: boots one guest (half a minute) and checks there that the judge's verdicts follow speeds that are set by hand.
# JUDGE_BIN: folder of lop-load and lop-judge (target/debug under the crate's target folder).
set -euo pipefail
cd "$(dirname "$0")/../.."
bin=${JUDGE_BIN:-${CARGO_TARGET_DIR:-target}/debug}
[ -x "$bin/lop-judge" ] || { echo "judge-test.sh: no lop-judge in $bin; cargo build -p lop-vm-judge" >&2; exit 1; }
traces=target/vm-tests/judge
rm -rf "$traces"
vm/run --cpus 4 --cpufreq --timeout 3600 --share "$traces" --bin "$bin/lop-judge" --bin "$bin/lop-load" \
  -- "$(cat vm/tests/lib.sh vm/tests/judge-in-guest.sh)" && exit
echo "  kernel  $(cat "$(vm/kernel.sh)/release")"
echo "  repeat  JUDGE_BIN=$bin vm/tests/judge-test.sh"
echo "  traces  $traces/: $(ls "$traces" 2>/dev/null | xargs)"
exit 1
