# SPDX-License-Identifier: GPL-2.0-only
# agent.sh: enforcement from user space, without sched_ext. By cgroup: CPUs that are not needed are parked (an isolated partition), speeds follow, and
# everything is restored after SIGTERM, and after SIGKILL and `lop restore`. By affinity: the threads of a command. Delays and shares are judged in soak
# (reaction.sh).
# guest: --cpus 4 --cpufreq --instruction-ns 4 --turn-us 4000 --timeout 1200
# Behind lib.sh.
group=/sys/fs/cgroup/lopsided

# begin_agent OPTION...: like begin_lop, by cgroup.
begin_agent() {
  rm -f /tmp/lop.log # so that the output of an earlier start is not mistaken for this one's
  lop start --enforce cgroup "$@" >/tmp/lop.log 2>&1 &
  loader=$!
  wait_for runs_or_gone && grep -q '^running' /tmp/lop.log && wait_for lop status && return
  tail -n 40 /tmp/lop.log
  return 1
}

runs_or_gone() { grep -qs '^running' /tmp/lop.log || ! kill -0 "$loader"; }

# parked: whether at least two CPUs are parked. The kernel tells which CPUs it took, and which it left to the others. The third is often open: in
# an emulated guest, the kernel's own work after a change of the partition lasts long enough to count as a task.
parked() {
  local open of how left
  read -r open </sys/fs/cgroup/cpuset.cpus.effective
  read -r of <$group/cpuset.cpus
  read -r how <$group/cpuset.cpus.partition
  left=$(cpus_of_list "$open" | wc -l)
  echo "partition '$of' $how, $left left"
  [ "$left" -le 2 ] && [ "$how" = isolated ]
}

