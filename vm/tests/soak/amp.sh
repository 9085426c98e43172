# SPDX-License-Identifier: GPL-2.0-only
# amp.sh: CPUs slowed by taking time are a separate kind: the longest thread avoids them, and if more threads declare lengths than there are CPUs, they
# run where list scheduling puts them, but not without declarations.
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

# Four threads, told by that command, on two CPUs of which 1 is half as fast. By the list the second longest has CPU 1 for itself and the others share
# CPU 0 (policy/fast/list.h has the same example): so much of their run time was where the list has it, from 0.1 s after the last was created to the first end.
# In slices as they come it is 1/4 * 1/3 + 3/4 * 2/3 = 0.58.
four() { lop-judge record --out /tmp/four.trace -- lop-load lengths 120,100,80,60 --tell "$1" >/dev/null; }
as_listed() {
  awk -v wanted="$1" '
    $3 == "name" && $6 ~ /^"lop-(120|100|80|60)"$/ { place[$4] = $6 == "\"lop-100\""; began = $1 + 1e8 }
    $3 == "switch" { if ($4 in place) { ended[$4] = $1; from[++count] = since[$2]; to[count] = $1; fits[count] = place[$4] == $2 } since[$2] = $1 }
    END { end = began * 2; for (thread in ended) if (ended[thread] < end) end = ended[thread]
      for (i = 1; i <= count; i++) { if (from[i] < began) from[i] = began; if (to[i] > end) to[i] = end
        if (to[i] > from[i]) { all += to[i] - from[i]; if (fits[i]) sum += to[i] - from[i] } }
      if (end < began + 5e8) { print "they were not there together"; exit 2 }
      printf("%.1f %% of %.0f ms where the list has them\n", 100 * sum / all, all / 1e6); exit sum < wanted * all }' /tmp/four.trace
}
as_listed_less_than() { local code=0; as_listed "$1" || code=$?; [ $code = 1 ]; }
said_lists() { lop status | tr -s ' \n' ' ' | grep -o 'no lists: .* [1-9][0-9]* orders so far'; }

# half_taken SLOW FAST: with the rule, the longest thread gets the fast CPU, whichever that is.
half_taken() {
  expect "CPU $1 at half of its time" lop amp set "$1=50%"
  expect "CPU $1 at half: longest-first: attached" begin_lop --policy longest-first
  expect "CPU $1 at half: it is a kind of its own" two_kinds "$2" "$1"
  figure "CPU $1 at half: the longest thread has CPU $2 for nine tenths of its time" longest_on "$2"
  [ "$1" = 0 ] || more_than_cpus
  expect "CPU $1 at half: still in charge" still_in_charge
  expect "CPU $1 at half: ended" ended_by INT
  expect "CPU $1 at half: reset" all_as_before
}

more_than_cpus() {
  expect 'more threads than CPUs, which declare their lengths' four 'lop hint'
  figure 'they run where the list has them for nine tenths of their time or more' as_listed 0.9
  expect 'nobody is on a list any more' wait_for said_lists
  expect 'the same threads, which declare nothing' four true
  figure 'they do not' as_listed_less_than 0.75
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
