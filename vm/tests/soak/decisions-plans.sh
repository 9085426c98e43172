# SPDX-License-Identifier: GPL-2.0-only
# decisions-plans.sh: like decisions.sh, but for the policies that plan, for a reserved core, and for auto with one. Chance decides
# which further records a policy adds, and whether an order has an effect, so this is only printed. Tests of vm/judge show that the replay checks each
# of them.
# guest: --cpus 4 --sockets 2 --max-mhz 3000,2000,3000,2000 --instruction-ns 16 --timeout 5400
# Behind lib.sh. CPUs 0 and 1 are one memory domain, 2 and 3 the other; 1 and 3 are slow, so that 1 is the one to be reserved.

# Two threads of very low intensity fit one domain, and gather switches the other off; then there is more to run than it has CPUs, and it is on again
# before a plan switches it.
very_low_ones_and_a_storm() {
  local code=0
  shares 2 0-3 && declare_all lop-share very-low 0-3 && sleep 4 && lop-load fork-storm --jobs 4 --count 20 >/dev/null || code=$?
  kill $(jobs -p)
  return $code
}
export -f very_low_ones_and_a_storm

# Threads that plans move, and the end of the plans.
planned_work() { until_moved side_by_side 5 && bash -c very_low_ones_and_a_storm && wait_for rests_again; }

# Two intensive threads on the fast CPUs, two of very low intensity on the slow ones: each is of the wrong kind, and they exchange them.
crosswise() {
  begin_cs=$(uptime_cs)
  hogs 2 0,2 && shares 2 1,3 && declare_all lop-hog intensive 0-3 && declare_all lop-share very-low 0-3 && declared_for "$1"
}
export -f crosswise
exchanged_work() { bash -c 'crosswise 5' && wait_for rests_again; }

# System and applications beside one another, then so much of the system's own work that the reserved core does not suffice.
system_work() { mixed_load && saturate && lop-load fork-storm --jobs 4 --count 20 >/dev/null && wait_for grep 'CPU 1 is reserved no longer' /tmp/lop.log; }

# Some of the system's work first: what the kernel itself does after an attachment or beside the plans may saturate the reserved core in an emulated
# machine, and then there is none when it comes later.
all_work() { mixed_load && planned_work && system_work && lop-load lengths 60,120,180 >/tmp/lengths.json; }

# logged NAME WORK "KIND..." OPTION...: the run, its log, and that the native build decides as it says.
logged() {
  local name=$1 work=$2 kinds=$3
  shift 3
  log=/tmp/$name.log
  expect "$name: attached" begin_lop "$@" --log-decisions $log
  expect "$name: work" $work
  [[ $name = specialise || $name = reserved-core ]] || figure "$name: a plan has moved somebody" says_moves
  expect "$name: no watchdog exit, no restart" still_in_charge
  expect "$name: ended" ended_by INT
  expect "$name: the log has the records of every run" has_kinds $log start task gone wake placed enqueue queued started block idle set
  # shellcheck disable=SC2086  # words
  figure "$name: it has those that the policy adds" has_kinds $log timer $kinds
  expect "$name: the native build decides the same, no record lost, no call out of order" same_decisions $log
  expect "$name: another queue for a task: found" changed $log '/"queued"/ && ++n == 20 { sub(/"value":[0-9]+/, "\"value\":9") } { print }'
}

# The order that made the first thread leave its domain.
other_domain='/"leaves"/ && !done { done = sub(/"value":[0-9]+/, "\"value\":" (prev ~ /"value":0/ ? 1 : 0), prev) }
  NR > 1 { print prev } { prev = $0 } END { print prev }'
no_domain='/"leaves"/ && !done { done = NR; prev = "" } prev != "" { print prev } { prev = $0 } END { print prev }'

# domains_matter NAME
domains_matter() {
  figure "$1: another domain for a thread: found" changed $log "$other_domain"
  figure "$1: no domain for it: found" changed $log "$no_domain"
}

gains_matter() { figure "$1: no thread gains more than another: found" changed $log '/"started"/ { sub(/"value":[0-9]+/, "\"value\":1500") } { print }'; }

# Of the system's own work that the reserved core was given, some would have gone elsewhere; not each piece, since some are bound to that core.
reserve_matters() {
  figure "$1: work that is not the system's own: found" changed $log '
    /"placed".*"cpu":1,/ && prev ~ /"wake".*"value":2}/ { sub(/"value":2/, "\"value\":0", prev) }
    NR > 1 { print prev } { prev = $0 } END { print prev }'
  expect "$1: a speed of the reserved core left out: found" changed $log '/"kind":"reserved"/ && /"value":1}/ && ++n == 1 { next } { print }'
}

make_daemons
logged spread planned_work 'domain leaves rest' --policy spread
domains_matter spread
logged gather planned_work 'domain leaves domain-off rest' --policy gather
domains_matter gather
# All of them: one may be on again before anybody is placed.
figure 'gather: domains that stay on: found' changed $log '!/"domain-off"/ { print }'
logged specialise exchanged_work 'rest preempt' --policy specialise
gains_matter specialise
logged reserved-core system_work 'reserved' --policy reserved-core
reserve_matters reserved-core
logged auto all_work 'domain leaves rest reserved stopped ended preempt' --policy auto --reserve asked
domains_matter auto
reserve_matters auto
expect 'no warning of the kernel' kernel_is_well
sum_up
