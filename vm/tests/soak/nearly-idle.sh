# SPDX-License-Identifier: GPL-2.0-only
# nearly-idle.sh: interrupts and context switches of a thread that wakes 40 times a second, and of two threads that wake each other, compared with the
# kernel's own scheduler.
# guest: --cpus 8 --cpufreq --instruction-ns 16 --timeout 3600 --bin /usr/bin/perf
# needs: perf
# Behind lib.sh.
wakes() { lop-load bursts --count 320 --busy-ms 1 --idle-ms 25; }
pipe() { perf bench sched pipe -l 5000; }

# interrupts KIND...: since boot, on all CPUs: RES rescheduling, CAL function calls, IWI work that a CPU asked itself for, LOC timers.
interrupts() {
  awk -v kinds=" $* " '{ name = $1; sub(":", "", name) }
    index(kinds, " " name " ") { for (i = 2; i <= NF && $i ~ /^[0-9]+$/; i++) n += $i } END { print n + 0 }' /proc/interrupts
}
switches() { awk '$1 == "ctxt" { print $2 }' /proc/stat; }

# count NAME LOAD: sets NAME_LOAD_KIND to the growth of each counter during the load.
count() {
  local kind
  local -A before
  for kind in RES CAL IWI LOC; do before[$kind]=$(interrupts $kind); done
  before[switches]=$(switches)
  "$2" >/dev/null 2>&1 || return
  for kind in RES CAL IWI LOC; do counts[$1 $2 $kind]=$(($(interrupts $kind) - before[$kind])); done
  counts[$1 $2 switches]=$(($(switches) - before[switches]))
}
declare -A counts

# no_more LOAD KIND...: in total, at most 10 % more than under the kernel's scheduler.
no_more() {
  local load=$1 kind ours=0 theirs=0 said=''
  shift
  for kind in "$@"; do
    ours=$((ours + counts[lopsided $load $kind])) theirs=$((theirs + counts[eevdf $load $kind]))
    said+=" $kind ${counts[lopsided $load $kind]} beside ${counts[eevdf $load $kind]},"
  done
  echo "$ours beside $theirs:${said%,}"
  [ $((ours * 10)) -le $((theirs * 11)) ]
}

# The sets stay while the thread comes and goes; a CPU that joined and left each time would count 300.
sets_stay() {
  local promotions
  promotions=$(status --format json | sed -n 's/.*"promotions": \([0-9]*\).*/\1/p')
  echo "$promotions promotions"
  [ "$promotions" -lt 100 ]
}

set_governor schedutil
expect 'woken 320 times' count eevdf wakes
expect 'woken 10,000 times through pipes' count eevdf pipe
expect 'attached' begin_lop --policy highlow-spare
expect 'woken 320 times again' count lopsided wakes
expect 'no set changes for a thread that wakes 40 times a second' sets_stay
expect 'woken 10,000 times again' count lopsided pipe
expect 'a woken task runs on the CPU that it has claimed' placed woken
expect 'ended' ended_by INT
expect '40 wakes a second: interrupts' no_more wakes RES CAL IWI LOC
expect '40 wakes a second: context switches' no_more wakes switches
expect 'two that wake each other: interrupts sent to wake a CPU' no_more pipe RES CAL IWI
expect 'two that wake each other: context switches' no_more pipe switches
expect 'no warning of the kernel' kernel_is_well
sum_up
