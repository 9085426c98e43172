# SPDX-License-Identifier: GPL-2.0-only
# oldest.sh: the oldest available kernel with sched_ext: the scheduler attaches, places tasks, survives a CPU that goes offline with tasks bound to it,
# and detaches. Kernels before 7 do not call the scheduler for a CPU that is going offline, so tasks that wait in its queue would keep it from going.
# They also give our tasks nothing of a CPU that a SCHED_FIFO task never leaves, so a displaced task must move at once.
# guest: --kernel oldest --cpus 8 --instruction-ns 8 --timeout 5400

# Three busy tasks may only run on CPU 4, so two of them always wait there.
goes_with_bound_tasks() {
  local code=0
  spin 3 4
  sleep 0.5
  offline 4 && wait_for in_set offline 4 && all_get_on || code=1
  online 4
  end_spinners
  return $code
}

# The FIFO task displaces tasks on its CPU, possibly including the load that starts it; if that stayed there, it would not end.
displaced_goes_elsewhere() {
  local round
  for round in 1 2 3 4 5 6 7 8; do
    timeout 600 lop-load shares --seconds 1 --warm-up-ms 300 --task=policy=fifo,cpus=0-2 --task=cpus=0-2,name=a --task=cpus=0-2,name=b >>/tmp/beside ||
      say_and_fail "round $round: code $?, and the load should end by itself" || return
  done
}
each_has_a_fifth() {
  awk -F: '/"share"/ { if (!tasks++ || $2 + 0 < least) least = $2 + 0 } END { printf("least share of %d: %.3f\n", tasks, least); exit !(tasks == 24 && least >= 0.2) }' /tmp/beside
}

expect 'starts' begin_lop --policy highlow-spare
expect 'a woken task runs on the CPU that it has claimed' placed oldest
for turn in 1 2 3; do expect "a CPU goes with three tasks bound to it, turn $turn" goes_with_bound_tasks; done
expect 'what a SCHED_FIFO task displaces goes elsewhere: eight loads end' displaced_goes_elsewhere
figure 'of three CPUs each of the three tasks has a fifth of the time or more' each_has_a_fifth
spin 16
expect 'sixteen busy tasks get on' all_get_on
end_spinners
expect 'Ctrl-C ends it' ended_by INT
expect 'no warning of the kernel' kernel_is_well
sum_up
