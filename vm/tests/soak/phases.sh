# SPDX-License-Identifier: GPL-2.0-only
# phases.sh: the thread that a whole program waits for gets the fast core, judged from the kernel's tracepoints; without the rule it does not.
# guest: --cpus 4 --max-mhz 3000,2000,2000,2000 --instruction-ns 8 --timeout 5400 --bin uclampset --bin chrt
# loads: one-and-many half-sequential global-sum matmul chase
# needs: uclampset chrt
# Behind lib.sh.

# Long enough that the start counts little. Some time is lost to the emulator: after each wait the program starts on the CPU that asked first, and both that
# CPU and the fast one must get a turn of the emulator before they exchange tasks, 0.3 ms of 8.
one_and_many() { record one-and-many one-and-many --threads 8 --one-instructions 18e7 --many-instructions 9e7; }

half_sequential() { record half-sequential half-sequential --threads 4 --pairs 60 --pair-instructions 4e6; }

# Beside a program that has the fast CPU: alone the first thread finds that idle when it wakes, rule or no rule. No more threads than CPUs: one that waits
# for a CPU when the others block is not seen to be the only one before it runs.
half_sequential_beside() {
  record half-sequential-beside \
    bash -c 'matmul --threads 2 --size 1000 >/dev/null & sleep 1; half-sequential --threads 2 --pairs 40 --pair-instructions 4e6; kill $!'
}
# Not 95 %: a thread that waits for a CPU when its phase begins is late, which happens to some.
on_fast_beside_matmul() { judged half-sequential-beside sequential --comm lop-half-sequen --share 0.9; }

# Three threads take turns at a lock, so that its holder runs alone most of the time.
lock_in_turns() { record lock-in-turns global-sum --threads 3 --rounds 20 --length-instructions 4e6 --locked-percent 80; }

# Four threads at a lock that one of them always holds, while others compute: no phase is sequential, and there are no hints.
contended_lock() {
  lop-judge record --events sched_switch,sched_wakeup,sched_wakeup_new,sched_process_fork,sys_enter_futex,sys_exit_futex --out /tmp/contended-lock.trace -- \
    global-sum --threads 4 --rounds 25 --length-instructions 4e6 --locked-percent 40 >/tmp/recorded
}

# wishes NAME OF_MATMUL OF_CHASE: two programs of one thread each, and one fast CPU. LEAST-MOST are uclamp's limits of 1024; `0-1024` is no limit.
wishes() {
  record "wishes-$1" bash -c "uclampset -m ${2%-*} -M ${2#*-} matmul --threads 1 --size 1200 >/dev/null &
    uclampset -m ${3%-*} -M ${3#*-} chase --threads 1 --buffer-mib 1 --laps 1e6 --intensity-mpki 1 >/dev/null & sleep 6; kill \$(jobs -p)"
}
# The same limits for a cgroup, and none for its tasks.
wishes_of_group() {
  local group=/sys/fs/cgroup/needs-no-speed
  echo +cpu >/sys/fs/cgroup/cgroup.subtree_control && mkdir $group && echo 10 >$group/cpu.uclamp.max || return
  record wishes-group bash -c "matmul --threads 1 --size 1200 >/dev/null &
    sh -c 'echo \$\$ >$group/cgroup.procs; exec chase --threads 1 --buffer-mib 1 --laps 1e6 --intensity-mpki 1' >/dev/null & sleep 6; kill \$(jobs -p)"
}
# From when both compute.
has_fast() { judged "wishes-$1" fast --comm "lop-$2" --after-s 1; }

# auto: the higher gain goes first. phase: all in turn.
wishes_are_heard() {
  expect 'auto: two programs, one of which wishes for speed' wishes first 1024-1024 0-100
  figure 'auto: it has the fast CPU for 95 % of its run time' has_fast first matmul
  expect 'auto: the other one wishes for speed' wishes second 0-100 1024-1024
  figure 'auto: that one has the fast CPU' has_fast second chase
  expect 'auto: one needs no speed, and of the other nothing is said' wishes most 0-1024 0-100
  figure 'auto: that other one has the fast CPU' has_fast most matmul
  expect 'auto: a cgroup needs no speed, and of its task and another nothing is said' wishes_of_group
  figure 'auto: the other one has the fast CPU' has_fast group matmul
  expect 'auto: of both nothing is said' wishes none 0-1024 0-1024
  figure 'auto: the one has it in turn' refuted has_fast none matmul
  figure 'auto: and so has the other' refuted has_fast none chase
}
wishes_are_not_heard() {
  expect 'phase: two programs, one of which wishes for speed' wishes phase 1024-1024 0-100
  figure 'phase: it has the fast CPU in turn with the other one' refuted has_fast phase matmul
}

# If a rule uses holders, they are searched for.
says_holders() {
  case $1 in
    highlow-spare) ! lop status | grep 'lock holders' ;;
    *) lop status | grep -x 'rules  *lock holders: seen by futex' ;;
  esac
}

