# SPDX-License-Identifier: GPL-2.0-only
# rules.sh: under the policies with rules for the fast cores, all busy threads make progress, and the longest have the fast cores.
# guest: --cpus 4 --max-mhz 3000,3000,2000,2000 --instruction-ns 8 --timeout 5400
# Behind lib.sh.

# The shorter ones start first and find the fast CPUs idle.
# What has to be refuted is bound: free ones have the fast CPUs for three quarters of the time by chance.
lengths() { record "lengths-$1" "${@:2}" lop-load lengths 100,120,300,360; }

all_get_on() {
  local code=0
  lop-load hogs 9 --seconds 3 --max-gap-ms 1000 >/tmp/hogs.json || code=$?
  grep '"longest_gap_ms"' /tmp/hogs.json
  return $code
}

for policy in phase longest-first fair-share; do
  expect "$policy: attached" begin_lop --policy $policy
  figure "$policy: 9 busy threads on 4 CPUs all get on" all_get_on
  [ $policy != longest-first ] || {
    expect "$policy: threads of four lengths" lengths $policy
    figure "$policy: the two longest have the fast CPUs for 95 % of their run time" judged lengths-$policy fast --comm lop-300,lop-360
  }
  expect "$policy: no watchdog exit, no restart" still_in_charge
  expect "$policy: ended" ended_by INT
done
expect 'highlow-spare: attached' begin_lop --policy highlow-spare
expect 'highlow-spare: threads that are bound to the slow CPUs' lengths highlow-spare taskset -c 2,3
figure 'highlow-spare: the two longest have no fast CPUs for 95 % of their run time' refuted judged lengths-highlow-spare fast --comm lop-300,lop-360
expect 'highlow-spare: ended' ended_by INT
expect 'the kernel has nothing to complain of' kernel_is_well
sum_up
