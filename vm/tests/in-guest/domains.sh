# domains.sh: in which memory domain threads of a declared class run, under spread, under gather, and where they are bound. Judged from the kernel's
# tracepoints. Two domains, each with a node of its own: CPUs 0 and 1, 2 and 3.
# guest: --cpus 4 --sockets 2 --instruction-ns 16 --timeout 2400
# Behind lib.sh.

# Two intensive threads in the first domain, and a light one beside them.
two_and_a_light_one() {
  begin_cs=$(uptime_cs)
  hogs 2 0,1 && shares 1 1 && declare_all lop-hog intensive 0-3 && declare_all lop-share light 0-3 && declared_for "$1"
}

# What has to be refuted: two intensive threads that stay in the first domain. Free ones come apart by chance as well.
bound_together() { side_by_side "$1" 0,1; }

# Intensive threads run without their like in their domain for 95 % of their time; light ones may be there. How long each ran in which domain
# stands in what is printed. How often a plan may move a thread is the policy's test: who waits longer than the fair queue's period for a CPU
# of its domain is taken elsewhere, and back, by no plan.
apart() { judge_planned domains --domain 0,1 --domain 2,3 --beside lop-share --rest-s 0; }
ran_apart() { recorded_while "$1" 8 && apart; }
ran_together() { recorded_while "$1" 8 && refuted apart; }

says_its_source() { lop status | grep 'lop hint --memory' && lop status | grep '^plan'; }
refused_for_kinds() { ! lop start --policy specialise 2>/tmp/refused && grep 'one kind of core' /tmp/refused; }

export -f two_and_a_light_one bound_together

expect 'specialise is refused where all cores are alike' refused_for_kinds
expect 'spread: attached' begin_lop --policy spread
expect 'spread: it says by what it plans, and rests' says_its_source
expect 'spread: nothing is looked at' rests_again
expect 'spread: intensive threads run in domains of their own' ran_apart side_by_side
expect 'spread: it rests again when they have ended' wait_for 20 rests_again
expect 'spread: no watchdog exit, no restart' still_in_charge
expect 'spread: ended' ended_by INT
expect 'gather: attached' begin_lop --policy gather
expect 'gather: intensive threads run in domains of their own' ran_apart two_and_a_light_one
expect 'gather: no watchdog exit, no restart' still_in_charge
expect 'gather: ended' ended_by INT
expect 'highlow-spare: attached' begin_lop --policy highlow-spare
expect 'highlow-spare: those that are bound to one domain do not' ran_together bound_together
expect 'highlow-spare: ended' ended_by INT
expect 'the kernel has nothing to complain of' kernel_is_well
sum_up
