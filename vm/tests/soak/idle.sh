# SPDX-License-Identifier: GPL-2.0-only
# idle.sh: an idle machine stays idle: programs only run for wakeups and switches, less often than under a peer, and no timer is armed.
# guest: --cpus 8 --cpufreq --instruction-ns 16 --timeout 5400
# peers: scx_cosmos scx_bpfland scx_lavd
# Behind lib.sh.
idle_s=10

# count_idle NAME: counts what the machine and BPF programs did in the same idle time.
count_idle() {
  lop-judge bpf-stats --enable true || return
  lop-load idle-count --seconds $idle_s >"/tmp/$1.count" || return
  echo "$(runs "$1") runs of BPF programs, $(counted "$1" switches) switches, $(counted "$1" wakeups) wakeups, $(counted "$1" idle_exits) ways out of idle"
}

# runs NAME: of all programs.  counted NAME WHAT: by tracepoints.
runs() { awk -F: '/"run_cnt"/ { sum += $2 } END { print sum + 0 }' "/tmp/$1.count"; }
counted() { awk -F: -v key="\"$2\"" 'index($0, key) { print $2 + 0; exit }' "/tmp/$1.count"; }

# A wakeup needs select_cpu, and enqueue if that does not place the task at once. A switch needs dispatch and stopping for the old task, and
# running for the new one; idle has neither.
asked_for() {
  echo $((2 * $(counted "$1" wakeups) + 3 * $(counted "$1" switches) - $(counted "$1" switches_to_idle) - 2 * $(counted "$1" switches_from_idle)))
}

no_oftener_than_asked() {
  by_program lopsided
  echo "$(runs lopsided) runs, $(asked_for lopsided) asked for by $(counted lopsided wakeups) wakeups and $(counted lopsided switches) switches"
  [ "$(runs lopsided)" -gt 0 ] && [ "$(runs lopsided)" -le "$(asked_for lopsided)" ]
}

by_program() {
  awk -F: '/"name"/ { name = $2 } /"run_cnt"/ && $2 + 0 > 0 { print name, $2 }' "/tmp/$1.count"
  grep -A 20 '"woken"' "/tmp/$1.count"
}

no_more_switches_than_alone() {
  echo "$(counted lopsided switches) switches, $(counted none switches) without"
  [ "$(counted lopsided switches)" -le $(($(counted none switches) * 2 + 100)) ]
}

# Waits without a process that ends, which would be demand that falls, and counts without one. What the guest itself wakes some ten times a second arms it
# for as long as surplus members are held, a hundredth of a second. So one that is armed is looked at twice more, and stays armed if it is ours to
# come again: at one look of ten at most; and of all looks at a quarter, where the guest's own wakeups make a tenth of the time.
no_timer_armed() {
  local look looks_armed=0 all=0 armed=0 in_turn after
  mkfifo /tmp/never
  for look in 1 2 3 4 5 6 7 8 9 10; do
    in_turn=0
    for after in 0.7 0.06 0.09; do
      all=$((all + 1))
      armed_after $after && armed=$((armed + 1)) in_turn=$((in_turn + 1))
    done
    [ $in_turn -lt 3 ] || looks_armed=$((looks_armed + 1))
  done
  echo "armed at $looks_armed of 10 looks in turn, $armed of all $all"
  [ $looks_armed -le 1 ] && [ $((armed * 4)) -le $all ]
}

# armed_after SECONDS
armed_after() {
  local line
  read -r -t "$1" line <>/tmp/never
  mapfile -t timers </proc/timer_list
  for line in "${timers[@]}"; do case $line in *bpf_timer_cb*) return 0 ;; esac; done
  return 1
}

# Shows that an armed timer is seen: members that are held for 5 s after work need one. The number of later ones is only printed, since a process that
# checks is itself falling demand.
armed_while_held() {
  local while_held after
  needed lop-load hogs 4 --seconds 1 >/dev/null && while_held=$(armed_bpf_timers) && sleep 8 && after=$(armed_bpf_timers)
  echo "$while_held armed after work, $after later on"
  [ "$while_held" -ge 1 ]
}

fewer_than() {
  echo "$(runs lopsided) runs here, $(runs "$1") of $1"
  by_program "$1"
  echo "$(runs lopsided) runs here, $(runs "$1") of $1"
  [ "$(runs lopsided)" -lt "$(runs "$1")" ]
}

# against PEER: counts the same under a peer.
against() {
  local name=${1#scx_} process
  "$1" >/tmp/peer.log 2>&1 &
  process=$!
  wait_for scheduler_is "$name" || { cat /tmp/peer.log; return 1; }
  count_idle "$1" || return
  kill -INT "$process"
  wait "$process"
  wait_for scheduler_is_none
  fewer_than "$1"
}

# The installed peers; `make soak` installs none, LOP_PEERS names a folder with some.
peers() {
  local peer
  for peer in scx_cosmos scx_bpfland scx_lavd; do
    type -P "$peer" >/dev/null && figure "idle: fewer runs than under $peer" against "$peer"
  done
  return 0
}

expect 'counted without a scheduler of ours' count_idle none
expect 'attached' begin_lop --policy highlow-spare
expect "counted for $idle_s s" count_idle lopsided
figure 'idle: our programs run no oftener than wakeups and switches ask for' no_oftener_than_asked
figure 'idle: no more switches than twice those without us' no_more_switches_than_alone
figure 'idle: no timer of ours is armed' no_timer_armed
expect 'ended' ended_by INT
expect 'attached, members held for 5 s' begin_lop --policy highlow-spare --hold 5s
figure 'an armed timer is seen' armed_while_held
expect 'ended again' ended_by INT
peers
expect 'the kernel has nothing to complain of' kernel_is_well
sum_up
