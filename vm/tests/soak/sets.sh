# SPDX-License-Identifier: GPL-2.0-only
# sets.sh: bursts of work find CPUs at top speed, the set shrinks in time, low CPUs stay free, and speeds are set under each governor. Judged from the
# kernel's tracepoints and cpufreq's own statistics.
# guest: --cpus 8 --cpufreq --instruction-ns 4 --timeout 5400
# Behind lib.sh.

hold_ms=10

# bursts COUNT: from six threads, each of which sleeps between its bursts.
bursts() {
  lop-judge record --out "$trace" -- lop-load bursts --count "$1" --busy-ms 50 --threads 6 --idle-ms 5..120 >/tmp/bursts.json || return
  grep -E '"(bursts|wall_ms)"' /tmp/bursts.json | xargs
}

# Where the loader writes the speeds it takes its time in an emulated machine: a task may start that much before its CPU is at speed, and a
# CPU may be low that much later. All together that may be no more than a thousandth of all work, or a hundredth where the loader writes.
judge_bursts() {
  local governor=$1 grace_us=$2 slack_ms=5 shrink_percent=95 low_share=0.001
  [ "$grace_us" -lt 5000 ] || slack_ms=10 shrink_percent=90 low_share=0.01
  figure "$governor: 99 % of burst time on CPUs at top speed" judge bursts --share 0.99
  figure "$governor: no ordinary task on a low CPU for $((grace_us / 1000)) ms, nor all for more than $low_share of their time" \
    judge low --grace-us "$grace_us" --share "$low_share"
  figure "$governor: the set shrinks within hold + $slack_ms ms in $shrink_percent % of cases" \
    judge shrink --hold-ms $hold_ms --slack-ms $slack_ms --share 0.$shrink_percent
}

# A CPU that is low, and stays so but for the task: members change places, and if that CPU happens to have become one for good when the
# recording begins, it shows nothing and another one is tried.
pinned_promotes() {
  local low turn code trace=/tmp/pinned.trace
  for turn in 1 2 3 4; do
    low=$(cpus_in low | tail -n 1)
    [ -n "$low" ] || say_and_fail 'no CPU is low' || return
    needed lop-judge record --out "$trace" -- lop-load pinned --cpu "$low" --rounds 40 --idle-ms 60..120 >/dev/null || return
    judge promoted --cpu "$low" --within-us "$1" --share 0.95
    code=$?
    grep -q 'nothing shown' /tmp/verdict || return $code
  done
  return $code
}

# Three busy tasks stay on CPUs 1, 3 and 5: these are at top speed, and all others except the spare at the lowest.
residency() {
  local hogs begin_cs took_ms
  lop-load hogs 3 --cpus 1,3,5 --seconds 4 >/dev/null &
  hogs=$!
  sleep 1
  cpufreq_residency >/tmp/residency.before
  begin_cs=$(uptime_cs)
  sleep 2
  cpufreq_residency >/tmp/residency.after
  took_ms=$((($(uptime_cs) - begin_cs) * 10))
  needed wait $hogs || return
  judge_residency "$took_ms"
}

judge_residency() {
  awk -v took="$1" '
    FILENAME ~ /before/ { before[$1, $2] = $3; next }
    { at[$1, $2] = ($3 - before[$1, $2]) / took
      if (!($1 in top) || $2 > top[$1]) top[$1] = $2
      if (!($1 in low) || $2 < low[$1]) low[$1] = $2 }
    END {
      least = 1
      for (cpu in top) {
        print "CPU", cpu, "at top", at[cpu, top[cpu]], "at bottom", at[cpu, low[cpu]]
        if (cpu == 1 || cpu == 3 || cpu == 5) { if (at[cpu, top[cpu]] < least) least = at[cpu, top[cpu]] } else bottom += at[cpu, low[cpu]]
      }
      printf("busy CPUs at top at least %.3f of the time, %.2f of the other five at bottom, one of them the spare\n", least, bottom)
      exit !(least >= 0.95 && bottom >= 3.6 && bottom <= 4.3)
    }' /tmp/residency.before /tmp/residency.after
}

# Six busy tasks, and never more than COUNT CPUs high: each status is of one moment, but for CPUs that pinned threads of the kernel count on.
never_more_than() {
  local most=0 high pinned hogs i
  lop-load hogs 6 --seconds 6 >/dev/null &
  hogs=$!
  for ((i = 0; i < 20; i++)); do
    high=$(cpus_in high | wc -l)
    pinned=$(grep -c '"pinned"' /tmp/status)
    [ "$((high - pinned))" -le "$most" ] || most=$((high - pinned))
    sleep 0.2
  done
  needed wait $hogs || return
  echo "at most $most CPUs high beside those of pinned tasks"
  [ "$most" -gt 0 ] && [ "$most" -le "$1" ]
}

with_cap() {
  set_governor schedutil || return
  expect "cap $1: attached" begin_lop --policy highlow-spare --max-high "$1" || return
  expect "cap $1: the status tells" eval "lop status | grep -q '^policy .*at most $1 high'"
  figure "cap $1: six busy tasks have no more high CPUs" never_more_than "$1"
  figure "cap $1: a task pinned to a low CPU promotes it" pinned_promotes 5000
  expect "cap $1: ended" ended_by INT
}

# with_governor NAME COUNT GRACE-US: COUNT 0 leaves the bursts out.
with_governor() {
  local trace=/tmp/$1.trace
  set_governor "$1" || return
  expect "$1: attached" begin_lop --policy highlow-spare --hold ${hold_ms}ms || return
  grep '^speeds' /tmp/lop.log
  if [ "$2" -gt 0 ]; then expect "$1: bursts done" bursts "$2" && judge_bursts "$1" "$3"; fi
  figure "$1: a task pinned to a low CPU promotes it" pinned_promotes "$3"
  figure "$1: high CPUs at the top OPP, low ones at the bottom, by cpufreq's statistics" residency
  expect "$1: ended" ended_by INT
}

with_governor schedutil ${BURSTS:-1000} 1000
with_governor userspace 300 5000
# Limits take effect by a kernel worker; under emulation that is too late for a burst of 50 ms now and then: 97 % of burst time is at top speed.
with_governor ondemand 0 25000
with_cap 2
expect 'the kernel has nothing to complain of' kernel_is_well
sum_up
