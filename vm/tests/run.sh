#!/usr/bin/env bash
# SPDX-License-Identifier: GPL-2.0-only
# run.sh [GROUP... | --soak]: tests the scheduler on a real kernel. Boots a guest for each group and sums up. Without argument: the groups of gate/,
# whose checks are exact. --soak: those of soak/, which judge shares, delays and percentiles, load the machine for long, or boot the oldest kernel.
# Runs as many guests at a time as there are CPUs here, or LOP_VM_JOBS.
# LOP_PEERS: a folder with other sched_ext schedulers, for comparison; those on PATH are found without it.
#
# Comment lines in a group state its requirements: `# guest: OPTIONS` of vm/run, `# needs: TOOLS` of scripts/need.sh, `# loads: PROGRAMS` of
# loads/, `# openmp: yes` if it runs openmp.c, `# peers: PROGRAMS` that it uses if installed.
set -uo pipefail
cd "$(dirname "$0")/../.."
here=vm/tests
logs=target/vm-tests
jobs=${LOP_VM_JOBS:-$(nproc)}

# all_of gate | soak: its groups.
all_of() { find "$here/$1" -name '*.sh' -printf '%f\n' | sort | sed 's/\.sh$//'; }

# script_of GROUP: its file; no two have the same name.
script_of() {
  local file
  for file in "$here/gate/$1.sh" "$here/soak/$1.sh"; do [ ! -e "$file" ] || { echo "$file"; return; }; done
  return 1
}

# declared KIND GROUP: the contents of a group's comment lines of that kind.
declared() { sed -n "s/^# $1: //p" "$(script_of "$2")" | xargs; }

# The groups of the command line; an unknown one is an error.
groups_wanted() {
  local group
  case ${1:-} in
    '') all_of gate ;;
    --soak) all_of soak ;;
    *) for group in "$@"; do
      script_of "$group" >/dev/null || { echo "run.sh: no group '$group'; there are: $({ all_of gate; all_of soak; } | xargs)" >&2; return 2; }
      echo "$group"
    done ;;
  esac
}

# Without debug symbols a guest boots in half the time.
build() {
  local bin program
  bin=$(scripts/built.sh) || return
  for program in lop lop-load lop-judge; do strip --strip-debug -o "$work/$program" "$bin/$program" || return; done
}

