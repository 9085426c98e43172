# SPDX-License-Identifier: GPL-2.0-only
# crash.sh: if the loader is killed or the program in the kernel fails, the kernel's own scheduler and the speeds are restored.
# guest: --cpus 4 --cpufreq --timeout 1200

# Runs until its speeds are set, then dies. The kernel's scheduler comes back by itself, the speeds do not.
killed() {
  begin_lop || return
  wait_for speeds_differ || return
  ended_by KILL
  wait_for scheduler_is_none || return
  [ "$loader_code" = 137 ] && speeds_differ && lop status 2>&1 | grep "the kernel's own scheduler is in charge"
}

speeds_differ() { ! same_cpufreq /tmp/before; }

restored_by_hand() { lop restore && same_cpufreq /tmp/before; }

restored_by_next_start() { begin_lop && ended_by INT && same_cpufreq /tmp/before; }

nothing_left_to_restore() { lop restore | grep 'nothing to restore'; }

# fails_well: checks exit code, dump, scheduler and speeds after an error in the program itself.
fails_well() {
  local code=0
  timeout 600 lop start --fail-after 200ms >/tmp/lop.log 2>&1 || code=$?
  [ "$code" = 1 ] && scheduler_is_none && same_cpufreq /tmp/before || { tail -n 40 /tmp/lop.log; say_and_fail "exit code $code"; return; }
  grep -q "^lop: .*failed as asked for by a test.*kernel's own scheduler is back" /tmp/lop.log &&
    grep -q 'lopsided: active' /tmp/lop.log && grep -q 'CPU 0 ' /tmp/lop.log || { cat /tmp/lop.log; say_and_fail 'no reason or no dump'; return; }
  [ ! -e /run/lopsided/speeds.journal ] || say_and_fail 'the journal of speeds is still there'
}

# The kernel reports the attachment and then the failure, which must not be mistaken for a start.
never_in_charge() {
  local code=0
  lop run --fail-after 0s -- touch /tmp/ran >/tmp/run.log 2>&1 || code=$?
  [ "$code" = 1 ] && [ ! -e /tmp/ran ] && scheduler_is_none || { cat /tmp/run.log; say_and_fail "run: exit code $code"; return; }
  code=0
  lop start --daemon --fail-after 0s >/tmp/lop.log 2>&1 || code=$?
  [ "$code" = 1 ] && scheduler_is_none && same_cpufreq /tmp/before || { cat /tmp/lop.log; say_and_fail "start: exit code $code"; return; }
  grep '^lop: .*init' /tmp/lop.log
}

# If it is asked to end while it loads, neither scheduler nor command starts. Earlier, before it handles signals, it would die of them; if the command
# runs already, the request was too late.
stopped_while_loading() {
  local process
  for _ in {1..50}; do
    rm -f /tmp/ran
    lop run -- touch /tmp/ran >/tmp/run.log 2>&1 & process=$!
    wait_for hears_sigterm $process && kill -TERM $process
    ends $process || return
    [ "$end_code" = 0 ] && [ -e /tmp/ran ] || break
  done
  [ "$end_code" = 130 ] && [ ! -e /tmp/ran ] && scheduler_is_none && same_cpufreq /tmp/before ||
    { cat /tmp/run.log; say_and_fail "exit code $end_code"; return; }
  grep 'interrupted; the command was not run' /tmp/run.log
}

hears_sigterm() { ((0x$(sed -n 's/^SigCgt:[[:space:]]*//p' "/proc/$1/status") >> 14 & 1)); }

# SysRq-S ejects it: this has a separate exit code, so that the service is not restarted.
sysrq_ends_it() {
  begin_lop || return
  echo 1 >/proc/sys/kernel/sysrq
  echo S >/proc/sysrq-trigger || return
  wait_for scheduler_is_none || return
  ends "$loader" || return
  [ "$end_code" = 3 ] && same_cpufreq /tmp/before || { tail -n 5 /tmp/lop.log; say_and_fail "exit code $end_code"; return; }
  grep '^lop: .*SysRq' -i /tmp/lop.log
}

# On a busy host attaching may take longer than the program has; then no command was started, and it gets more time.
run_goes_on() {
  local code time
  rm -f /tmp/begun
  for time in 5s 30s 300s; do
    code=0
    lop run --fail-after $time -- sh -c 'touch /tmp/begun; until [ "$(cat /sys/kernel/sched_ext/state)" = disabled ]; do sleep 0.1; done; exit 9' \
      >/tmp/run.log 2>&1 || code=$?
    [ ! -e /tmp/begun ] || break
  done
  [ "$code" = 9 ] || { tail -n 3 /tmp/run.log; say_and_fail "exit code $code"; return; }
  grep "the command went on under the kernel's own scheduler" /tmp/run.log
}

set_governor userspace
set_speeds 1575000
snapshot_cpufreq >/tmp/before
walk 3
expect "kill -9 of the loader: the kernel's own scheduler is back" killed
expect 'lop restore puts speeds back' restored_by_hand
expect 'a second restore has nothing to do' nothing_left_to_restore
expect 'killed again' killed
expect 'the next start puts speeds back' restored_by_next_start
expect 'an error in the program: exit code 1, dump shown, speeds back' fails_well
expect 'an error under lop run: the command goes on' run_goes_on
expect 'an error at the start: no command is run, no daemon stays' never_in_charge
expect 'asked to end while it loads: the command is not run' stopped_while_loading
expect 'SysRq-S ends it with exit code 3, speeds back' sysrq_ends_it
expect 'every task goes on' all_get_on
expect 'no warning of the kernel' kernel_is_well
end_spinners
sum_up
