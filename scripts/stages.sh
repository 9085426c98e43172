# SPDX-License-Identifier: GPL-2.0-only
# Sourced by lint.sh, test.sh and soak.sh: runs named stages, continues after a failed one, and sums up at the end. The caller's arguments name the
# stages to run; by default all.
# shellcheck shell=bash

only=("$@")

# among NAME LIST...: whether NAME is in the list.
among() {
  local name
  for name in "${@:2}"; do [ "$name" != "$1" ] || return 0; done
  return 1
}

wanted() { [ ${#only[@]} = 0 ] || among "$1" "${only[@]}"; }

stage_names=()
stage_seconds=()
stage_results=()
logs=target/test-logs
mkdir -p "$logs"

# begin: a complete run removes the logs of earlier ones. Stages that run alone use what is built, so the build comes first.
begin() {
  if [ ${#only[@]} -gt 0 ]; then only+=(build); else rm -f "$logs"/*.log; fi
}

record() {
  stage_names+=("$1")
  stage_seconds+=("$2")
  stage_results+=("$3")
}

# stage NAME COMMAND...: runs it, and shows and keeps its output.
stage() {
  local name=$1 begin=$SECONDS result=ok
  wanted "$name" || return 0
  shift
  echo "== $name"
  if ! "$@" 2>&1 | tee "$logs/${name// /-}.log"; then result=FAILED; fi
  record "$name" $((SECONDS - begin)) "$result"
  echo "== $name: $result, $((SECONDS - begin)) s"
}

has_failed() {
  local i
  for i in "${!stage_names[@]}"; do
    if [ "${stage_names[i]}" = "$1" ] && [[ ${stage_results[i]} = FAILED* ]]; then return 0; fi
  done
  return 1
}

# LOP_BUILT tells all later stages where the builds are.
stage_that_builds() {
  unset LOP_BUILT
  stage 'build' scripts/built.sh
  LOP_BUILT=$(realpath "${CARGO_TARGET_DIR:-target}")/debug
  export LOP_BUILT
}

# stage_of_build NAME COMMAND...: a stage that needs the stage build. Without it, the stage would test an older build.
stage_of_build() {
  if wanted "$1" && has_failed build; then
    echo "== $1: not run: the build failed"
    record "$1" 0 'not run (the build failed)'
  else
    stage "$@"
  fi
}

# skip NAME REASON: for tools that a developer may lack; continuous integration (CI set) must have everything.
skip() {
  wanted "$1" || return 0
  echo "== $1: not run: $2"
  if [ -n "${CI:-}" ]; then record "$1" 0 "FAILED (missing in CI: $2)"; else record "$1" 0 "not run ($2)"; fi
}

format() {
  cargo fmt --all --check && cargo fmt --check --manifest-path fuzz/Cargo.toml
}

stages_of_lint() {
  if cargo fmt --version >/dev/null 2>&1; then
    stage 'format' format
  else
    skip 'format' 'this toolchain has no rustfmt: rustup component add rustfmt'
  fi
  if cargo clippy --version >/dev/null 2>&1; then
    stage 'clippy' cargo clippy --workspace --all-targets --locked -- -D warnings
  else
    skip 'clippy' 'this toolchain has no clippy: rustup component add clippy'
  fi
  stage 'house rules' scripts/house-rules.sh
  stage 'licences' scripts/licences.sh
  stage 'policy rules' scripts/policy-check.sh rules
  stage 'policy index' scripts/policy-index.sh --check
  stage 'policy faults' scripts/policy-faults.sh --check
}

# Counts the tests that cargo really ran, from its "test result" lines: prints "PASSED FAILED".
cargo_counts() {
  [ -e "$logs/tests.log" ] || { echo '0 0'; return; }
  awk '
    /^test result:/ { for (i = 2; i <= NF; i++) { if ($i == "passed;") passed += $(i - 1); if ($i == "failed;") failed += $(i - 1) } }
    END { print passed + 0, failed + 0 }' "$logs/tests.log"
}

# Lines in a stage's log that tell which check failed, and how to repeat it.
failures='^FAILED |^ *--- FAIL: |^not ok |^vm/run: |^test .* FAILED$|^error(\[|:)| FAILED, exit code |^  (check|kernel|repeat|log|traces)  '

# explain STAGE: prints what failed, or else its last lines; the commands that repeat the tests and the stage alone; and its log.
explain() {
  local log=$logs/${1// /-}.log seed='' said=''
  if [ -e "$log" ]; then
    seed=$(grep -hxE -m 1 'PROPTEST_RNG_SEED=[0-9]+' "$log") || true
    said=$(grep -hE "$failures" "$log" | sed "${seed:+s/.*to rerun pass \`\(.*\)\`.*/  repeat  $seed cargo test --locked \1/}" | head -n 60) || true
    [ -n "$said" ] || said=$(tail -n 5 "$log" | sed 's/^/  /')
  fi
  echo "$1:"
  [ -z "$said" ] || echo "$said"
  echo "  repeat  ${seed:+$seed }scripts/${0##*/} '$1'"
  echo "  log     $log"
}

# Prints a line per stage and fails if one failed.
finish() {
  local i name failed=() total=0
  echo
  for i in "${!stage_names[@]}"; do
    printf '%-16s %5d s  %s\n' "${stage_names[i]}" "${stage_seconds[i]}" "${stage_results[i]}"
    total=$((total + stage_seconds[i]))
    case ${stage_results[i]} in FAILED*) failed+=("${stage_names[i]}") ;; esac
  done
  printf '%-16s %5d s\n' total "$total"
  for name in "${only[@]}"; do
    among "$name" "${stage_names[@]}" || { echo "no stage '$name'"; return 1; }
  done
  [ ${#failed[@]} -eq 0 ] && return
  echo
  for i in "${!failed[@]}"; do explain "${failed[i]}"; done
  return 1
}
