# kinds.sh: two kinds of CPUs: the fast kind is taken first; auto says its rules; specialise exchanges threads.
# guest: --cpus 8 --max-mhz 1400,1400,1400,1400,2100,2100,2100,2100 --instruction-ns 4 --timeout 2400
# Behind lib.sh. CPUs 4 to 7 are the fast ones.

# Recorded with a new load each time: where its time went.
fast_share() {
  lop-judge record --out /tmp/kinds.trace -- lop-load bursts --count 60 --threads "$1" --idle-ms 20..60 >/dev/null || return
  lop-judge --format json check /tmp/kinds.trace residency >/tmp/kinds.json || return
  awk '/^      "[0-9]+": \{/ { gsub(/[^0-9]/, ""); cpu = $0 + 0 } /"ordinary":/ { gsub(/[^0-9.]/, ""); busy[cpu >= 4] += $0 }
    END { share = busy[1] / (busy[0] + busy[1]); printf("%.3f of ordinary time on the fast CPUs\n", share); exit !(share >= 0.95) }' /tmp/kinds.json
}

slow_ones_help() {
  lop-load hogs 6 --seconds 2 --max-gap-ms 500 >/tmp/hogs.json || return
  grep -E '"(least_work|longest_gap_ms)"' /tmp/hogs.json | xargs
}

# What auto has use for here: rank, and kinds by SF. Nothing to choose among memory domains.
says_its_rules() {
  lop status >/tmp/status && [ "$(grep -c '^rules' /tmp/status)" = 3 ] && grep -q '^rules *lock holders: ' /tmp/status && grep -q '^policy *auto, spare 1' /tmp/status &&
    grep '^rules *fast cores: sequential phases, most work left, most gain, in turn$' /tmp/status || { cat /tmp/status; return 1; }
}

# both_kinds POLICY
both_kinds() {
  expect "$1: attached" begin_lop --policy "$1"
  grep '^machine' /tmp/lop.log
  expect "$1: two kinds are known" grep -q 'of kind 1' /tmp/lop.log
  [ "$1" != auto ] || expect 'auto: it says by which rules' says_its_rules
  expect "$1: two tasks: the fast kind first" fast_share 2
  expect "$1: six busy tasks: the slow kind helps" slow_ones_help
  expect "$1: no watchdog exit, no restart" still_in_charge
  expect "$1: ended" ended_by INT
}

# Four intensive threads begin on the fast CPUs and four light ones, which gain more, on the slow ones; then all may run everywhere.
on_the_wrong_kind() {
  begin_cs=$(uptime_cs)
  hogs 4 4-7 && shares 4 0-3 && declare_all lop-hog intensive 0-7 && declare_all lop-share light 0-7 && declared_for "$1"
}
export -f on_the_wrong_kind

# Threads change kinds by the plan. Where they ran is said and not judged: at the end of a slice any CPU takes who waits, whatever a plan had exchanged.
kinds_are_exchanged() {
  recorded_while on_the_wrong_kind 8 || return
  judge_planned fast --comm lop-share
  lop status | tr -s ' \n' ' ' | grep -o '[1-9][0-9]* moves so far' && head -n 1 /tmp/verdict
}

both_kinds highlow-spare
both_kinds auto
expect 'specialise: attached' begin_lop --policy specialise
expect 'specialise: threads of declared classes are exchanged' kinds_are_exchanged
expect 'specialise: no watchdog exit, no restart' still_in_charge
expect 'specialise: ended' ended_by INT
expect 'the kernel has nothing to complain of' kernel_is_well
sum_up
