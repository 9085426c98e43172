# SPDX-License-Identifier: GPL-2.0-only
# cycles.sh: the scheduler starts and ends 50 times under load: nothing is lost, nothing is left behind.
# guest: --cpus 8 --timeout 5400
cycles=50

# The shells that walk do so all the time. Those that spin do so from the moment when the kernel begins to change schedulers until the
# old one is back; while the program is loaded, which is the verifier's work alone, they would only make the emulator slower.
cycle() {
  spinners_go STOP
  attach_began_cs=$(uptime_cs)
  lop start >/tmp/lop.log 2>&1 & loader=$!
  wait_for changing_or_gone
  spinners_go CONT
  wait_for attached_or_gone && scheduler_is lopsided && wait_for lop status || { cat /tmp/lop.log; return 1; }
  one_gets_on "$1" && ended_by INT && [ "$loader_code" = 0 ] || { cat /tmp/lop.log; say_and_fail "exit code $loader_code"; }
}

changing_or_gone() { ! scheduler_is_none || ! kill -0 "$loader"; }

spinners_go() { kill -"$1" "${spinners[@]:0:4}"; }

# Checking all of them in every cycle would take longer than the cycle, so they take turns.
one_gets_on() {
  local process=${spinners[$1 % ${#spinners[@]}]} before
  before=$(ticks_of "$process") && wait_for ran_since "$process" "$before"
}

cycle_often() {
  local turn
  for ((turn = 1; turn <= cycles; turn++)); do cycle $turn || { say_and_fail "cycle $turn"; return; }; done
  echo "$cycles cycles"
}

all_alive() { kill -0 "${spinners[@]}"; }

# The kernel memory for BPF is given back: programs and maps.
nothing_left() {
  wait_for eval '! lop-judge bpf-stats | grep -q lopsided' && [ ! -e /run/lopsided/speeds.journal ]
}

spin 4
walk 1
expect 'attaches and detaches under load' cycle_often
expect 'no task is lost' all_alive
expect 'every task goes on' all_get_on
expect 'no program stays in the kernel' nothing_left
expect 'no warning of the kernel' kernel_is_well
end_spinners
sum_up
