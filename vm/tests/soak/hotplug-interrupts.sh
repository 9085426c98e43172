# SPDX-License-Identifier: GPL-2.0-only
# hotplug-interrupts.sh: a CPU that was offline can interrupt itself again. If the program requests such an interrupt while the CPU goes offline, none
# ever arrives there (kernel/src/bpf/dying.bpf.h): before the program avoided this, a CPU was silent after going offline 27 and 75 times.
# guest: --cpus 4 --instruction-ns 8 --turn-us 4000 --timeout 2400

storm() { lop-load fork-storm --jobs 6 --count "$1" >/tmp/storm.json; }

# Interrupts for IRQ work on that CPU since the boot.
interrupts_of() { awk -v field=$(($1 + 2)) '$1 == "IWI:" { print $field }' /proc/interrupts; }
has_more() { storm 12 && [ "$(interrupts_of "$1")" -gt "$2" ]; }

# With the program's log, since each record may wake the loader by such an interrupt.
interrupts_go_on() {
  local turn cpu load before
  for turn in {1..80}; do
    for cpu in 3 1; do
      storm 30 & load=$!
      offline $cpu && online $cpu && wait $load || return
      before=$(interrupts_of $cpu)
      wait_for has_more $cpu "$before" || { say_and_fail "CPU $cpu is silent after round $turn"; return; }
    done
  done
}

expect 'attached' begin_lop --log-decisions /tmp/decisions.log
expect 'a CPU that was offline interrupts itself again' interrupts_go_on
expect 'ended' ended_by INT
expect 'no warning of the kernel' kernel_is_well
sum_up
