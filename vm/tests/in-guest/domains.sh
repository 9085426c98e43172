# domains.sh: in which memory domain threads of a declared class run, under spread, gather and without a plan. Judged from the kernel's
# tracepoints. Two domains, each with a node of its own: CPUs 0 and 1, 2 and 3.
# guest: --cpus 4 --sockets 2 --instruction-ns 16 --timeout 2400
# Behind lib.sh.
trace=/tmp/domains.trace

threads_of() { named "$1" | sed 's|.*/||'; }
are_there() { [ "$(threads_of "$1" | wc -l)" = "$2" ]; }

# declare_all NAME CLASS: threads of that name may run everywhere from now on, and this is said of them.
declare_all() {
  local thread
  for thread in $(threads_of "$1"); do
    taskset -pc 0-3 "$thread" >/dev/null && lop hint "$thread" --memory "$2" || return
  done
}

# declared_for SECONDS: all is said, which takes its time. From now on, hundredths of a second since $begin_cs, the loads run on so long.
declared_for() {
  echo $(($(uptime_cs) - begin_cs)) >/tmp/declared_cs
  sleep "$1"
  kill $(jobs -p)
}

# hogs COUNT CPUS   shares COUNT CPUS: begins a load there.
hogs() { taskset -c "$2" lop-load hogs "$1" --seconds 100 >/dev/null & wait_for 20 are_there lop-hog "$1"; }
shares() {
  local -a tasks
  while [ ${#tasks[@]} -lt "$1" ]; do tasks+=(--task=nice=0); done
  taskset -c "$2" lop-load shares --seconds 100 "${tasks[@]}" >/dev/null & wait_for 20 are_there lop-share "$1"
}

# Two intensive threads in the first domain, two light ones in the second, and nothing that would move them but a plan.
side_by_side() {
  begin_cs=$(uptime_cs)
  hogs 2 0,1 && shares 2 2,3 && declare_all lop-hog intensive && declare_all lop-share light && declared_for "$1"
}

# Two intensive threads in the first domain, and a light one beside them.
two_and_a_light_one() {
  begin_cs=$(uptime_cs)
  hogs 2 0,1 && shares 1 1 && declare_all lop-hog intensive && declare_all lop-share light && declared_for "$1"
}

# recorded_while LOAD SECONDS
recorded_while() {
  rm -f /tmp/declared_cs
  lop-judge record --out $trace --buffer-kb 40960 --events sched_switch,sched_wakeup,sched_wakeup_new,sched_process_fork -- bash -c "$1 $2" >/dev/null &&
    [ -s /tmp/declared_cs ] || say_and_fail "$1 did not get as far as to declare"
}

# The first plan comes two looks after a declared thread was seen at a tick, and takes effect at a tick: 3 s.
judge() { lop-judge check $trace --allow lop "$@" --after-s "$(awk '{ print $1 / 100 + 3 }' /tmp/declared_cs)" >/tmp/verdict; local code=$?; tail -n +2 /tmp/verdict; head -n 1 /tmp/verdict; return $code; }

# Intensive threads run without their like in their domain for 95 % of their time; light ones may be there. How long each ran in which domain
# stands in what is printed. How often a plan may move a thread is the policy's test: who waits longer than the fair queue's period for a CPU
# of its domain is taken elsewhere, and back, by no plan.
ran_apart() {
  recorded_while "$1" 8 || return
  judge domains --domain 0,1 --domain 2,3 --beside lop-share --rest-s 0
}

not_apart() {
  recorded_while "$1" 8 || return
  ! judge domains --domain 0,1 --domain 2,3 --beside lop-share --rest-s 0 || return
  grep -q undisturbed /tmp/verdict && head -n 1 /tmp/verdict
}

says_its_source() { lop status | grep 'lop hint --memory' && lop status | grep '^plan'; }
rests_again() { lop status | grep -q 'rests: nothing to plan by'; }
refused_for_kinds() { ! lop start --policy specialise 2>/tmp/refused && grep 'one kind of core' /tmp/refused; }

export -f side_by_side two_and_a_light_one declared_for hogs shares declare_all threads_of are_there wait_for say_and_fail uptime_cs named

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
expect 'highlow-spare: they do not' not_apart side_by_side
expect 'highlow-spare: ended' ended_by INT
expect 'the kernel has nothing to complain of' kernel_is_well
sum_up
