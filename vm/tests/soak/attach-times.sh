# SPDX-License-Identifier: GPL-2.0-only
# attach-times.sh: how long an attachment takes, further ways to end, ten failures of the program, a peer scheduler, and what a task gets next to the
# kernel's own scheduler.
# guest: --cpus 8 --cpufreq --timeout 5400
# peers: scx_cosmos
# Behind lib.sh; native_loop_ms is set by run.sh.

attached_in_time() {
  needed begin_lop && needed ended_by INT || return
  time_of_attaching
}

# leaves_settings GOVERNOR SIGNAL: whether all settings are restored, and were changed meanwhile. Unusual limits, so that they cannot be restored by
# chance.
leaves_settings() {
  local cpu=/sys/devices/system/cpu
  set_governor "$1" && echo 1575000 >$cpu/cpu3/cpufreq/scaling_max_freq && echo 1575000 >$cpu/cpu4/cpufreq/scaling_min_freq || return
  snapshot_cpufreq >/tmp/before && begin_lop || return
  wait_for eval '! same_cpufreq /tmp/before' || { ended_by KILL; return 1; }
  ended_by "$2" && scheduler_is_none && same_cpufreq /tmp/before && [ "$loader_code" = 0 ] || say_and_fail "exit code $loader_code"
}

# Ten times an error in the program itself: exit code, dump, scheduler, speeds and their journal.
fails_well_often() {
  local turn code
  for turn in 1 2 3 4 5 6 7 8 9 10; do
    code=0
    lop start --fail-after 200ms >/tmp/lop.log 2>&1 || code=$?
    [ "$code" = 1 ] && scheduler_is_none && same_cpufreq /tmp/before && [ ! -e /run/lopsided/speeds.journal ] && grep -q 'lopsided: active' /tmp/lop.log ||
      { tail -n 40 /tmp/lop.log; say_and_fail "turn $turn: exit code $code"; return; }
  done
  echo "$turn times"
}

# run_ends CODE COMMAND...: lop run returns the command's code, and the kernel's scheduler is back.
run_ends() {
  local expected=$1 code=0
  shift
  lop run -- "$@" >/tmp/run.log 2>&1 || code=$?
  [ "$code" = "$expected" ] && scheduler_is_none || { cat /tmp/run.log; say_and_fail "exit code $code"; }
}

refused_by_peer() {
  local peer result=0
  scx_cosmos >/tmp/peer.log 2>&1 & peer=$!
  wait_for scheduler_is cosmos || return
  ! lop start >/tmp/lop.log 2>&1 && grep '^lop: cosmos.* is attached: stop it first' /tmp/lop.log || result=1
  kill -INT $peer; wait $peer
  wait_for scheduler_is_none && return $result
}

peer_refused_while_attached() {
  local code=0
  timeout 600 scx_cosmos >/tmp/peer.log 2>&1 || code=$?
  [ "$code" != 0 ] && [ "$code" != 124 ] && scheduler_is lopsided || { cat /tmp/peer.log; say_and_fail "exit code $code"; return; }
  echo "exit code $code"
}

# Tasks of the kernel's own scheduler keep half of the CPUs busy. Our task finds a free CPU, even a low one; sharing with one of theirs, it would get half.
partial_finds_a_free_cpu() {
  local cpu code=0
  needed begin_lop --partial || return
  for cpu in 0 1 2 3; do spin 2 $cpu; done
  sleep 1
  needed lop-load shares --seconds 10 --warm-up-ms 100 --task=policy=ext >/tmp/alone
  awk '/"cpu_ms"/ { gsub(/[^0-9.]/, "", $2); ms = $2 + 0 } END { print ms, "of 10000 ms"; exit !(ms >= 7000) }' /tmp/alone || code=1
  end_spinners
  needed ended_by INT && return $code
}

set_governor schedutil
figure "attaches within 3 s with 8 CPUs, by the guest's slowness" attached_in_time
if ! type -P scx_cosmos >/dev/null; then
  echo 'not made: what an attachment beside scx_cosmos shows; LOP_PEERS names a folder that has it'
else
  expect 'refused while a peer is attached' refused_by_peer
  expect 'starts' begin_lop
  expect 'scx_cosmos is refused while it is attached' peer_refused_while_attached
  expect 'ends' ended_by INT
fi
expect 'Ctrl-C leaves cpufreq as it was: ondemand' leaves_settings ondemand INT
expect 'SIGTERM leaves cpufreq as it was: performance' leaves_settings performance TERM
expect 'SIGUSR1 leaves cpufreq as it was: ondemand' leaves_settings ondemand USR1
set_governor userspace
set_speeds 1575000
snapshot_cpufreq >/tmp/before
walk 3
expect 'ten errors in the program: exit code 1, dump shown, speeds back' fails_well_often
end_spinners
set_governor schedutil
expect 'lop run: 128 + the signal that ended the command' run_ends 137 sh -c 'kill -KILL $$'
expect 'lop run: 127 where there is no such command' run_ends 127 no-such-command
figure '--partial: a task finds a free CPU beside busy ones of the kernel'"'"'s own scheduler' partial_finds_a_free_cpu
expect 'no warning of the kernel' kernel_is_well
sum_up
