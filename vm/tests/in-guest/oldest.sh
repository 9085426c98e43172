# oldest.sh: the oldest kernel with sched_ext that can be had: comes, places, survives a CPU that goes with tasks bound to it, and leaves. Kernels
# before 7 ask no scheduler on behalf of a CPU that is going: what waits for it in a queue would keep it from going.
# guest: --kernel oldest --cpus 8 --timeout 600

# Three busy tasks may run on CPU 4 only, so two of them wait there at any moment.
goes_with_bound_tasks() {
  local code=0
  spin 3 4
  sleep 0.5
  offline 4 && wait_for 20 in_set offline 4 && all_get_on || code=1
  online 4
  end_spinners
  return $code
}

expect 'starts' begin_lop --policy highlow-spare
for turn in 1 2 3; do expect "a CPU goes with three tasks bound to it, turn $turn" goes_with_bound_tasks; done
spin 16
expect 'sixteen busy tasks get on' all_get_on
end_spinners
expect 'Ctrl-C ends it' ended_by INT
expect 'no warning of the kernel' kernel_is_well
sum_up
