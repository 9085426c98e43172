# SPDX-License-Identifier: GPL-2.0-only
# reaction.sh: how soon enforcement by cgroup reacts, how much of the burst time is at top speed, and what the loader costs, compared with sched_ext.
# guest: --cpus 4 --cpufreq --instruction-ns 4 --timeout 2400
# Behind lib.sh.
trace=/tmp/agent.trace

# begin_agent OPTION...: like begin_lop, by cgroup.
begin_agent() {
  lop start --enforce cgroup "$@" >/tmp/lop.log 2>&1 &
  loader=$!
  wait_for runs_or_gone && grep -q '^running' /tmp/lop.log && wait_for lop status && return
  tail -n 40 /tmp/lop.log
  return 1
}

runs_or_gone() { grep -q '^running' /tmp/lop.log || ! kill -0 "$loader"; }

# For some seconds after the boot the kernel still works in its own threads, which count like any tasks.
quiet() {
  local running
  read -r _ _ _ running _ </proc/loadavg
  [ "${running%/*}" = 1 ]
}

# reactions LIMIT_MS: four threads wake at once while one CPU is open: until each of the four CPUs has run one. The middle of all wakings counts.
reactions() {
  sleep 2
  needed lop-judge record --buffer-kb 40960 --out $trace -- lop-load bursts --count 40 --busy-ms 500 --threads 4 --idle-ms 900..900 >/dev/null || return
  awk '
    FNR == NR { if ($3 == "name" && $6 == "\"lop-burst\"") burst[$4] = 1; next }
    $3 == "wakeup" && ($4 in burst) && $1 > late + 300e6 { begin = $1; delete has; cpus = 0; of++ }
    $3 == "wakeup" && ($4 in burst) { late = $1 }
    $3 == "switch" && ($4 in burst || $6 in burst) { late = $1 }
    $3 == "switch" && ($6 in burst) && !($2 in has) { has[$2] = 1; if (++cpus == 4) printf "%.0f\n", ($1 - begin) / 1e6 }
    END { print of > "/tmp/wakings" }' $trace $trace | sort -n >/tmp/reactions
  awk -v limit="$1" -v of="$(cat /tmp/wakings)" '{ ms[NR] = $1 }
    END { middle = ms[int((of + 1) / 2)]; printf "median %d ms, longest %d ms, %d of %d wakings had four CPUs\n", middle, ms[NR], NR, of
      exit !(NR * 2 > of && middle <= limit) }' /tmp/reactions
}

# bursts_at_top SHARE: the share of burst time on CPUs at top speed; no task runs on a parked CPU except while moving away.
bursts_at_top() {
  needed lop-judge record --out $trace -- lop-load bursts --count 60 --busy-ms 50 --threads 3 --idle-ms 5..120 >/dev/null || return
  judge bursts --share "$1"
}

nobody_on_low() { judge low --grace-us "$1" --share "$2"; }

# loader_ns: CPU time of all threads of the loader.
loader_ns() { cat /proc/"$loader"/task/*/schedstat | awk '{ ns += $1 } END { printf "%.0f", ns }'; }

# costs LIMIT COMMAND...: while that runs the loader takes at most so many thousand instructions a second. One takes 4 ns here; a CPU of 3e9 a
# second does 3,000 thousand in 0.1 % of its time. Only where nothing else runs: CPUs here take turns, and the clock goes on in those of others.
costs() {
  local limit=$1 begin_cs begin_ns end_ns
  shift
  begin_cs=$(uptime_cs) begin_ns=$(loader_ns)
  needed "$@" >/tmp/costs.out || { cat /tmp/costs.out; return 1; }
  needed kill -0 "$loader" && end_ns=$(loader_ns) && [ "$begin_ns" -gt 0 ] && [ "$end_ns" -ge "$begin_ns" ] || say_and_fail 'the loader is not there, or a thread of it has ended' || return
  awk -v ns=$((end_ns - begin_ns)) -v cs=$(($(uptime_cs) - begin_cs)) -v limit="$limit" 'BEGIN {
    thousand = ns / 4 / (cs / 100) / 1e3
    printf "%.0f thousand instructions a second, %.2f %% of one CPU here, in %.0f s\n", thousand, ns / cs / 1e5, cs / 100
    exit !(thousand <= limit) }'
}

# ends_well: after SIGTERM.
ends_well() {
  kill -TERM "$loader" && ends "$loader" && [ "$end_code" = 0 ] && grep '^ended' /tmp/lop.log && return
  tail -n 5 /tmp/lop.log
  return 1
}

set_governor schedutil
wait_for quiet
expect 'cgroup: begun' begin_agent --policy highlow
figure 'cgroup: four threads have four CPUs' reactions 400
figure 'cgroup: burst time at top speed' bursts_at_top 0.5
figure 'cgroup: nobody runs on a low CPU for longer than a reaction takes' nobody_on_low 400000 0.5
sleep 3
figure 'cgroup: while nothing runs the loader takes below 0.1 % of a CPU of 3e9 instructions a second' costs 3000 sleep 20
expect 'cgroup: SIGTERM ends it' ends_well
# Last, since loading takes longest: the reference for the others.
expect 'kernel: attached' begin_lop --policy highlow
figure 'kernel: four threads have four CPUs' reactions 50
figure 'kernel: burst time at top speed' bursts_at_top 0.99
sleep 3
figure 'kernel: while nothing runs the loader takes below 0.002 % of it' costs 50 sleep 20
expect 'kernel: ended' ended_by TERM
sum_up
