# hotplug-storm.sh: CPUs go and come as fast as they can while tasks fork, wake and change their affinities.
# guest: --cpus 8 --cpufreq --timeout 5400

nobody_offline() { lop status --format json >/tmp/status && grep -q '"offline": \[\]' /tmp/status; }

# Forks, wakeups and changes of affinity while CPUs go and come as fast as they can.
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

spin 1
walk 3
expect 'attaches under load' begin_lop --watchdog 10s
expect 'CPUs go and come during a fork storm' storm_meanwhile
expect 'attached all the time, no restart' still_in_charge
expect 'Ctrl-C ends it' ended_by INT
expect 'every task goes on' all_get_on
expect 'no warning of the kernel' kernel_is_well
end_spinners
sum_up
