# SPDX-License-Identifier: GPL-2.0-only
# reserve.sh: a core for the system's own work: its speed, interrupts, its end when it does not suffice, and restoring. Placement and the time at
# which it is given up are tested in soak (reserved.sh).
# guest: --cpus 4 --cpufreq --instruction-ns 8 --turn-us 4000 --timeout 1200
# Behind lib.sh.

affinities() { grep -H . /proc/irq/*/smp_affinity_list; }
reserved_is() { status --format json >/tmp/status && grep -q "\"reserved_cpu\": $1" /tmp/status || { cat /tmp/status; return 1; }; }

# All interrupts that the machine does not bind go to the reserved CPU, and there are some.
interrupts_are_there() {
  affinities | awk -F: 'FNR == NR { before[$1] = $2; next } $2 == before[$1] { stay++ } $2 != before[$1] && $2 == 0 { moved++ } $2 != before[$1] && $2 != 0 { astray++ }
    END { print moved + 0, "moved,", stay + 0, "stayed,", astray + 0, "elsewhere"; exit !(moved && !astray) }' /tmp/affinities -
}
affinities_are_back() { affinities | diff /tmp/affinities - ; }
bound_runs() { lop-load pinned --cpu 0 --rounds 5 >/dev/null; }

# undisturbed CHECK: the check holds with the core at its lowest speed. In an emulated machine, the kernel's own work after an attachment may be too
# much for that, so that the core is raised or given up permanently; then the scheduler is attached again. If this happens each time, it must be reported.
undisturbed() {
  local turn
  for turn in {1..20}; do
    "$@" && return
    ! is_at_rest || return
    ended_by INT && begin_lop --policy reserved-core || return
  done
  "$@" || disturbed
}
is_at_rest() { status --format json >/tmp/status && grep -q "own work alone, at its lowest speed" /tmp/status; }
disturbed() { ! is_at_rest && wait_for eval "grep 'is reserved no longer' /tmp/lop.log || reserved_is 0"; }
at_lowest_speed() { wait_for eval 'speed_of_reserved "$low" || ! is_at_rest' && speed_of_reserved "$low"; }
speed_of_reserved() { [ "$(cat /sys/devices/system/cpu/cpu0/cpufreq/scaling_setspeed)" = "$1" ]; }

# A daemon that computes for 250 ms raises the speed. Once it has little to do for a second or more, each end of its work lowers it by a step.
rises_and_falls() {
  as_daemon bursts --count 1 --busy-ms 250 --threads 1 >/dev/null
  wait_for is_raised && status | grep '^reserved' && wait_for eval 'works_a_little && is_at_rest' && at_lowest_speed
}
is_raised() { status --format json >/tmp/status && grep -q 'own work alone, at .* since it was more than 90 % busy below that' /tmp/status; }
works_a_little() { as_daemon bursts --count 1 --busy-ms 1 --threads 1 >/dev/null; sleep 0.3; }

# More of the system's own work than one core can do, repeated until the core is given up.
given_up() { wait_for saturated && reserved_is null && status | grep '^reserved'; }
saturated() { bash -c saturate && grep -q 'CPU 0 is reserved no longer' /tmp/lop.log; }

none_below_four() {
  begin_lop --policy reserved-core || return
  reserved_is null && grep -- 'fewer than four' /tmp/lop.log
}

make_daemons
set_governor userspace
affinities >/tmp/affinities
snapshot_cpufreq >/tmp/cpufreq.before
low=$(cat /sys/devices/system/cpu/cpu0/cpufreq/scaling_min_freq)
expect 'attached' begin_lop --policy reserved-core
grep '^reserved' /tmp/lop.log
expect 'CPU 0 is reserved' undisturbed reserved_is 0
expect 'it runs at its lowest speed' undisturbed at_lowest_speed
expect 'interrupts go there, as far as the machine lets them' undisturbed interrupts_are_there
expect 'what is bound to it runs' bound_runs
expect 'after a burst its speed rises, and goes back to the lowest' undisturbed rises_and_falls
expect 'a load that saturates it gives the reservation up, which is said' given_up
expect 'interrupts are back' wait_for affinities_are_back
expect 'no watchdog exit, no restart' still_in_charge
expect 'ended' ended_by INT
expect 'speeds are as they were' same_cpufreq /tmp/cpufreq.before
expect 'three cores: a CPU goes' offline 3
expect 'three cores: none is reserved unless it is asked for' none_below_four
expect 'three cores: ended' ended_by INT
expect 'the kernel has nothing to complain of' kernel_is_well
sum_up
