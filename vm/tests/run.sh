#!/usr/bin/env bash
# run.sh [GROUP...]: shows on the real kernel what is claimed of the scheduler. Builds lop, lop-load and lop-judge, boots a guest for each
# group (in-guest/GROUP.sh; all of them unless named) and sums up. As many guests at a time as there are CPUs here, or LOP_VM_JOBS.
# LOP_PEERS: a folder with other sched_ext schedulers, for comparison; those on PATH are found without it.
#
# Comment lines in a group say what it takes: `# guest: OPTIONS` of vm/run, `# needs: TOOLS` of scripts/need.sh, `# loads: PROGRAMS` of
# loads/, `# peers: PROGRAMS` that it uses where they are.
set -uo pipefail
cd "$(dirname "$0")/../.."
groups_folder=vm/tests/in-guest
logs=target/vm-tests
jobs=${LOP_VM_JOBS:-$(nproc)}

# declared KIND GROUP: what a group's comment lines of that kind say.
declared() { sed -n "s/^# $1: //p" "$groups_folder/$2.sh" | xargs; }

# The groups of the command line, or all; one that is not there is named.
groups_wanted() {
  local group
  [ $# -gt 0 ] || { find "$groups_folder" -name '*.sh' -printf '%f\n' | sort | sed 's/\.sh$//'; return; }
  for group in "$@"; do
    [ -e "$groups_folder/$group.sh" ] || { echo "run.sh: no group '$group'; there are: $(groups_wanted | xargs)" >&2; return 2; }
    echo "$group"
  done
}

# Without symbols for debuggers a guest boots in half the time.
build() {
  local bin=${CARGO_TARGET_DIR:-target}/debug program
  cargo build --locked -q -p lop -p lop-vm-judge || return
  for program in lop lop-load lop-judge; do strip --strip-debug -o "$work/$program" "$bin/$program" || return; done
}

# CPU time of a loop of the shell here: by how much a guest is slower, it can tell from timing the same.
native_loop_ms() {
  local TIMEFORMAT=%U seconds i
  seconds=$({ time for ((i = 0; i < 50000; i++)); do :; done; } 2>&1)
  echo $((10#${seconds//./} + 1))
}

# Options that give the guest the peers that are here.
peer_options() {
  local name found
  for name in "$@"; do
    found=$(PATH=${LOP_PEERS:-}:$PATH type -P "$name") && echo "--bin $found"
  done
  return 0
}

# Options that give the guest programs of loads/.
load_options() {
  local name folder
  [ $# -eq 0 ] && return
  folder=$(scripts/loads.sh) || return
  for name in "$@"; do echo "--bin $folder/$name"; done
}

# Boots the group's guest; its lines with the group's name before each, and in a file.
run_group() {
  local group=$1 begin=$SECONDS code=0 options
  # shellcheck disable=SC2046,SC2207  # words
  options=($(declared guest "$group") $(peer_options $(declared peers "$group")) $(load_options $(declared loads "$group")))
  LOP_BIN=$work/lop vm/run "${options[@]}" --bin "$work/lop-load" --bin "$work/lop-judge" \
    -- "native_loop_ms=$(native_loop_ms) CI=${CI:-}
$(cat vm/tests/lib.sh "$groups_folder/$group.sh")" 2>&1 | tee "$logs/$group.log" | sed -u "s/^/$group: /" || code=$?
  echo "$group $code $((SECONDS - begin)) $(grep -c '^ok - ' "$logs/$group.log") $(grep -c '^not ok - ' "$logs/$group.log")" >>"$work/results"
}

run_all() {
  local group
  for group in "$@"; do
    while [ "$(jobs -rp | wc -l)" -ge "$jobs" ]; do wait -n; done
    run_group "$group" &
  done
  wait
}

# Why a guest ended before its script did; else what it said last.
why_ended() { grep -h '^vm/run: ' "$logs/$1.log" || tail -n 1 "$logs/$1.log"; }

# A line per group and the sum; fails if a check or a guest failed, or if a group showed nothing.
sum_up() {
  local group code seconds held failed result=0 all_held=0 all_failed=0 verdict
  echo
  while read -r group code seconds held failed; do
    verdict=ok
    if [ "$code" != 0 ] || [ "$failed" != 0 ] || [ "$held" = 0 ]; then verdict="FAILED, exit code $code, $(why_ended "$group")" result=1; fi
    printf '%-14s %4d s  %3d held, %d failed  %s\n' "$group" "$seconds" "$held" "$failed" "$verdict"
    all_held=$((all_held + held)) all_failed=$((all_failed + failed))
  done <"$work/results"
  grep -h '^not ok - ' $(printf "$logs/%s.log " "$@")
  [ "$(wc -l <"$work/results")" = $# ] || { echo "$# groups were to run, $(wc -l <"$work/results") came to an end"; result=1; }
  echo "$all_held held, $all_failed failed, $SECONDS s"
  return $result
}

wanted=$(groups_wanted "$@") || exit
mapfile -t wanted <<<"$wanted"
work=$(mktemp -d)
trap 'kill $(jobs -p) 2>/dev/null; rm -rf "$work"' EXIT
trap 'exit 130' INT
trap 'exit 143' TERM
mkdir -p "$logs"
touch "$work/results"
# shellcheck disable=SC2046  # words
scripts/need.sh rust cc bpf $(for group in "${wanted[@]}"; do declared needs "$group"; done) || exit
build || exit
LOP_BIN=$work/lop vm/run --cpus 1 -- true || exit
run_all "${wanted[@]}"
sum_up "${wanted[@]}"
