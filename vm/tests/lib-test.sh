#!/usr/bin/env bash
# SPDX-License-Identifier: GPL-2.0-only
# lib-test.sh: tests the helpers of lib.sh on fake trees, without a guest. Prints a line per check.
set -uo pipefail
cd "$(dirname "$0")"
. ./lib.sh
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
export LOP_SYS=$work/sys LOP_TMP=$work
. ./check.sh

make_cpu() {
  local folder=$LOP_SYS/devices/system/cpu/cpu$1/cpufreq
  mkdir -p "$folder/stats"
  echo schedutil >"$folder/scaling_governor"
  echo "$2" >"$folder/scaling_max_freq"
  echo 1234 >"$folder/scaling_cur_freq"
  printf '2000 5\n1000 7\n' >"$folder/stats/time_in_state"
}

make_cpu 0 2000
make_cpu 10 1500
snapshot_cpufreq >"$work/before"
check 'snapshot names each setting' 4 "$(wc -l <"$work/before")"
check 'snapshot has the content' 'cpu10/cpufreq/scaling_max_freq: 1500' "$(grep cpu10/cpufreq/scaling_max "$work/before")"
echo 9999 >"$LOP_SYS/devices/system/cpu/cpu0/cpufreq/scaling_cur_freq"
same_cpufreq "$work/before" >/dev/null 2>&1; check 'a measured speed may change' 0 $?
echo 1000 >"$LOP_SYS/devices/system/cpu/cpu0/cpufreq/scaling_max_freq"
found=$(same_cpufreq "$work/before" 2>&1); check 'a setting may not' 1 $?
check 'the difference is shown' yes "$(grep -q 'cpu0/cpufreq/scaling_max_freq: 1000' <<<"$found" && echo yes)"

check 'residency in ms' '0 2000 50 0 1000 70 10 2000 50 10 1000 70' "$(cpufreq_residency | xargs)"
set_governor userspace
check 'governor of every CPU' 2 "$(grep -l userspace "$LOP_SYS"/devices/system/cpu/cpu*/cpufreq/scaling_governor | wc -l)"
LOP_SYS=$work/none set_governor userspace 2>/dev/null; check 'no cpufreq is said' 1 $?
LOP_SYS=$work/none cpufreq_residency 2>/dev/null; check 'no statistics is said' 1 $?

mkdir -p "$LOP_SYS/kernel/sched_ext/root"
echo disabled >"$LOP_SYS/kernel/sched_ext/state"
scheduler_is_none; check 'no scheduler' 0 $?
scheduler_is lopsided; check 'no scheduler has a name' 1 $?
echo enabled >"$LOP_SYS/kernel/sched_ext/state"
echo lopsided_1.0 >"$LOP_SYS/kernel/sched_ext/root/ops"
scheduler_is lopsided; check 'scheduler with a version' 0 $?
scheduler_is lop; check 'half a name is another' 1 $?
scheduler_is_none; check 'a scheduler' 1 $?

wait_for true; check 'what holds is not waited for' 0 $?
found=$(patience_s=0 wait_for false 2>&1); check 'what never holds ends' 1 $?
check 'what was waited for is said' 'waited 0 s in vain for: false' "$found"
(while [ ! -e "$work/asked" ]; do :; done; touch "$work/come") &
wait_for eval 'touch "$work/asked"; [ -e "$work/come" ]'; check 'what comes is noticed' 0 $?
wait

lop() {
  [ ! -e "$work/asked_before" ] || { echo running; return; }
  touch "$work/asked_before"
  echo 'lop: Lopsided is there but did not answer in time: try again in a moment' >&2
  return 1
}
check 'a status that does not come in time is asked for again' running "$(status)"
lop() { echo 'lop: Lopsided is not running' >&2; return 1; }
found=$(status 2>&1); check 'no status' 1 $?
check 'no status: why' 'lop: Lopsided is not running' "$found"
unset -f lop

mkdir -p "$work/proc"
printf ' #0: <00>, tick_nohz_handler, S:01\n #1: <00>, bpf_timer_cb, S:01\n #2: <00>, bpf_timer_cb, S:01\n' >"$work/proc/timer_list"
check 'armed timers' 2 "$(LOP_PROC=$work/proc armed_bpf_timers)"
: >"$work/proc/timer_list"
check 'no armed timer' 0 "$(LOP_PROC=$work/proc armed_bpf_timers)"

printf '    "high": [\n      {\n        "cpu": 2,\n      }\n    ],\n    "low": [\n      0,\n      1\n    ],\n    "offline": []\n' >"$LOP_TMP/status"
check 'high CPUs of a status' 2 "$(set_in_file high | xargs)"
check 'low CPUs of a status' '0 1' "$(set_in_file low | xargs)"
check 'no offline CPU' '' "$(set_in_file offline)"
check 'a sentence that holds' 'ok - it is (yes)' "$(expect 'it is' echo yes)"
check 'a sentence that does not' 'not ok - it is: no' "$(expect 'it is' say_and_fail no | head -n 1)"
check 'a figure that holds' 'figure - it is: holds (yes)' "$(figure 'it is' echo yes)"
check 'a figure that does not fails nothing' 'figure - it is: does not hold (no)' "$(figure 'it is' say_and_fail no)"
check 'a figure whose recording fails is judged' 'not ok - it is: no figure, since this failed: false' "$(figure 'it is' needed false | head -n 1)"
check 'nothing shown is a failure' 1 "$(sum_up >/dev/null; echo $?)"

echo "lib-test.sh: $ran checks, $failed failed"
[ "$failed" = 0 ]
