#!/usr/bin/env bash
# SPDX-License-Identifier: GPL-2.0-only
# test.sh [STAGE...]: the gate, or some stages of it. Every check here is exact: a result, the order of events, a count on a clock that counts
# instructions, settings restored byte by byte, a replay that agrees. Checks of shares, delays or percentiles are in soak.sh. Ends with the time of
# each stage and the number of tests that ran.
set -euo pipefail
cd "$(dirname "$0")/.."
. scripts/stages.sh

# rt-app's own examples are not ours to ship; this tells the tests that load them where they are.
find_rtapp_examples() {
  [ -n "${LOP_RTAPP_EXAMPLES:-}" ] && return
  [ -x scripts/rtapp-examples.sh ] || return 0
  local folder
  scripts/need.sh --listed rt-app || true
  if folder=$(scripts/rtapp-examples.sh); then
    export LOP_RTAPP_EXAMPLES=$folder
  else
    skip 'rt-app examples' 'scripts/rtapp-examples.sh could not fetch them'
  fi
}

# proptest uses the same seed each time; soak.sh uses new ones.
all_tests() {
  echo 'PROPTEST_RNG_SEED=1'
  PROPTEST_RNG_SEED=1 cargo test --workspace --locked --no-fail-fast
}

# The stages with a guest: tests of the guest itself, and the groups of gate/.
guest_itself() {
  vm/tests/lib-test.sh && LOP_BIN=$LOP_BUILT/lop vm/tests/run-test.sh && JUDGE_BIN=$LOP_BUILT vm/tests/judge-test.sh
}

begin
scripts/need.sh rust cc clang bpf go dbus-daemon make openmp clang-openmp sanitizers python3 unshare
find_rtapp_examples
stages_of_lint
stage 'house check' scripts/house-rules-test.sh
stage 'policy check' scripts/policy-check-test.sh
stage 'policy gcc' scripts/policy-check.sh gcc
stage 'policy clang' scripts/policy-check.sh clang
stage 'policy bpf' scripts/policy-check.sh bpf
stage 'fleet' scripts/fleet-test.sh
stage_that_builds
stage_of_build 'tests' all_tests
stage_of_build 'examples' scripts/examples-check.sh
stage_of_build 'agreement' scripts/agreement-check.sh
stage_of_build 'converter' env LOP="$LOP_BUILT/lop" scripts/machines-from-source-test.sh
stage_of_build 'readme' scripts/readme.sh --check
stage_of_build 'loads' scripts/loads-test.sh
stage_of_build 'packages' scripts/package-check.sh
stage_of_build 'guest' guest_itself
stage_of_build 'kernel' vm/tests/run.sh
stage 'counts check' scripts/verifier-counts-test.sh

rc=0
finish || rc=1
if wanted tests; then
  read -r passed failed < <(cargo_counts)
  [ "$passed" -gt 0 ] || { echo 'no test ran'; rc=1; }
  echo "$passed passed, $failed failed"
fi
! wanted kernel || [ ! -e "$logs/kernel.log" ] || echo "on the real kernel: $(tail -n 1 "$logs/kernel.log")"
exit $rc
