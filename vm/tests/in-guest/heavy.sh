# heavy.sh: more tasks than CPUs can bear: 2,000 runnable ones, 10,000 forks. Nobody is lost, and delays are what they are under EEVDF.
# guest: --cpus 8 --memory-mb 3072 --instruction-ns 8 --timeout 900

hogs() { lop-load hogs 2000 --seconds 3; }
forks() { lop-load storm --count "$1"; }
# Wakeups beside twice as many busy tasks as CPUs.
wakeups() {
  local busy
  lop-load hogs 16 --seconds 4 >/dev/null & busy=$!
  lop-load wakeups --seconds 3 >/dev/null && wait $busy
}

export -f hogs forks wakeups
expect "wakeups under EEVDF" recorded eevdf wakeups bash -c wakeups
expect "forks under EEVDF" recorded eevdf forks bash -c "forks 500"
expect 'lop start' begin_lop
expect '2,000 runnable tasks: each gets on' recorded lopsided hogs bash -c hogs
expect '2,000 runnable tasks: none is lost' none_lost hogs
expect '10,000 forks end' recorded lopsided forks bash -c 'forks 10000'
expect '10,000 forks: none is lost' none_lost forks
expect 'wakeups beside 16 busy tasks' recorded lopsided wakeups bash -c wakeups
expect 'wakeups beside 16 busy tasks: none is lost' none_lost wakeups
expect 'wakeups beside 16 busy tasks: delay p99.9 below 100 ms where it is under EEVDF' delay_as_under_eevdf wakeups
expect 'forks: delay p99.9 below 100 ms where it is under EEVDF' delay_as_under_eevdf forks
expect 'no watchdog exit, no restart' still_in_charge
expect 'Ctrl-C ends it' ended_by INT
expect 'no warning of the kernel' kernel_is_well
sum_up
