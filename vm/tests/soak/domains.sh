# SPDX-License-Identifier: GPL-2.0-only
# domains.sh: in which memory domain programs of a declared class run over time, under spread, under gather, and where they are bound; and under
# spread programs whose intensity was recorded where a CPU counts it.
# Judged from the kernel's tracepoints. Two domains, each with a node of its own: CPUs 0 and 1, 2 and 3.
# guest: --cpus 4 --sockets 2 --instruction-ns 16 --timeout 5400
# loads: chase stream matmul
# Behind lib.sh.

# program CPUS NAME OPTION...: one of loads/ begins there, and goes on until it is ended. Its work is done by its second thread.
program() {
  taskset -c "$1" "$2" --threads 1 "${@:3}" >/dev/null & wait_for computes "$!"
}
computes() { set -- "/proc/$1/task"/*; [ $# = 2 ]; }

# Programs of high intensity follow pointers and write through memory; one of low intensity multiplies matrices.
intensive() { program "$1" "$2" --buffer-mib 1 --laps 1e6 --intensity-mpki 30; }
very_low() { program "$1" matmul --size 800; }
declare_intensive() { declare_all lop-chase intensive "$1" && declare_all lop-stream intensive "$1"; }

# Two intensive programs begin in the first domain, two of very low intensity in the second. The intensive ones may run everywhere then, or on those
# CPUs.
two_and_two() {
  begin_cs=$(uptime_cs)
  intensive 0 chase && intensive 1 stream && very_low 2 && very_low 3 && declare_intensive "${2:-0-3}" && declare_all lop-matmul very-low 0-3 && declared_for "$1"
}

# The same, and nothing is declared of any.
two_and_two_recorded() {
  local name thread
  begin_cs=$(uptime_cs)
  intensive 0 chase && intensive 1 stream && very_low 2 && very_low 3 || return
  for name in chase stream matmul; do
    for thread in $(threads_of lop-$name); do taskset -pc 0-3 "$thread" >/dev/null || return; done
  done
  declared_for "$1"
}

# As perf prints it, of threads of other numbers: 30 MPKI, 30 MPKI and 0.02 MPKI.
record_intensity() {
  local name
  for name in lop-chase:30000 lop-stream:30000 lop-matmul:20; do
    printf '%s-1,%s,,cache-misses,1000,100.00,,\n%s-1,1000000,,instructions,1000,100.00,,\n' "${name%:*}" "${name#*:}" "${name%:*}"
  done >/tmp/perf.csv
}
says_recorded() { lop status --format json | grep 'from the recording of 3 programs'; }
planned_as_recorded() { lop status | grep -E '[0-9]+ threads in the last plan, 0 of them declared; [1-9][0-9]* moves'; }
# Until it was a plan that moved them: free ones come apart by chance as well, and then there is nothing to move.
ran_apart_as_recorded() {
  local turn watcher
  for turn in 1 2 3 4; do
    (patience_s=40 wait_for planned_as_recorded >/tmp/planned) & watcher=$!
    ran_apart two_and_two_recorded || { kill $watcher; return 1; }
    wait $watcher && cat /tmp/planned && return
  done
  say_and_fail "no plan moved anybody in $turn turns"
}
# A line too short.
garbage_is_refused() {
  printf 'lop-chase-1,1,,cache-misses\nnonsense\n' >/tmp/garbage.csv
  ! lop start --policy spread --intensity /tmp/garbage.csv 2>/tmp/refused && grep "/tmp/garbage.csv:2: expected NAME-NUMBER" /tmp/refused
}

# What has to be refuted: two intensive programs that stay in the first domain. Free ones come apart by chance as well.
bound_together() { two_and_two "$1" 0,1; }

# Two intensive programs in the first domain, and one of very low intensity beside them.
two_and_one() {
  begin_cs=$(uptime_cs)
  intensive 0 chase && intensive 1 stream && very_low 1 && declare_intensive 0-3 && declare_all lop-matmul very-low 0-3 && declared_for "$1"
}

# Intensive programs run without their like in their domain for 95 % of their time; very low ones may be there. How often a plan may move a thread is
# the policy's test: who waits longer than the fair queue's period for a CPU of its domain is taken elsewhere, and back, by no plan.
apart() { judge_planned domains --comm lop-chase,lop-stream --domain 0,1 --domain 2,3 --beside lop-matmul --rest-s 0; }
ran_apart() { needed recorded_while "$1" 8 && apart; }
ran_together() { needed recorded_while "$1" 8 && refuted apart; }

# Of what was judged last: ms of each program in the first domain + the second, in each second.
over_time() { sed -n '/"over_time"/,/}/s/^ *"\(lop-[^"]*\)": "\(.*\)",*$/  over time: \1: \2/p' /tmp/verdict; }

says_its_source() { lop status | grep 'lop hint --memory' && lop status | grep '^plan'; }
refused_for_kinds() { ! lop start --policy specialise 2>/tmp/refused && grep 'one kind of core' /tmp/refused; }

export -f program computes intensive very_low declare_intensive two_and_two two_and_two_recorded bound_together two_and_one

expect 'specialise is refused where all cores are alike' refused_for_kinds
expect 'spread: attached' begin_lop --policy spread
expect 'spread: it says by what it plans, and rests' says_its_source
expect 'spread: nothing is looked at' rests_again
figure 'spread: intensive programs run in domains of their own' ran_apart two_and_two
over_time
expect 'spread: it rests again when they have ended' wait_for rests_again
expect 'spread: no watchdog exit, no restart' still_in_charge
expect 'spread: ended' ended_by INT
expect 'a recording of intensity that is none is refused with file, line and reason' garbage_is_refused
record_intensity
expect 'spread by a recording: attached' begin_lop --policy spread --intensity /tmp/perf.csv
expect 'spread by a recording: it says by what it plans' says_recorded
figure 'spread by a recording: intensive programs run in domains of their own' ran_apart_as_recorded
over_time
expect 'spread by a recording: no watchdog exit, no restart' still_in_charge
expect 'spread by a recording: ended' ended_by INT
expect 'gather: attached' begin_lop --policy gather
figure 'gather: intensive programs run in domains of their own' ran_apart two_and_one
over_time
expect 'gather: no watchdog exit, no restart' still_in_charge
expect 'gather: ended' ended_by INT
expect 'highlow-spare: attached' begin_lop --policy highlow-spare
figure 'highlow-spare: those that are bound to one domain do not' ran_together bound_together
over_time
expect 'highlow-spare: ended' ended_by INT
expect 'the kernel has nothing to complain of' kernel_is_well
sum_up
