# SPDX-License-Identifier: GPL-2.0-only
# heavy.sh: overload: 2,000 runnable tasks, 10,000 forks, a kernel thread that never sleeps. No task is lost, and delays are as under EEVDF.
# guest: --cpus 8 --memory-mb 3072 --instruction-ns 8 --timeout 5400

hogs() { lop-load hogs 2000 --seconds 3; }
forks() { lop-load storm --count "$1"; }
# Wakeups with twice as many busy tasks as CPUs.
wakeups() {
  local busy
  lop-load hogs 16 --seconds 4 >/dev/null & busy=$!
  lop-load wakeups --seconds 3 >/dev/null && wait $busy
}

# The kernel's packet generator, whose thread is bound to CPU 3; it runs until it is told to stop.
generator=/proc/net/pktgen
generate_packets() {
  insmod /vm/modules/pktgen.ko && echo 'add_device lo' >$generator/kpktgend_3 || return
  echo 'count 0' >$generator/lo
  echo start >$generator/pgctrl &
  wait_for generates
}
generates() { local began=$(thread_ticks); sleep 1; [ $(($(thread_ticks) - began)) -ge 20 ]; }
thread_ticks() { ticks_of "$(basename "$(named kpktgend_3)")"; }

# Beside three busy sessions that may run nowhere else the kernel's thread gets a quarter, as they do: of what the four ran, within a third of that.
shares_with_generator() {
  local process before=() ran=() all=0
  for process in 1 2 3; do
    setsid taskset -c 3 bash -c 'while :; do :; done' &
    spinners+=("$!")
  done
  sleep 1
  for process in "${spinners[@]}"; do before+=("$(ticks_of "$process")"); done
  before+=("$(thread_ticks)")
  sleep 3
  for process in "${spinners[@]}"; do ran+=($(($(ticks_of "$process") - before[${#ran[@]}]))); done
  ran+=($(($(thread_ticks) - before[3])))
  end_spinners
  echo "ticks of three sessions and the kernel's thread: ${ran[*]}"
  for process in "${ran[@]}"; do all=$((all + process)); done
  [ $all -ge 200 ] || return
  for process in "${ran[@]}"; do [ $((process * 6)) -ge $all ] && [ $((process * 3)) -le $all ] || return; done
}

stop_generator() { echo stop >$generator/pgctrl; }

export -f hogs forks wakeups
expect "wakeups under EEVDF" recorded eevdf wakeups bash -c wakeups
expect "forks under EEVDF" recorded eevdf forks bash -c "forks 500"
expect 'lop start' begin_lop
figure '2,000 runnable tasks: each gets on within 3 s' recorded lopsided hogs bash -c hogs
figure '2,000 runnable tasks: none is lost' none_lost hogs
expect '10,000 forks end' recorded lopsided forks bash -c 'forks 10000'
figure '10,000 forks: none is lost' none_lost forks
expect 'wakeups beside 16 busy tasks' recorded lopsided wakeups bash -c wakeups
figure 'wakeups beside 16 busy tasks: none is lost' none_lost wakeups
figure 'wakeups beside 16 busy tasks: delay p99.9 below 100 ms where it is under EEVDF' delay_as_under_eevdf wakeups
figure 'forks: delay p99.9 below 100 ms where it is under EEVDF' delay_as_under_eevdf forks
expect 'a kernel thread that never sleeps' generate_packets
figure 'it shares its CPU with three sessions' shares_with_generator
expect 'it stops' stop_generator
expect 'no watchdog exit, no restart' still_in_charge
expect 'Ctrl-C ends it' ended_by INT
expect 'no warning of the kernel' kernel_is_well
sum_up
