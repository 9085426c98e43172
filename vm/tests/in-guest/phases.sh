# phases.sh: whom a whole program waits for has the fast core, judged from the kernel's tracepoints; without the rule it has not.
# guest: --cpus 4 --max-mhz 3000,2000,2000,2000 --instruction-ns 8 --timeout 2400
# loads: one-and-many half-sequential global-sum
# Behind lib.sh.

one_and_many() { record one-and-many one-and-many --threads 8 --one-instructions 6e7 --many-instructions 3e7; }

half_sequential() { record half-sequential half-sequential --threads 4 --pairs 60 --pair-instructions 4e6; }

# Three threads take turns at a lock: who holds it runs alone for most of the time. (Of half-sequential the first thread finds the fast CPU
# idle when it wakes, rule or no rule; who gets the lock does not, since the one that let go of it runs on.)
lock_in_turns() { record lock-in-turns global-sum --threads 3 --rounds 20 --length-instructions 4e6 --locked-percent 80; }

# Four threads at a lock that one of them holds at any time, while others compute: no phase is sequential, and nothing is said of them.
contended_lock() {
  lop-judge record --events sched_switch,sched_wakeup,sched_wakeup_new,sched_process_fork,sys_enter_futex,sys_exit_futex --out /tmp/contended-lock.trace -- \
    global-sum --threads 4 --rounds 25 --length-instructions 4e6 --locked-percent 40 >/tmp/recorded
}

# Where a rule heeds holders they are looked for.
says_holders() {
  case $1 in
    highlow-spare) ! lop status | grep 'lock holders' ;;
    *) lop status | grep -x 'rules  *lock holders: seen by futex' ;;
  esac
}

# say_by_turns THREAD TIMES: it only spins; it does not.
say_by_turns() {
  local turn
  for ((turn = 0; turn < $2; turn++)); do
    lop hint "$1" --spinning && sleep 0.03 && lop hint "$1" --forget && sleep 0.05 || return
  done
}

# flag_is_raised judged | refuted: two busy threads of one program, of which one says that it only waits. What speaks for it and looks at it keeps to
# a slow CPU, or it would take the fast one itself. $spinner is the thread. What has to be refuted is bound to the fast CPU: without the rule it
# leaves that by chance, and nothing brings it back.
flag_is_raised() {
  local load code=0
  taskset -p 8 $$ >/dev/null
  taskset f lop-load hogs 2 --seconds 60 >/tmp/hogs.json & load=$!
  wait_for 20 on_fast_cpu && { [ "$1" = judged ] || taskset -pc 0 "$spinner" >/dev/null; } &&
    record flag bash -c "$(declare -f say_by_turns); say_by_turns $spinner 16" || code=$?
  taskset -p f $$ >/dev/null
  kill $load
  wait $load 2>/dev/null
  return $code
}

# The hog that is on CPU 0 now.
on_fast_cpu() {
  local folder
  for folder in $(named lop-hog); do
    [ "$(awk '{ print $(NF - 13) }' "$folder/stat")" = 0 ] && spinner=${folder##*/} && return
  done
  return 1
}

# given_on judged | refuted judged: tried again if the thread was never on the fast CPU when its flag was raised.
given_on() {
  local turn code
  for turn in 1 2 3 4; do
    flag_is_raised "$1" || return
    "$@" flag given --pid "$spinner"
    code=$?
    grep -q 'nothing to judge' /tmp/verdict || return $code
  done
  return $code
}

# under POLICY WORDS judged | refuted judged: the words say what is shown of the flag.
under() {
  expect "$1: attached" begin_lop --policy "$1" || return
  expect "$1: the status says whether holders of locks are seen" says_holders "$1"
  expect "$1: one and many" one_and_many
  expect "$1: half-sequential" half_sequential
  expect "$1: a lock in turns" lock_in_turns
  expect "$1: a contended lock" contended_lock
  expect "$1: $2" given_on "${@:3}"
  expect "$1: still in charge" still_in_charge
  expect "$1: ended" ended_by INT
}

for policy in phase auto; do
  under $policy 'the fast CPU is given on within 2 ms of the flag in 95 % of cases' judged
  expect "$policy: a sequential program beside 8 threads has the fast CPU for 95 % of its run time" judged one-and-many fast --comm lop-one
  expect "$policy: sequential phases are on a fast CPU within 2 ms in 95 % of cases" judged half-sequential sequential --comm lop-half-sequen
  expect "$policy: who holds the lock is on a fast CPU within 2 ms of running alone in 95 % of cases" judged lock-in-turns sequential --comm lop-global-sum
  expect "$policy: who holds a contended lock is on a fast CPU within 2 ms in 95 % of cases" judged contended-lock holders --comm lop-global-sum
done
under highlow-spare 'without the rule the fast CPU is not given on' refuted judged
expect 'without the rule a sequential program has no fast CPU for 95 % of its run time' refuted judged one-and-many fast --comm lop-one
expect 'without the rule who holds the lock is not on a fast CPU in time' refuted judged lock-in-turns sequential --comm lop-global-sum
expect 'without the rule who holds a contended lock is not on a fast CPU in time' refuted judged contended-lock holders --comm lop-global-sum
expect 'the kernel has nothing to complain of' kernel_is_well
sum_up
