# SPDX-License-Identifier: GPL-2.0-only
# hotplug.sh: CPUs of either set go offline and come back under load.
# guest: --cpus 8 --cpufreq --timeout 1200

# member_of SET [NOT]: the last of its CPUs that can go offline.
member_of() { cpus_in "$1" | grep -vx 0 | tail -n 1; }

# A CPU of that set goes offline and comes back; the sets follow, and all tasks make progress meanwhile and afterwards.
goes_and_comes() {
  local cpu
  wait_for eval "cpu=\$(member_of $1) && [ -n \"\$cpu\" ]" || return
  offline "$cpu" && wait_for in_set offline "$cpu" && every_cpu_in_one_set 8 && all_get_on || { online "$cpu"; say_and_fail "without CPU $cpu"; return; }
  online "$cpu" && wait_for nobody_offline && every_cpu_in_one_set 8 && all_get_on || say_and_fail "CPU $cpu is back"
}

nobody_offline() { status --format json >/tmp/status && grep -q '"offline": \[\]' /tmp/status; }

# All CPUs that can go offline except one, at once, and back.
most_go_and_come() {
  local cpu
  for cpu in 2 3 4 5 6 7; do offline $cpu || return; done
  wait_for eval '[ "$(cpus_in offline | xargs)" = "2 3 4 5 6 7" ]' && all_get_on || return
  for cpu in 7 6 5 4 3 2; do online $cpu || return; done
  wait_for nobody_offline && every_cpu_in_one_set 8 && all_get_on
}

# Shells that are bound to one CPU make progress when it is gone: the kernel widens their affinity by its own rules.
bound_get_on() {
  spin 1 4
  walk 1 4
  all_get_on && offline 4 && wait_for in_set offline 4 && all_get_on || { online 4; return 1; }
  online 4 && wait_for nobody_offline && all_get_on
}

still_the_same() {
  scheduler_is lopsided && kill -0 "$loader" && status --format json | grep -q "\"restarts\": $1\$" || { cat /tmp/lop.log; status; return 1; }
}

# Tasks placed since the start.
placed() { status --format json | awk -F'[:, ]+' '/"(claimed|queued|pinned)":/ { sum += $3 } END { print sum + 0 }'; }

says_nothing_of_offline_cpus() {
  ! grep -E 'cannot (read|write) it' /tmp/lop.log || return 1
}

# When an unknown CPU comes online, the machine is read again, since speeds are set.
absent_at_start() {
  offline 6 && offline 7 || return
  begin_lop || return
  wait_for in_set offline 6 || ! in_set low 6 || return
  local before
  before=$(placed) && online 6 && online 7 && wait_for eval 'nobody_offline && every_cpu_in_one_set 8' || return
  [ "$(placed)" -ge "$before" ] || say_and_fail "$(placed) placed after the restart, $before before" || return
  all_get_on && status --format json >/tmp/status && grep -o '"restarts": [1-9][0-9]*' /tmp/status
}

ends_as_it_began() { ended_by INT && [ "$loader_code" = 0 ] && same_cpufreq /tmp/before; }

# Going offline changes some settings by itself, so do it once before they are noted.
set_governor userspace
for cpu in 1 2 3 4 5 6 7; do offline $cpu; online $cpu; done
set_governor userspace
set_speeds 1575000
snapshot_cpufreq >/tmp/before
spin 1
walk 3
expect 'attaches under load' begin_lop
expect 'a CPU of the high set goes offline and comes back' goes_and_comes high
expect 'a CPU of the low set goes offline and comes back' goes_and_comes low
expect 'tasks bound to a CPU that goes offline get on' bound_get_on
expect 'six of eight go and come' most_go_and_come
expect 'attached all the time, no restart' still_the_same 0
expect 'nothing is said of the speeds of CPUs that go' says_nothing_of_offline_cpus
expect 'Ctrl-C leaves cpufreq as it was' ends_as_it_began
expect 'a CPU that was not there at the start joins' absent_at_start
expect 'ends afterwards' ended_by INT
expect 'every task goes on' all_get_on
expect 'no warning of the kernel' kernel_is_well
end_spinners
sum_up
