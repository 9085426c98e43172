# SPDX-License-Identifier: GPL-2.0-only
# kinds.sh: two kinds of CPUs: the fast kind is taken first; auto says its rules; under specialise programs that compute change places with programs that
# wait for memory, by what was declared of them.
# guest: --cpus 8 --max-mhz 1400,1400,1400,1400,2100,2100,2100,2100 --instruction-ns 4 --timeout 5400
# loads: chase stream matmul
# Behind lib.sh. CPUs 4 to 7 are the fast ones.

# Records a new load each time, to see where its time went.
fast_share() {
  needed lop-judge record --out /tmp/kinds.trace -- lop-load bursts --count 60 --threads "$1" --idle-ms 20..60 >/dev/null || return
  needed lop-judge --format json check /tmp/kinds.trace residency >/tmp/kinds.json || return
  awk '/^      "[0-9]+": \{/ { gsub(/[^0-9]/, ""); cpu = $0 + 0 } /"ordinary":/ { gsub(/[^0-9.]/, ""); busy[cpu >= 4] += $0 }
    END { share = busy[1] / (busy[0] + busy[1]); printf("%.3f of ordinary time on the fast CPUs\n", share); exit !(share >= 0.95) }' /tmp/kinds.json
}

slow_ones_help() {
  lop-load hogs 6 --seconds 2 --max-gap-ms 500 >/tmp/hogs.json || return
  grep -E '"(least_work|longest_gap_ms)"' /tmp/hogs.json | xargs
}

# The part of auto that is useful here: rank. There is only one memory domain.
says_its_rules() {
  lop status >/tmp/status && [ "$(grep -c '^rules' /tmp/status)" = 2 ] && grep -q '^rules *lock holders: ' /tmp/status && grep -q '^policy *auto, spare 0' /tmp/status &&
    grep '^rules *fast cores: sequential phases, most work left, most gain, in turn$' /tmp/status || { cat /tmp/status; return 1; }
}

# both_kinds POLICY
both_kinds() {
  expect "$1: attached" begin_lop --policy "$1"
  grep '^machine' /tmp/lop.log
  expect "$1: two kinds are known" grep -q 'of kind 1' /tmp/lop.log
  [ "$1" != auto ] || expect 'auto: it says by which rules' says_its_rules
  figure "$1: two tasks: the fast kind first" fast_share 2
  figure "$1: six busy tasks: the slow kind helps" slow_ones_help
  expect "$1: no watchdog exit, no restart" still_in_charge
  expect "$1: ended" ended_by INT
}

# program CPUS NAME OPTION...: one of loads/ begins there, and goes on until it is ended. Its work is done by its second thread.
program() {
  taskset -c "$1" "$2" --threads 1 "${@:3}" >/dev/null & wait_for computes "$!"
}
computes() { set -- "/proc/$1/task"/*; [ $# = 2 ]; }
bound_to_memory() { program "$1" "$2" --buffer-mib 1 --laps 1e6 --intensity-mpki 30; }

# six CLASS FIRST CLASS FIRST SECONDS: four programs that wait for memory are declared to be of a class, and two that compute. They begin on CPUs from a
# first one on; then all may run everywhere.
six() {
  begin_cs=$(uptime_cs)
  bound_to_memory "$2" chase && bound_to_memory $(($2 + 1)) stream && bound_to_memory $(($2 + 2)) chase && bound_to_memory $(($2 + 3)) stream &&
    program "$4" matmul --size 800 && program $(($4 + 1)) matmul --size 800 &&
    declare_all lop-chase "$1" 0-7 && declare_all lop-stream "$1" 0-7 && declare_all lop-matmul "$3" 0-7 && declared_for "$5"
}
export -f program computes bound_to_memory six

# What the system does meanwhile takes a CPU from one or the other now and then: who then runs on a slow one goes back when a fast one is idle. Chance
# gives them half of the time.
compute_on_fast() { judge_planned fast --comm lop-matmul --share 0.7; }
wait_on_fast() { judge_planned fast --comm lop-chase,lop-stream --share "$1"; }

both_kinds highlow-spare
both_kinds auto
expect 'specialise: attached' begin_lop --policy specialise
expect 'specialise: four programs that wait for memory begin on the fast CPUs, two that compute on slow ones' recorded_while 'six intensive 4 very-low 0' 14
figure 'specialise: those that compute change to fast CPUs' compute_on_fast
# Two of the four fast CPUs are left for them, which they have in turn; if gain decided nothing, they would have three.
figure 'specialise: two of those that wait for memory, or more, change to slow ones' refuted wait_on_fast 0.75
expect 'specialise: the same programs, each declared to be what it is not, begin where they would be best' recorded_while 'six very-low 0 intensive 4' 14
figure 'specialise: those that compute do not stay on fast CPUs' refuted compute_on_fast
figure 'specialise: those that wait for memory change to them' wait_on_fast 0.7
expect 'specialise: no watchdog exit, no restart' still_in_charge
expect 'specialise: ended' ended_by INT
expect 'the kernel has nothing to complain of' kernel_is_well
sum_up
