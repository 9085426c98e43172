# SPDX-License-Identifier: GPL-2.0-only
# hotplug-storm.sh: CPUs go offline and come back as fast as possible while tasks fork, wake and change their affinities, and the loader sets speeds.
# guest: --cpus 8 --cpufreq --timeout 5400

nobody_offline() { lop status --format json >/tmp/status && grep -q '"offline": \[\]' /tmp/status; }

# Forks, wakeups and changes of affinity while CPUs go and come as fast as possible.
storm_meanwhile() {
  local load code=0 rounds=0
  lop-load fork-storm >/tmp/storm.json 2>&1 & load=$!
  while kill -0 $load 2>/dev/null && [ $rounds -lt 100 ]; do
    offline 7 && offline 2 && online 7 && online 2 || return
    rounds=$((rounds + 1))
  done
  wait $load || code=$?
  [ "$code" = 0 ] || { cat /tmp/storm.json; say_and_fail "exit code $code of the load"; return; }
  wait_for nobody_offline && echo "$rounds rounds of two CPUs"
}

says_nothing_of_offline_cpus() { ! grep -E 'cannot (read|write) it' /tmp/lop.log; }
ends_as_it_began() { ended_by INT && [ "$loader_code" = 0 ] && same_cpufreq /tmp/before; }

# Going offline changes some settings by itself, so do it once before they are noted.
for cpu in 2 7; do offline $cpu; online $cpu; done
set_governor userspace
set_speeds 1575000
snapshot_cpufreq >/tmp/before
spin 1
walk 3
expect 'attaches under load' begin_lop
expect 'CPUs go and come during a fork storm' storm_meanwhile
expect 'attached all the time, no restart' still_in_charge
expect 'nothing is said of the speeds of CPUs that go' says_nothing_of_offline_cpus
expect 'Ctrl-C leaves cpufreq as it was' ends_as_it_began
expect 'every task goes on' all_get_on
expect 'no warning of the kernel' kernel_is_well
end_spinners
sum_up
