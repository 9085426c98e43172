# SPDX-License-Identifier: GPL-2.0-only
# cpu-max.sh: a limit of CPU time that is set after the start gives the machine back to the kernel's own scheduler, which enforces it, and without a
# limit Lopsided comes back; after a stall it says so, and after the fourth within an hour it ends with the code by which the service stays off.
# guest: --cpus 2 --instruction-ns 8 --timeout 2400

group=/sys/fs/cgroup/limited
make_group() {
  mkdir "$group" || return
  spin 2
  local process
  for process in "${spinners[@]}"; do echo "$process" >"$group/cgroup.procs" || return; done
}

stat_of() { sed -n "s/^$1 //p" "$group/cpu.stat"; }

is_back_after_limit() {
  echo '10000 100000' >"$group/cpu.max" || return
  local begin_cs
  begin_cs=$(uptime_cs)
  wait_for scheduler_is_none && took_cs=$(($(uptime_cs) - begin_cs)) && kill -0 "$loader"
}

within_a_second() { echo "$took_cs hundredths of a second"; [ "$took_cs" -le 100 ]; }

# Two periods of tolerance for what was running when the window began and ended.
gets_its_share() {
  local before begin_cs took_us used_us
  before=$(stat_of usage_usec) begin_cs=$(uptime_cs)
  sleep 2
  took_us=$((($(uptime_cs) - begin_cs) * 10000)) used_us=$(($(stat_of usage_usec) - before))
  echo "$used_us us of $took_us us, throttled $(stat_of nr_throttled) times"
  [ $used_us -ge $((took_us / 10 - 20000)) ] && [ $used_us -le $((took_us / 10 + 20000)) ] && [ "$(stat_of nr_throttled)" -gt 0 ]
}

status_says() { status | tr -s ' \n' ' ' | grep -o "waits group /limited .* in charge until no group has a limit"; }
lifted() { echo 'max 100000' >"$group/cpu.max" && wait_for scheduler_is lopsided; }
is_not_waiting() { ! status | grep '^waits'; }

ends_while_it_waits() {
  mkdir "$group.2" && echo '5000 100000' >"$group.2/cpu.max" && wait_for scheduler_is_none && wait_for status_of_any &&
    ended_by INT && [ "$loader_code" = 0 ] && rmdir "$group.2"
}
status_of_any() { status >/dev/null; }

stays() {
  mkdir "$group.2" && echo '5000 100000' >"$group.2/cpu.max" && sleep 3 && still_in_charge && rmdir "$group.2"
}

command_goes_on() {
  local code=0
  lop run -- sh -c "mkdir $group.2; echo '5000 100000' >$group.2/cpu.max
    until [ \"\$(cat /sys/kernel/sched_ext/state)\" = disabled ]; do sleep 0.1; done; rmdir $group.2
    until [ \"\$(cat /sys/kernel/sched_ext/state)\" = enabled ]; do sleep 0.1; done; exit 9" >/tmp/run.log 2>&1 || code=$?
  [ "$code" = 9 ] || { cat /tmp/run.log; say_and_fail "exit code $code"; }
}

# stalls CODE WORDS: of many busy tasks each waits for longer than the kernel's watchdog is set to; `lop status` then has these words.
stalls() {
  local busy
  lop-load hogs 400 --seconds 1000 >/dev/null & busy=$!
  wait_for scheduler_is_none
  kill "$busy"
  wait "$busy" 2>/dev/null
  ends "$loader" || return
  [ "$end_code" = "$1" ] || { tail -n 5 /tmp/lop.log; say_and_fail "exit code $end_code"; return; }
  lop status >/tmp/answer 2>&1
  grep "$2" /tmp/answer || { cat /tmp/answer; return 1; }
}

begins_after_three_stalls() {
  local now since
  read -r since _ </proc/uptime
  now=${since%.*}
  printf '%s\n' $((now - 20)) $((now - 10)) >>/run/lopsided/stalls && begin_lop --watchdog 300ms
}
doctor_says() { lop doctor >/tmp/doctor; grep 'not started again' /tmp/doctor; }

# Nothing is busy while the program is loaded, which takes long here.
expect 'lop start' begin_lop
expect 'a group with two busy processes' make_group
expect "a limit of 10 %: the kernel's own scheduler is back, the loader stays" is_back_after_limit
expect 'within a second' within_a_second
expect 'the group gets its 10 %' gets_its_share
expect 'lop status says why' status_says
end_spinners
expect 'the limit is lifted: Lopsided is back' lifted
expect 'lop status says no more of it' is_not_waiting
expect 'it can be ended meanwhile' ends_while_it_waits
expect 'lop run: the command goes on, and Lopsided comes back when the group is gone' command_goes_on
expect 'lop start --ignore-cpu-max' begin_lop --ignore-cpu-max --watchdog 300ms
expect 'a limit changes nothing there' stays
expect 'a stall: to be started again' stalls 4 'is started again'
expect 'lop start after three stalls within an hour' begins_after_three_stalls
expect 'the fourth: not to be started again' stalls 3 'not started again'
expect 'lop doctor says so' doctor_says
expect 'no warning of the kernel' kernel_is_well
sum_up
