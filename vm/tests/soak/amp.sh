# SPDX-License-Identifier: GPL-2.0-only
# amp.sh: CPUs slowed by taking time are a separate kind, which the longest thread avoids.
# guest: --cpus 2 --cpufreq --instruction-ns 8 --timeout 2400
# Behind lib.sh.

two_kinds() { grep "1 of kind 0 ($1), 1 of kind 1 ($2)" /tmp/lop.log; }
all_as_before() { lop amp reset && same_cpufreq /tmp/cpufreq.before; }

# longest_on CPU: of three threads that declare their lengths, the share of the longest one's run time on that CPU, from the trace.
longest_on() {
  local trace=/tmp/lengths.trace
  needed lop-judge record --out $trace -- lop-load lengths 100,120,400 >/dev/null || return
  awk -v fast="$1" '
    $3 == "name" && $6 == "\"lop-400\"" { longest[$4] = 1 }
    $3 == "switch" { if ($2 in since) { ran[$2] += $1 - since[$2]; delete since[$2] } if ($6 in longest) since[$2] = $1 }
    END { all = ran[0] + ran[1]; if (!all) { print "it did not run"; exit 1 }
      printf("%.1f %% of %.0f ms on CPU %d\n", 100 * ran[fast] / all, all / 1e6, fast); exit ran[fast] < 0.9 * all }' $trace
}

# half_taken SLOW FAST: with the rule, the longest thread gets the fast CPU, whichever that is.
half_taken() {
  expect "CPU $1 at half of its time" lop amp set "$1=50%"
  expect "CPU $1 at half: longest-first: attached" begin_lop --policy longest-first
  expect "CPU $1 at half: it is a kind of its own" two_kinds "$2" "$1"
  figure "CPU $1 at half: the longest thread has CPU $2 for nine tenths of its time" longest_on "$2"
  expect "CPU $1 at half: still in charge" still_in_charge
  expect "CPU $1 at half: ended" ended_by INT
  expect "CPU $1 at half: reset" all_as_before
}

set_governor schedutil
snapshot_cpufreq >/tmp/cpufreq.before
half_taken 0 1
half_taken 1 0
expect 'equal CPUs: longest-first: attached' begin_lop --policy longest-first
expect 'equal CPUs: they are one kind' grep '2 CPUs of one kind' /tmp/lop.log
expect 'equal CPUs: ended' ended_by INT
expect 'the kernel has nothing to complain of' kernel_is_well
sum_up
