# smt.sh: on cores of two CPUs a whole core that falls idle takes one of two tasks that share another; without the rule they stay.
# guest: --cpus 4 --smt --instruction-ns 8 --timeout 2400
# Behind lib.sh. CPUs 0 and 1 are a core, 2 and 3 the other.

# What auto has use for here: one kind of core, with siblings.
says_its_rules() {
  lop status >/tmp/status && grep -q '^policy *auto,' /tmp/status && grep -q '^rules *a whole core before a share of one$' /tmp/status || { cat /tmp/status; return 1; }
}

# Two busy threads share the first core while two others have the second; all may run everywhere by then. Then the others end.
others_end() {
  local process thread
  begin_cs=$(uptime_cs)
  hogs 2 0-1 && shares 2 2-3 || return
  process=$!
  for thread in $(threads_of lop-hog) $(threads_of lop-share); do taskset -pc 0-3 "$thread" >/dev/null || return; done
  kill $process
  wait $process
  declared_for "$1"
}
export -f others_end

# A core is looked at as if it were a memory domain: none of the two runs beside its like.
each_has_a_core() { judge_planned domains --comm lop-hog --domain 0,1 --domain 2,3 --rest-s 0; }

for policy in auto highlow-spare; do
  expect "$policy: attached" begin_lop --policy $policy --log-decisions /tmp/$policy.log
  [ $policy = highlow-spare ] || expect 'auto: it says by which rules' says_its_rules
  expect "$policy: two busy threads share a core, and the other falls idle" recorded_while others_end 8
  case $policy in
    auto) expect 'auto: each has a whole core for 95 % of its run time' each_has_a_core ;;
    *) expect 'highlow-spare: without the rule each has no whole core for 95 % of its run time' refuted each_has_a_core ;;
  esac
  expect "$policy: no watchdog exit, no restart" still_in_charge
  expect "$policy: ended" ended_by INT
  expect "$policy: the native build decides the same, no record lost, no call out of order" same_decisions /tmp/$policy.log
done
expect 'the kernel has nothing to complain of' kernel_is_well
sum_up
