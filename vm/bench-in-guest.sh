# SPDX-License-Identifier: GPL-2.0-only
# bench-in-guest.sh: compares schedulers in one boot, in rounds of all of them. Runs inside a guest after tests/lib.sh; vm/bench.sh sets schedulers,
# benchmarks, turns, loops, groups, and either rounds or counted, a scheduler. Leaves in /out: `times`, a line ROUND SCHEDULER BENCHMARK VALUE UNIT for
# each run of `rounds`, where less is better; or `symbols` of the callbacks and `switches`, their number, for callbacks.c. With counted=marks, only its
# `marks`.

# start_scheduler NAME: eevdf is the kernel's own; its loader is $loader.
start_scheduler() {
  case $1 in
    eevdf) return ;;
    lopsided) begin_lop --policy highlow-spare ;;
    lopsided:*) begin_lop --policy "${1#lopsided:}" ;;
    *)
      "scx_$1" >"/tmp/$1.log" 2>&1 &
      loader=$!
      wait_for peer_attached_or_gone "$1"
      scheduler_is "$1" || { tail -n 5 "/tmp/$1.log"; kill -KILL "$loader"; wait "$loader"; say_and_fail "scx_$1 does not attach"; } ;;
  esac
}

peer_attached_or_gone() { scheduler_is "$1" || ! kill -0 "$loader"; }

end_scheduler() { [ "$1" = eevdf ] || ended_by INT; }

hackbench_s() { hackbench "$@" -l "$loops" -g "$groups" | sed -n 's/^Time: //p'; }

pipe_us() { perf bench sched pipe -l "$pipe_loops" 2>&1 | sed -n 's|^ *\([0-9.]*\) usecs/op.*|\1|p'; }

# figure NAME: a number of lop-load's output.
figure() { sed -n "s/.*\"$1\": \([0-9.]*\).*/\1/p" | head -n 1; }

us_per_fork() { lop-load storm --count "$forks" | figure wall_ms | awk -v forks="$forks" '{ print $1 * 1000 / forks }'; }

# value ROUND SCHEDULER BENCHMARK UNIT NUMBER: notes a value; an empty one is an error.
value() {
  [ -n "${5:-}" ] || { not_ok "$3 under $2, round $1: no figure"; return; }
  echo "$1 $2 $3 $5 $4" | tee -a /out/times
}

# Whether this benchmark was requested; by default all are.
wanted() { [ -z "$benchmarks" ] || [[ " $benchmarks " == *" $1 "* ]]; }

# measured ROUND SCHEDULER BENCHMARK UNIT COMMAND...
measured() { ! wanted "$3" || value "${@:1:4}" "$("${@:5}")"; }

# measure ROUND SCHEDULER
measure() {
  local woken
  measured "$@" hackbench-pipe-processes s hackbench_s --pipe --process
  measured "$@" hackbench-pipe-threads s hackbench_s --pipe --threads
  measured "$@" hackbench-socket-processes s hackbench_s --process
  measured "$@" hackbench-socket-threads s hackbench_s --threads
  measured "$@" perf-pipe us/op pipe_us
  if wanted wakeup-mean || wanted wakeup-p50 || wanted wakeup-p99; then
    woken=$(lop-load wakeups --seconds "$wakeup_seconds")
    measured "$@" wakeup-mean us figure mean_us <<<"$woken"
    measured "$@" wakeup-p50 us figure p50_us <<<"$woken"
    measured "$@" wakeup-p99 us figure p99_us <<<"$woken"
  fi
  measured "$@" fork us us_per_fork
}

# Loading takes longest, so each scheduler is measured several times while it is loaded.
measure_turns() {
  local turn
  for ((turn = 0; turn < turns; turn++)); do measure "$@" || return; done
}

# Each round begins with another scheduler.
rotated() {
  local all i
  read -r -a all <<<"$schedulers"
  for i in "${!all[@]}"; do echo "${all[(i + $1) % ${#all[@]}]}"; done
}

run_round() {
  local scheduler
  for scheduler in $(rotated "$1"); do
    if start_scheduler "$scheduler"; then measure_turns "$1" "$scheduler" && end_scheduler "$scheduler" || not_ok "$scheduler does not end"; else leave_out "$scheduler"; fi
  done
}

# A peer that this kernel refuses is named and left out; without lopsided there is nothing to compare.
leave_out() {
  case $1 in lopsided | lopsided:*) not_ok "$1: not started" ;; esac
  echo "$1 does not start here and stays out" | tee -a /out/left-out
  schedulers=$(tr ' ' '\n' <<<"$schedulers" | grep -vx "$1" | xargs)
}

switches() { sed -n 's/^ctxt //p' /proc/stat; }

# For the rest of the guest's life.
crowd() {
  taskset -c 0,1 lop-load hogs "$crowd" --seconds 3600 >/dev/null &
  taskset -pc 2-7 $$ >/dev/null
  wait_for are_there lop-hog "$crowd"
}

# Counting begins and ends where bpf_stats_handler is called.
count_callbacks() {
  local before
  echo 1 >/proc/sys/net/core/bpf_jit_kallsyms
  start_scheduler "$1" || { leave_out "$1"; return; }
  sed -n 's/ [a-zA-Z] / /p' /proc/kallsyms | awk '/ bpf__sched_ext_ops_| bpf_trampoline_/ { print $1, $2 }' >/out/symbols
  before=$(switches)
  [ "$crowd" = 0 ] || crowd
  echo 1 >/proc/sys/kernel/bpf_stats_enabled
  hackbench_s --pipe --process >/dev/null
  lop-load wakeups --seconds "$wakeup_seconds" >/dev/null
  echo 0 >/proc/sys/kernel/bpf_stats_enabled
  echo $(($(switches) - before)) >/out/switches
  end_scheduler "$1"
}

echo 0 >/proc/sys/kernel/kptr_restrict
for ((round = 0; round < rounds; round++)); do run_round $round; done
case $counted in
  '') ;;
  marks) sed -n 's/ [a-zA-Z] / /p' /proc/kallsyms | grep -E ' (__bpf_prog_(enter|exit)(_recur)?|bpf_stats_handler)$' >/out/marks ;;
  *) count_callbacks "$counted" ;;
esac
[ "$sentences_failed" = 0 ]
