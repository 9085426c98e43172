# SPDX-License-Identifier: GPL-2.0-only
# smt.sh: on cores of two CPUs, a whole core that becomes idle takes one of two tasks that share another core; but not if both are bound to theirs.
# guest: --cpus 4 --smt --instruction-ns 8 --timeout 5400
# Behind lib.sh. CPUs 0 and 1 are a core, 2 and 3 the other.

# The parts of auto that are useful here: one kind of core, with siblings.
says_its_rules() {
  lop status >/tmp/status && grep -q '^policy *auto,' /tmp/status && grep -q '^rules *a whole core before a share of one$' /tmp/status || { cat /tmp/status; return 1; }
}

# others_end SECONDS [CPUS]: two busy threads share the first core while two others have the second; all may run everywhere by then, or the first two
# on those CPUs. Then the others end.
others_end() {
  local process thread
  begin_cs=$(uptime_cs)
  hogs 2 0-1 && shares 2 2-3 || return
  process=$!
  for thread in $(threads_of lop-hog); do taskset -pc "${2:-0-3}" "$thread" >/dev/null || return; done
  for thread in $(threads_of lop-share); do taskset -pc 0-3 "$thread" >/dev/null || return; done
  kill $process
  wait $process
  declared_for "$1"
}
# What has to be refuted: two that stay on their core. Free ones come apart by chance as well.
bound_others_end() { others_end "$1" 0-1; }
export -f others_end bound_others_end

# A core is looked at as if it were a memory domain: none of the two runs beside its like.
each_has_a_core() { judge_planned domains --comm lop-hog --domain 0,1 --domain 2,3 --rest-s 0; }

# under POLICY LOAD
under() {
  expect "$1: attached" begin_lop --policy "$1" --log-decisions "/tmp/$1.log"
  [ "$1" = highlow-spare ] || expect 'auto: it says by which rules' says_its_rules
  expect "$1: two busy threads share a core, and the other falls idle" recorded_while "$2" 8
  case $1 in
    auto) figure 'auto: each has a whole core for 95 % of its run time' each_has_a_core ;;
    *) figure 'highlow-spare: those that are bound to one core have no whole one each' refuted each_has_a_core ;;
  esac
  expect "$1: no watchdog exit, no restart" still_in_charge
  expect "$1: ended" ended_by INT
  expect "$1: the native build decides the same, no record lost, no call out of order" same_decisions "/tmp/$1.log"
}

under auto others_end
under highlow-spare bound_others_end
expect 'the kernel has nothing to complain of' kernel_is_well
sum_up
