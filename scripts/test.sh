#!/usr/bin/env bash
# test.sh: everything that is checked. Ends with the time of each stage and the count of tests that ran.
# FUZZ_SECONDS: time for all fuzzers together (60).
set -euo pipefail
cd "$(dirname "$0")/.."
. scripts/stages.sh

# rt-app's own examples are not ours to ship; the tests that load them are told where they are.
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

# The guest that the tests of the kernel side stand on, its helpers, and the judge of what was traced there.
guest_itself() {
  local debug=${CARGO_TARGET_DIR:-target}/debug
  cargo build --locked -q -p lop -p lop-vm-judge &&
    vm/tests/lib-test.sh && LOP_BIN=$debug/lop vm/tests/run-test.sh && LOP_BIN=$debug/lop JUDGE_BIN=$debug vm/tests/judge-test.sh
}

rm -f "$logs"/*.log
scripts/need.sh rust cc clang bpf c++ make openmp clang-openmp sanitizers
find_rtapp_examples
stages_of_lint
stage 'policy check' scripts/policy-check-test.sh
stage 'policy gcc' scripts/policy-check.sh gcc
stage 'policy clang' scripts/policy-check.sh clang
stage 'policy bpf' scripts/policy-check.sh bpf
stage 'tests' cargo test --workspace --locked --no-fail-fast
stage 'examples' scripts/examples-check.sh
stage 'loads' scripts/loads-test.sh
stage 'packages' scripts/package-check.sh
stage 'guest' guest_itself
stage 'kernel' vm/tests/run.sh
stage 'counts check' scripts/verifier-counts-test.sh
stage 'verifier' scripts/verifier-counts.sh
stage 'fuzzing' scripts/fuzz.sh "${FUZZ_SECONDS:-60}"

rc=0
finish || rc=1
read -r passed failed < <(cargo_counts)
[ "$passed" -gt 0 ] || { echo 'no test ran'; rc=1; }
echo "$passed passed, $failed failed"
{ grep -E ' FAILED, exit code |^not ok - ' "$logs/kernel.log" || true; tail -n 1 "$logs/kernel.log"; } | sed 's/^/on the real kernel: /'
exit $rc
