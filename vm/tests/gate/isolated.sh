# SPDX-License-Identifier: GPL-2.0-only
# isolated.sh: CPUs of an isolated partition only run tasks that are bound there, all other tasks keep their ranks, and the scheduler follows changes of
# the partition. CPU 0 is the only fast CPU; CPU 1 has no tick (nohz_full), and counts like any other.
# guest: --cpus 8 --max-mhz 3000,2000,2000,2000,2000,2000,2000,2000 --boot nohz_full=1 --instruction-ns 8 --turn-us 4000 --timeout 1200
log=/tmp/decisions.log
# isolate CPUS is in lib.sh.
isolate_none() { echo member >$partition/cpuset.cpus.partition; }

storm() { lop-load fork-storm --jobs 12 --count 60 >/tmp/storm.json; }

# promotions CPU...: the promotions of these CPUs since the scheduler was last loaded.
promotions() {
  awk -v cpus=" $* " '
    /"machine"/ { n = 0 }
    /"kind":"set"/ && /"value":1[,}]/ { match($0, /"cpu":[0-9]+/); n += index(cpus, " " substr($0, RSTART + 6, RLENGTH - 6) " ") > 0 }
    END { print n + 0 }' $log
}
# A kernel thread that is bound to an isolated CPU may cause its promotion if it uses up a slice.
none_but_others() {
  echo "promotions of CPUs $*: $(promotions "$@"), of CPU 1: $(promotions 1)"
  [ "$(promotions "$@")" -lt "$(promotions 1)" ]
}

runs_on() { [ "$(awk '{ print $39 }' "/proc/$1/stat")" = "$2" ]; }
# In turn, by rank. Without ranks, tasks also get there by chance, but no running task is preempted.
each_has_the_fast_cpu() {
  local process
  for process in "${spinners[@]}"; do wait_for runs_on "$process" 0 || return; done
}

said_isolated() { status >/tmp/status.txt && grep -q "isolated: CPUs $1," /tmp/status.txt || { cat /tmp/status.txt; return 1; }; }
none_said() { status >/tmp/status.txt && ! grep 'isolated: CPUs' /tmp/status.txt; }

# A busy shell in the partition, which may run on two CPUs there; it is the last of $spinners.
bound_runs() {
  spin 1
  bound=${spinners[-1]}
  echo "$bound" >$partition/cgroup.procs && taskset -pc 4,5 "$bound" >/dev/null || return
  wait_for eval 'runs_on "$bound" 4 || runs_on "$bound" 5' && wait_for eval 'in_set high 4 || in_set high 5' && all_get_on
}
low_again() {
  end_spinners
  wait_for eval '! in_set high 4 && ! in_set high 5'
}

# The CPUs are promoted while all have work, and not before.
all_join() {
  wait_for none_said && spin 12 && wait_for in_set high 7 && all_get_on && end_spinners
}

expect 'a partition of four of eight CPUs' isolate 4-7
expect 'attached' begin_lop --policy fair-share --log-decisions $log
expect 'it says which CPUs are isolated' said_isolated 4-7
expect 'a fork storm' storm
spin 4
expect 'each of four busy tasks has the fast CPU in turn' each_has_the_fast_cpu
end_spinners
expect 'ended' ended_by INT
expect 'ranks moved who was running' has_kinds $log preempt
expect 'isolated CPUs are not promoted as the one without tick is' none_but_others 4 5 6 7
expect 'the native build decides the same' same_decisions $log

# Without a log: with all CPUs busy, each is so slow on this clock that the loader could not write a log and still answer.
expect 'attached again' begin_lop --policy fair-share
expect 'a task that is bound to isolated CPUs runs there, at high speed' bound_runs
expect 'such a CPU is low once the task is gone' low_again
isolate_none
expect 'without the partition its CPUs join like others' all_join
expect 'ended again' ended_by INT
expect 'no warning of the kernel' kernel_is_well
sum_up
