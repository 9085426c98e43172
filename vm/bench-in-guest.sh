# bench-in-guest.sh: measures schedulers against each other in one boot, in rounds of all of them. Runs inside a guest behind
# tests/lib.sh; vm/bench.sh sets schedulers, benchmarks, turns, loops, groups, and either rounds or counts. Leaves in /out: `times`, a line ROUND SCHEDULER
# BENCHMARK VALUE UNIT for each run of `rounds`, less is better; `callbacks`, a line ROUND SCHEDULER PROGRAM CALLS NS SECONDS SWITCHES for
# each BPF program that ran and each of `counts`.

# start_scheduler NAME: eevdf is the kernel's own; its loader is $loader.
start_scheduler() {
  case $1 in
    eevdf) return ;;
    lopsided) begin_lop --policy highlow-spare ;;
    lopsided:*) begin_lop --policy "${1#lopsided:}" ;;
    *)
      "scx_$1" >"/tmp/$1.log" 2>&1 &
      loader=$!
      wait_for 600 peer_attached_or_gone "$1"
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

# value ROUND SCHEDULER BENCHMARK UNIT NUMBER: nothing measured is an error.
value() {
  [ -n "${5:-}" ] || { not_ok "$3 under $2, round $1: no figure"; return; }
  echo "$1 $2 $3 $5 $4" | tee -a /out/times
}

# Whether this one was asked for: of none, all are.
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
  if wanted wakeup-p50 || wanted wakeup-p99; then
    woken=$(lop-load wakeups --seconds "$wakeup_seconds")
    measured "$@" wakeup-p50 us figure p50_us <<<"$woken"
    measured "$@" wakeup-p99 us figure p99_us <<<"$woken"
  fi
  measured "$@" fork us us_per_fork
}

# Loading takes longest, so each is measured several times while it is there.
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

# A peer that this kernel does not take is said and left out; without lopsided there is nothing to compare.
leave_out() {
  case $1 in lopsided | lopsided:*) not_ok "$1: not started" ;; esac
  echo "$1 does not start here and stays out" | tee -a /out/left-out
  schedulers=$(tr ' ' '\n' <<<"$schedulers" | grep -vx "$1" | xargs)
}

switches() { sed -n 's/^ctxt //p' /proc/stat; }

# count_callbacks ROUND SCHEDULER: counting costs time itself, so apart from the rounds that are timed.
count_callbacks() {
  local before begin_cs seconds switched
  start_scheduler "$2" || { leave_out "$2"; return; }
  bpf_stats on
  bpf_stats /tmp/before
  begin_cs=$(uptime_cs) before=$(switches)
  hackbench_s --pipe --process >/dev/null
  lop-load wakeups --seconds "$wakeup_seconds" >/dev/null
  switched=$(($(switches) - before)) seconds=$(awk -v cs=$(($(uptime_cs) - begin_cs)) 'BEGIN { print cs / 100 }')
  bpf_stats /tmp/after
  bpf_stats off
  lop-judge diff-stats /tmp/before /tmp/after | spent_lines "$@" "$seconds" "$switched" | tee -a /out/callbacks
  end_scheduler "$2"
}

spent_lines() {
  awk -v of="$1 $2" -v seconds="$3" -v switches="$4" '
    { gsub(/[",]/, "") }
    $1 == "name:" { name = $2 }
    $1 == "run_cnt:" { calls = $2 }
    $1 == "run_time_ns:" && calls > 0 { print of, name, calls, $2, seconds, switches }'
}

for ((round = 0; round < rounds; round++)); do run_round $round; done
for ((round = 0; round < counts; round++)); do
  for scheduler in $(rotated $round); do [ "$scheduler" = eevdf ] || count_callbacks $round "$scheduler"; done
done
[ "$sentences_failed" = 0 ]