# cpus_of_list LIST: prints `0-2,5` as one number per line.
cpus_of_list() {
  local part
  for part in ${1//,/ }; do seq "${part%-*}" "${part#*-}"; done
}

# one_runs: one task runs, and the CPUs that are not needed are parked and at the lowest speed. Checking is work too, for which CPUs may be opened, and
# so are kernel threads while CPUs take turns; so it checks now and then, for as long as it takes.
one_runs() {
  local code=0
  begin_hog
  wait_for parked_and_slow || code=1
  cat /tmp/parked /tmp/speeds
  return $code
}

begin_hog() { lop-load hogs 1 --seconds 100000 >/dev/null & hogs=$!; }
parked_and_slow() { sleep 1.3; parked >/tmp/parked && speeds_follow >/tmp/speeds; }

# For some seconds after the boot the kernel still works in its own threads, which count like any tasks.
quiet() {
  local running
  read -r _ _ _ running _ </proc/loadavg
  [ "${running%/*}" = 1 ]
}

# The task stays on the CPUs that are left, and only those are at top speed.
speeds_follow() {
  local cpu khz open
  open=$(cpus_of_list "$(cat /sys/fs/cgroup/cpuset.cpus.effective)")
  for cpu in 0 1 2 3; do
    khz=$(cat /sys/devices/system/cpu/cpu$cpu/cpufreq/scaling_max_freq)
    echo "CPU $cpu: at most $khz kHz"
    if grep -qx "$cpu" <<<"$open"; then [ "$khz" = "$top" ] || return; else [ "$khz" = "$low" ] || return; fi
  done
}

# goes_and_comes: a parked CPU goes offline: the status lists it, the others are parked and opened as before, and it comes back.
goes_and_comes() {
  local cpu
  wait_for eval 'cpu=$(a_parked_cpu) && [ -n "$cpu" ]' && offline "$cpu" && wait_for in_set offline "$cpu" || { online "$cpu"; say_and_fail "CPU '$cpu'"; return; }
  lop-load hogs 3 --seconds 3 >/dev/null && wait_for one_parked || { cat /tmp/parked; online "$cpu"; say_and_fail "without CPU $cpu"; return; }
  online "$cpu" && wait_for eval "! in_set offline $cpu" && wait_for one_parked && kill -0 "$loader" && echo "CPU $cpu, $(cat /tmp/parked)"
}

# The last that can go offline.
a_parked_cpu() { cpus_of_list "$(cat $group/cpuset.cpus)" | grep -vx 0 | tail -n 1; }

one_parked() { parked >/tmp/parked; }

# is_as_before: the cgroup is gone, all CPUs are open to all tasks, and speeds are as before.
is_as_before() {
  [ ! -e $group ] || say_and_fail "$group is still there" || return
  [ "$(cat /sys/fs/cgroup/cpuset.cpus.effective)" = 0-3 ] || say_and_fail 'not all CPUs are open' || return
  [ "$(cat /sys/fs/cgroup/cgroup.subtree_control)" = "$controlled" ] || say_and_fail 'other controllers are on' || return
  same_cpufreq /tmp/cpufreq.before
}

# ends_well: after SIGTERM.
ends_well() {
  kill -TERM "$loader" && ends "$loader" && [ "$end_code" = 0 ] && grep '^ended' /tmp/lop.log && return
  tail -n 5 /tmp/lop.log
  return 1
}

# by_affinity: the threads of the command have one CPU, and no other task is restricted.
by_affinity() {
  local list
  lop run --enforce affinity --policy highlow -- lop-load hogs 1 --seconds 100000 >/dev/null &
  runner=$!
  wait_for eval '[ "$(allowed_of lop-hog)" -eq 1 ]' || { kill $runner; return 1; }
  list=$(cat /sys/fs/cgroup/cpuset.cpus.effective)
  kill $runner && ends $runner && [ "$end_code" = 143 ] || say_and_fail "exit code $end_code" || return
  echo "one CPU for the task, $list for all others"
  [ "$list" = 0-3 ] && [ ! -e $group ]
}

allowed_of() {
  local task
  task=$(named "$1" | head -n 1)
  cpus_of_list "$(sed -n 's/^Cpus_allowed_list:[[:space:]]*//p' "$task/status")" | wc -l
}

# Going offline changes some settings by itself, so do it once before they are noted.
for cpu in 1 2 3; do offline $cpu; online $cpu; done
set_governor schedutil
controlled=$(cat /sys/fs/cgroup/cgroup.subtree_control)
top=$(cat /sys/devices/system/cpu/cpu0/cpufreq/scaling_max_freq) low=$(cat /sys/devices/system/cpu/cpu0/cpufreq/scaling_min_freq)
snapshot_cpufreq >/tmp/cpufreq.before
wait_for quiet

expect 'cgroup: begun, and no scheduler of sched_ext' eval 'begin_agent --policy highlow && scheduler_is_none'
expect 'cgroup: the status tells' eval "status | grep '^enforced'"
expect 'cgroup: one task runs, and CPUs are parked and at the lowest speed, the others at top' one_runs
kill "$hogs"
wait "$hogs"
begin_hog
expect 'cgroup: a parked CPU goes offline and comes back' goes_and_comes
kill "$hogs"
wait "$hogs"
expect 'cgroup: SIGTERM ends it' ends_well
expect 'cgroup: after that all is as before' is_as_before

expect 'cgroup: begun again' begin_agent --policy highlow
expect 'cgroup: CPUs are parked' one_runs
kill -KILL "$loader"
wait "$loader" 2>/dev/null
expect 'killed: the cgroup stays' [ -e $group ]
expect 'killed: lop restore opens them' eval "lop restore | grep 'open again'"
expect 'killed: after that all is as before' is_as_before
kill "$hogs"
wait "$hogs"

expect 'cgroup: lop run passes the code of its command on' eval 'lop run --enforce cgroup --policy highlow -- sh -c "exit 7"; [ $? = 7 ] && is_as_before'
expect 'affinity: the threads of a command have one CPU' by_affinity
# Linux 7.2 itself sometimes warns when an isolated partition changes (housekeeping_update); other warnings are failures.
well_but_for_housekeeping() {
  local said
  said=$(dmesg | grep -E 'WARNING:|BUG:|Oops|soft lockup|rcu.*stall|hung_task|blocked for more than' | grep -v 'kernel/sched/isolation.c')
  [ -z "$said" ] || say_and_fail "$said"
}
expect 'the kernel has nothing to complain of but its own housekeeping' well_but_for_housekeeping
sum_up
