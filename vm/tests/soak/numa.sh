# SPDX-License-Identifier: GPL-2.0-only
# numa.sh: on which node the second thread of a program runs, printed: a core joins on the node of the first thread, or on the only one of its memory
# (cpuset.mems), but an idle high CPU of any node is taken first. Under highlow, which knows no programs, a core joins on any node. The log has the nodes,
# and the native build decides the same.
# guest: --cpus 4 --sockets 2 --instruction-ns 8 --turn-us 4000 --timeout 1200
# loads: matmul
# Behind lib.sh. CPUs 0 and 1 are node 0, 2 and 3 node 1.

# begins CPU [GROUP]: a program whose second thread does its work. The first is placed on that CPU, and then may run everywhere, with memory as the group
# says.
begins() {
  (
    [ -z "${2:-}" ] || echo $BASHPID >"/sys/fs/cgroup/$2/cgroup.procs" || exit
    taskset -pc "$1" $BASHPID >/dev/null
    sleep 0.1
    (
      taskset -pc 0-3 $BASHPID >/dev/null
      exec matmul --threads 1 --size 400 --repeats 1000
    ) >/dev/null
  ) & shell=$!
  wait_for computes
}
computes() { program=$(pidof matmul) && set -- "/proc/$program/task"/* && [ $# = 2 ]; }

# Where its second thread ran last, at 20 moments: so many times on node 0, and on node 1. Whether the given node has nine of ten.
runs_on() {
  local turn thread
  for thread in "/proc/$program/task"/*; do :; done
  for turn in {1..20}; do
    sed 's/.*) //' "$thread/stat"
    sleep 0.1
  done | awk -v node="$1" '{ on[$37 > 1]++ } END { print "node 0:", on[0] + 0 ", node 1:", on[1] + 0; exit on[node] < 0.9 * NR }'
}

# program_on NODE BUSY CPU [GROUP]: the same beside a busy task that is bound to another CPU, so that both nodes have a high one.
program_on() {
  local code busy
  taskset -c "$2" lop-load hogs 1 --seconds 100000 >/dev/null & busy=$!
  wait_for are_there lop-hog 1 && begins "${@:3}" && runs_on "$1"
  code=$?
  { kill "$(pidof matmul)" $busy; wait $shell $busy; } 2>/dev/null
  return $code
}

bound_to() { mkdir -p "/sys/fs/cgroup/$1" && echo "$2" >"/sys/fs/cgroup/$1/cpuset.mems"; }
# How many records there are of programs with memory on all nodes, and on each alone.
shares() {
  local only
  for only in 0 1 2; do grep -c "\"kind\":\"shares\".*\"value\":$only\>" /tmp/phase.log || return; done
}

expect 'cgroups may have memory on one node' eval 'echo +cpuset >/sys/fs/cgroup/cgroup.subtree_control && bound_to first 0 && bound_to second 1'
expect 'phase: attached' begin_lop --policy phase --log-decisions /tmp/phase.log
figure 'phase: the second thread runs on the node of the first one' program_on 1 1 2
figure 'phase: with memory on node 1 it runs there' program_on 1 3 0 second
figure 'phase: with memory on node 0 it runs there' program_on 0 1 2 first
expect 'phase: no watchdog exit, no restart' still_in_charge
expect 'phase: ended' ended_by INT
expect 'phase: the log has programs with memory on both nodes, and on each alone' shares
expect 'phase: the native build decides the same, no record lost, no call out of order' same_decisions /tmp/phase.log
expect 'highlow: attached' begin_lop --policy highlow
figure 'highlow: it runs on the other node' program_on 0 1 2
expect 'highlow: ended' ended_by INT
expect 'the kernel has nothing to complain of' kernel_is_well
sum_up