# CPU time of a shell loop here; a guest can time the same loop to find how much slower it is.
native_loop_ms() {
  local TIMEFORMAT=%U seconds i
  seconds=$({ time for ((i = 0; i < 50000; i++)); do :; done; } 2>&1)
  echo $((10#${seconds//./} + 1))
}

# Options that give the guest the installed peers.
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

# Options that give the guest openmp.c, built for the runtimes of gcc and of LLVM, and the libraries that give its hints.
openmp_options() {
  local clang file out=$PWD/target/hints
  [ $# -gt 0 ] || return 0
  clang=$(scripts/clang.sh) && make --no-print-directory --quiet -C hints OUT="$out" CLANG="$clang" all ompt >&2 || return
  cc -O2 -fopenmp $here/openmp.c -o "$work/openmp-gcc" && "$clang" -O2 -fopenmp $here/openmp.c -o "$work/openmp-llvm" || return
  for file in "$work"/openmp-{gcc,llvm} "$out"/liblopsided{.so.0,-gomp.so,-ompt.so}; do echo "--bin $file"; done
}

# ends_within OPTION...: seconds after which a hanging script is ended in the guest, before the guest itself is. A clock that counts instructions may
# run ahead of the one here, and skips idle time, so a script that hangs soon reaches the limit.
ends_within() {
  local limit_s=300 factor=9
  while [ $# -gt 0 ]; do
    case $1 in --timeout) limit_s=$2 ;; --instruction-ns) factor=50 ;; esac
    shift
  done
  echo $((limit_s * factor / 10))
}

# Boots the group's guest; prints its lines with the group's name, and writes them to a file. Keeps what it leaves in /out if a check fails.
run_group() {
  local group=$1 begin=$SECONDS code=0 options
  # shellcheck disable=SC2046,SC2207  # words
  options=($(declared guest "$group") $(peer_options $(declared peers "$group")) $(load_options $(declared loads "$group"))
    $(openmp_options $(declared openmp "$group")))
  rm -rf "${logs:?}/$group"
  LOP_BIN=$work/lop vm/run "${options[@]}" --share "$logs/$group" --bin "$work/lop-load" --bin "$work/lop-judge" \
    -- "native_loop_ms=$(native_loop_ms) CI=${CI:-}
$(cat "$here/lib.sh")
ends_after $(ends_within "${options[@]}") &
$(cat "$(script_of "$group")")" 2>&1 | tee "$logs/$group.log" | sed -u "s/^/$group: /" || code=$?
  # Whatever its code, a script without a summary did not reach its end.
  grep -qE '[0-9]+ held, [0-9]+ failed$' "$logs/$group.log" || [ "$code" != 0 ] || code=no-end
  echo "$group $code $((SECONDS - begin)) $(grep -c '^ok - ' "$logs/$group.log") $(grep -c '^not ok - ' "$logs/$group.log") $(grep -c '^figure - ' "$logs/$group.log")" >>"$work/results"
}

run_all() {
  local group
  for group in "$@"; do
    while [ "$(jobs -rp | wc -l)" -ge "$jobs" ]; do wait -n; done
    run_group "$group" &
  done
  wait
}

# Why a guest ended before its script did; else its last line.
why_ended() { grep -h '^vm/run: ' "$logs/$1.log" || tail -n 1 "$logs/$1.log"; }

# explain GROUP: prints what failed, on which kernel, how to repeat it, and where to look.
explain() {
  local kernel name asked='' seed=''
  grep -h '^not ok - ' "$logs/$1.log" | sed 's/^/  check   /' ||
    echo "  check   none said that it failed; the last that said anything: $(grep -hE '^(ok|figure) - ' "$logs/$1.log" | tail -n 1)"
  kernel=$(declared guest "$1" | sed -n 's/.*--kernel \([^ ]*\).*/\1/p')
  kernel=${kernel:-${LOP_VM_KERNEL:-}}
  for name in LOP_VM_KERNEL LOP_VM_ACCEL LOP_VM_SEED; do [ -z "${!name:-}" ] || asked+="$name=${!name} "; done
  # If its clock counts instructions, all randomness comes from a seed.
  [[ $(declared guest "$1") != *--instruction-ns* ]] || seed=", seed ${LOP_VM_SEED:-1}"
  echo "  kernel  $(cat "$(vm/kernel.sh ${kernel:+"$kernel"})/release")$seed"
  echo "  repeat  ${asked}vm/tests/run.sh $1"
  echo "  log     $logs/$1.log"
  echo "  traces  $logs/$1/: $(ls "$logs/$1" 2>/dev/null | xargs)"
}

# Prints a line per group and the sum; fails if a check or a guest failed, or if a group had no results.
sum_up() {
  local group code seconds held failed printed said result=0 all_held=0 all_failed=0 all_printed=0
  echo
  while read -r group code seconds held failed printed; do
    all_held=$((all_held + held)) all_failed=$((all_failed + failed)) all_printed=$((all_printed + printed))
    said=$(printf '%-14s %4d s  %3d held, %d failed, %d printed' "$group" "$seconds" "$held" "$failed" "$printed")
    if [ "$code" = 0 ] && [ "$failed" = 0 ] && [ "$held" != 0 ]; then
      echo "$said  ok"
    else
      echo "$said  FAILED, exit code $code, $(why_ended "$group")"
      explain "$group"
      result=1
    fi
  done <"$work/results"
  [ "$(wc -l <"$work/results")" = $# ] || { echo "$# groups were to run, $(wc -l <"$work/results") came to an end"; result=1; }
  echo "$all_held held, $all_failed failed, $all_printed printed and not judged, $SECONDS s"
  return $result
}

wanted=$(groups_wanted "$@") || exit
mapfile -t wanted <<<"$wanted"
work=$(mktemp -d)
trap 'kill $(jobs -p) 2>/dev/null; rm -rf "$work"' EXIT
trap 'exit 130' INT
trap 'exit 143' TERM
mkdir -p "$logs"
# Remove the results of other runs.
for group in "${wanted[@]}"; do rm -f "$logs/$group.log"; done
touch "$work/results"
# shellcheck disable=SC2046  # words
scripts/need.sh rust cc bpf $(for group in "${wanted[@]}"; do declared needs "$group"; done) || exit
build || exit
LOP_BIN=$work/lop vm/run --cpus 1 --timeout 3600 -- true || exit
run_all "${wanted[@]}"
sum_up "${wanted[@]}"
