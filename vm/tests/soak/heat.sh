# SPDX-License-Identifier: GPL-2.0-only
# heat.sh: an idle high CPU that is hot changes places with the coolest low one of its socket, once in three minutes, by sensors of a false /sys/class; a
# sensor that reads no number is named, and no CPU is swapped by it. The native build decides the same.
# guest: --cpus 8 --sockets 2 --instruction-ns 8 --turn-us 4000 --timeout 1800
# Behind lib.sh. CPUs 0 to 3 are one socket, 4 to 7 the other.
log=/tmp/heat.log

input_of() { echo $sensors/hwmon$(($1 / 4))/temp$(($1 % 4 + 2))_input; }
# temperature CPU DEGREES
temperature() { echo "${2}000" >"$(input_of "$1")"; }

# heat_up DEGREES: all CPUs that are high now have that temperature, one of each socket that is low 30, and the others 50.
heat_up() {
  local cpu cool=' '
  cpus_in high >/tmp/high || return
  [ -s /tmp/high ] || return
  for cpu in {0..7}; do
    if grep -qx "$cpu" /tmp/high; then temperature "$cpu" "$1"
    elif [[ $cool != *" $((cpu / 4)) "* ]]; then temperature "$cpu" 30 && cool+="$((cpu / 4)) "
    else temperature "$cpu" 50; fi
  done
}

# Reads the swaps from the log: two sets that change after a record of heat. Each goes from a hotter CPU to the coolest low one of the same socket, and is
# three minutes or more after the last one on that socket. At least two are made.
swaps_hold() {
  awk -F'[:,"}]+' '
    { for (i = 2; i < NF; i++) field[$i] = $(i + 1); kind = field["kind"]; cpu = field["cpu"]; value = field["value"] }
    kind == "temperature" { celsius[cpu] = value / 1000; next }
    kind == "heat" { heat = field["at_ns"]; joined = -1; next }
    kind == "set" {
      if (heat && value == 1) { joined = cpu; coolest = 1
        for (other = int(cpu / 4) * 4; other < int(cpu / 4) * 4 + 4; other++)
          if (!(other in high) && celsius[other] < celsius[cpu]) coolest = 0 }
      else if (heat && joined >= 0) { socket = int(cpu / 4)
        printf "after %d s: %d (%d degrees) for %d (%d)\n", heat / 1e9, joined, celsius[joined], cpu, celsius[cpu]
        if (int(joined / 4) != socket || !coolest || celsius[joined] >= celsius[cpu]) wrong++
        if (socket in last && heat - last[socket] < 180e9) wrong++
        last[socket] = heat; swaps++; joined = -1 }
      if (value == 1) high[cpu]; else delete high[cpu]
      next
    }
    { heat = 0 }
    END { exit wrong || swaps < 2 }' $log
}

names_the_sensor() {
  echo hot >"$(input_of 5)"
  wait_for eval "status | tr -s ' \n' ' ' | grep \"not watched now: /sys/class/hwmon/hwmon1/temp3_input: found 'hot'\"" &&
    temperature 5 40 && wait_for eval "status | grep '8 cores watched'"
}

expect 'attached' begin_lop --policy highlow
expect 'without sensors heat is not watched, and why is said' eval "status | grep '^heat .*not watched: /sys/class/hwmon'"
expect 'ended' ended_by INT
expect 'sensors' false_sensors
expect 'attached' begin_lop --policy highlow
expect 'eight cores are watched' eval "status | grep '^heat .*0 swaps; 8 cores watched, hot above 90 °C'"
# It keeps one CPU high, which is idle most of the time.
lop-load bursts --count 1000000 --busy-ms 20 --idle-ms 400 >/dev/null & bursts=$!
expect 'a sensor that reads no number is named' names_the_sensor
expect 'ended' ended_by INT
# There is no swap in the first three minutes after the boot.
wait_for eval '[ "$(uptime_cs)" -gt 18500 ]'
expect 'logged: attached' begin_lop --policy highlow --log-decisions $log
expect 'logged: high CPUs are hot' heat_up 80
sleep 40
expect 'logged: those in their place are hotter' heat_up 85
sleep 200
expect 'logged: no watchdog exit, no restart' still_in_charge
expect 'logged: ended' ended_by INT
kill $bursts
expect 'each swap is with the coolest of the socket, and three minutes after the last one there' swaps_hold
expect 'the native build decides the same, no record lost, no call out of order' same_decisions $log
expect 'no warning of the kernel' kernel_is_well
sum_up
