# SPDX-License-Identifier: GPL-2.0-only
# limits.sh: on a machine that the user made asymmetric, frequency limits hold while Lopsided sets speeds, CPUs that differ are different kinds for the
# rules, and everything is restored afterwards, also after lop doctor --try. Placement is tested in soak (amp.sh).
# guest: --cpus 2 --cpufreq --timeout 1200
# Behind lib.sh.

limited() { [ "$(cat "/sys/devices/system/cpu/cpu$1/cpufreq/scaling_max_freq")" = "$2" ]; }

# never_above CPU KHZ: the load lasts until the CPU has had this speed, and it never had a higher one. The slowdown by the limit itself ends first.
never_above() {
  local load
  wait_for eval "[ \$(cat /sys/devices/system/cpu/cpu$1/cpufreq/scaling_cur_freq) -le $2 ]" || return
  cpufreq_residency >/tmp/residency.before
  lop-load hogs 2 --seconds 10000 >/dev/null & load=$!
  wait_for was_at "$@"
  kill $load
  wait $load 2>/dev/null
  speeds_since "$@"
}

was_at() { speeds_since "$@" | grep -v '^0 ms at'; }

speeds_since() {
  cpufreq_residency >/tmp/residency.after
  awk -v cpu="$1" -v khz="$2" 'FILENAME ~ /before/ { before[$1, $2] = $3; next }
    $1 == cpu { at = $3 - before[$1, $2]; if ($2 > khz) above += at; if ($2 == khz) there += at }
    END { printf("%d ms at %d kHz, %d ms above\n", there, khz, above); exit above || !there }' /tmp/residency.before /tmp/residency.after
}

limit_is_set() { wait_for lop amp set 1=1575MHz && limited 1 1575000 && limited 0 "$top" && lop amp show | grep '^CPU 1 .*1.575 GHz'; }
two_kinds() { grep "1 of kind 0 ($1), 1 of kind 1 ($2)" /tmp/lop.log; }
refused_meanwhile() { ! lop amp reset 2>/tmp/refused && limited 1 1575000 && grep 'Lopsided is running already' /tmp/refused || { cat /tmp/refused; return 1; }; }
tried_and_back() { lop doctor --try >/tmp/doctor; grep 'speed requests a' /tmp/doctor && same_cpufreq /tmp/cpufreq.before || { cat /tmp/doctor; return 1; }; }
all_as_before() { wait_for lop amp reset && same_cpufreq /tmp/cpufreq.before; }

set_governor schedutil
snapshot_cpufreq >/tmp/cpufreq.before
top=$(cat /sys/devices/system/cpu/cpu0/cpufreq/scaling_max_freq)
expect 'speeds are tried, and are as they were' tried_and_back
expect 'a limit of frequency is set' limit_is_set
expect 'attached' begin_lop --policy highlow-spare
expect 'who is limited is a kind of its own' two_kinds 0 1
expect 'it runs at its limit and never above it' never_above 1 1575000
expect 'nothing is reset while Lopsided runs' refused_meanwhile
expect 'ended' ended_by INT
expect 'the limit is still there' limited 1 1575000
expect 'reset: speeds are as they were' all_as_before
expect 'half of the time of CPU 0 is taken' wait_for lop amp set 0=50%
expect 'longest-first: attached' begin_lop --policy longest-first
expect 'who is slowed is a kind of its own' two_kinds 1 0
expect 'ended again' ended_by INT
expect 'reset: all is as it was' all_as_before
expect 'the kernel has nothing to complain of' kernel_is_well
sum_up