# say_by_turns THREAD TIMES: it only spins; it does not. In a real-time class, or whatever else CPU 3 has to do comes between what is written down and
# what is heeded, which is no reaction of the scheduler.
say_by_turns() {
  local turn
  for ((turn = 0; turn < $2; turn++)); do
    chrt -f 1 lop hint "$1" --spinning && sleep 0.03 && chrt -f 1 lop hint "$1" --forget && sleep 0.05 || return
  done
}

# flag_is_raised judged | refuted: two busy threads of one program, of which one says that it only waits. What speaks for it and looks at it keeps to
# a slow CPU, or it would take the fast one itself. $spinner is the thread. What has to be refuted is bound to the fast CPU: without the rule it
# leaves that by chance, and nothing brings it back. A thread that has the fast CPU by turns is judged in half of the cases, which shall be so many that
# one of them does not decide.
flag_is_raised() {
  local load code=0 times=110
  [ "$1" = judged ] || times=16
  taskset -p 8 $$ >/dev/null
  taskset f lop-load hogs 2 --seconds 300 >/tmp/hogs.json & load=$!
  wait_for on_fast_cpu && { [ "$1" = judged ] || taskset -pc 0 "$spinner" >/dev/null; } &&
    record flag bash -c "$(declare -f say_by_turns); say_by_turns $spinner $times" || code=$?
  taskset -p f $$ >/dev/null
  kill $load
  wait $load 2>/dev/null
  return $code
}

# The hog that is now on CPU 0.
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
    needed flag_is_raised "$1" || return
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
  expect "$1: half-sequential beside a program that has the fast CPU" half_sequential_beside
  expect "$1: a lock in turns" lock_in_turns
  expect "$1: a contended lock" contended_lock
  figure "$1: $2" given_on "${@:3}"
  case $1 in
    phase) wishes_are_not_heard ;;
    auto) wishes_are_heard ;;
  esac
  expect "$1: still in charge" still_in_charge
  expect "$1: ended" ended_by INT
}

for policy in phase auto; do
  under $policy 'the fast CPU is given on within 2 ms of the flag in 95 % of cases' judged
  figure "$policy: a sequential program beside 8 threads has the fast CPU for 95 % of its run time" judged one-and-many fast --comm lop-one
  figure "$policy: sequential phases are on a fast CPU within 2 ms in 95 % of cases" judged half-sequential sequential --comm lop-half-sequen
  figure "$policy: beside a program that has the fast CPU in 90 % of cases" on_fast_beside_matmul
  figure "$policy: who holds the lock is on a fast CPU within 2 ms of running alone in 95 % of cases" judged lock-in-turns sequential --comm lop-global-sum
  figure "$policy: who holds a contended lock is on a fast CPU within 2 ms in 95 % of cases" judged contended-lock holders --comm lop-global-sum
done
under highlow-spare 'without the rule the fast CPU is not given on' refuted judged
figure 'without the rule a sequential program has no fast CPU for 95 % of its run time' refuted judged one-and-many fast --comm lop-one
figure 'without the rule sequential phases are not on a fast CPU in time' refuted on_fast_beside_matmul
figure 'without the rule who holds the lock is not on a fast CPU in time' refuted judged lock-in-turns sequential --comm lop-global-sum
figure 'without the rule who holds a contended lock is not on a fast CPU in time' refuted judged contended-lock holders --comm lop-global-sum
expect 'the kernel has nothing to complain of' kernel_is_well
sum_up
