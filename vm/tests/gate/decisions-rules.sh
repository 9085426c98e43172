# SPDX-License-Identifier: GPL-2.0-only
# decisions-rules.sh: like decisions.sh, but for every rule instead of the sets: under auto with a reserved core, on a machine with two kinds of cores
# and two memory domains, with watts, and under longest-first. The kernel's interleaving decides which records occur, so only those
# are required that every run has; the soak groups decisions-kinds and decisions-plans look for the others.
# guest: --cpus 4 --sockets 2 --max-mhz 3000,2000,3000,2000 --instruction-ns 8 --turn-us 4000 --timeout 1200
# loads: half-sequential global-sum
# Behind lib.sh. CPUs 0 and 1 are one memory domain, 2 and 3 the other; 1 and 3 are slow.

# Sequential phases, a lock, the system's own work with more busy threads than CPUs, declared memory classes, lengths, and flags.
work() {
  local load said
  half-sequential --threads 4 --pairs 4 --pair-instructions 4e6 >/tmp/half.json &&
    global-sum --threads 4 --rounds 4 --length-instructions 4e6 --locked-percent 40 >/tmp/sum.json || return
  mixed_load && bash -c 'side_by_side 4' || return
  lop-load hogs 6 --seconds 100000 >/tmp/hogs.json & load=$!
  wait_for are_there lop-hog 6
  for said in '--lock-holder' '--spinning' '--parallelism 3' '--length 300' '--forget'; do
    # shellcheck disable=SC2086  # words
    lop hint $load --all-threads $said || { kill $load; return 1; }
  done
  kill $load
  wait $load
  [ $? = 143 ] && lop-load lengths 40,60,80,100,120 >/tmp/lengths.json
}

# A thread that a clock wakes gets a home in the green set, as `lop status` shows. Whom it wakes then has its clock, which began some ns ago. The home
# ends with it.
paced() {
  local load
  lop-load frames --count 1000000 --then-ms 3 >/tmp/frames.json & load=$!
  wait_for has_home && wait_for grep -q '"kind":"clock".*"value":[1-9]' /tmp/auto.log && kill $load && wait_for eval '! has_home'
}
has_home() { lop status --format json >/tmp/status && grep -q '"reason": "home"' /tmp/status; }

# Busy processes at nice 19 have green cores, and lose them to others when they are told that these wait for them.
in_background() {
  local load
  (renice -n 19 -p $BASHPID && exec lop-load hogs 2 --seconds 100000) >/tmp/background.json & load=$!
  wait_for has_background && lop hint $load --all-threads --sequential && wait_for eval '! has_background' || { kill $load; return 1; }
  lop hint $load --all-threads --forget && wait_for has_background || { kill $load; return 1; }
  kill $load
  wait_for eval '! has_background' || return
  lop-load hogs 2 --seconds 100000 >/tmp/background.json & load=$!
  wait_for are_there lop-hog 2 && lop hint $load --all-threads --background && wait_for has_background
  kill $load
}
has_background() { lop status --format json >/tmp/status && grep -q '"reason": "background"' /tmp/status; }

# The attached program takes other goals under load: it is not attached again, which the kernel counts.
goals() {
  local load goal attached
  attached=$(cat /sys/kernel/sched_ext/enable_seq)
  lop-load hogs 3 --seconds 100000 >/tmp/hogs.json & load=$!
  for goal in energy speed balanced speed energy auto; do
    wait_for goes_by $goal && lop-load fork-storm --jobs 4 --count 20 >/dev/null || { kill $load; return 1; }
  done
  kill $load
  [ "$(cat /sys/kernel/sched_ext/enable_seq)" = "$attached" ] || say_and_fail 'it was attached again'
}
goes_by() { lop goal "$1" | grep -E "^($1 \(as asked for\)|[a-z]+ \($1: )"; }

# logged NAME WORK "KIND..." OPTION...
logged() {
  local log=/tmp/$1.log name=$1 work=$2 kinds=$3
  shift 3
  expect "$name: attached" begin_lop "$@" --log-decisions "$log"
  expect "$name: work" "$work"
  expect "$name: no watchdog exit, no restart" still_in_charge
  expect "$name: ended" ended_by INT
  # shellcheck disable=SC2086  # words
  expect "$name: the log has the records of every run" has_kinds "$log" start task user gone wake placed enqueue queued started stopped block ended idle set hints length declare $kinds
  expect "$name: the native build decides the same, no record lost, no call out of order" same_decisions "$log"
}

make_daemons
logged longest-first work '' --policy longest-first
expect 'auto gets watts' give_watts
# CPUs do not count their clock here, so schedutil cannot be asked for a speed between the lowest and the highest; to userspace it can be told.
set_governor userspace
all_work() { paced && in_background && goals && work; }
# What tasks ran, of which their owner says that nobody waits for them, and by which clock they wake.
logged auto all_work 'ran background clock goal shares' --policy auto --reserve asked
expect 'auto: it went by them' grep -qm1 '"core_mw":[1-9]' /tmp/auto.log

# Where energy-aware scheduling ships: tasks that sleep have homes, those that run for long have none, and others share them.
light_work() {
  local load
  lop-load frames --count 1000000 --then-ms 3 >/tmp/frames.json & load=$!
  wait_for has_home && lop-load fork-storm --jobs 6 --count 40 >/tmp/storm.json && lop-load affinity-churn --threads 6 --seconds 1 && kill $load
}
expect 'auto gets watts of a machine that ships EAS' give_eas
expect 'light: attached' begin_lop --policy auto --log-decisions /tmp/light.log
expect 'light: it goes by it' eval 'status | grep "light work where energy-aware scheduling would put it"'
expect 'light: work' light_work
expect 'light: no watchdog exit, no restart' still_in_charge
# For speed no work is light, which only a program that is loaded for it can do. The answer comes once that one is in charge.
loaded_again() { status --format json | grep "\"restarts\": $1\>"; }
expect 'light: for speed it is loaded again' eval 'goes_by speed && loaded_again 1'
# A governor that changes before the goal, or up to five seconds after it, is followed.
expect 'light: so it is for another governor before the goal' eval 'sleep 6 && set_governor schedutil && wait_for goes_by energy && loaded_again 2 && grep "energy now .*; loading again" /tmp/lop.log'
expect 'light: the new governor has its requests' eval 'status | grep "the scheduler asks for speeds itself"'
expect 'light: so it is for another governor after the goal' eval 'wait_for goes_by balanced && set_governor userspace && wait_for loaded_again 3'
expect 'light: speeds are written again' eval 'status | grep "speeds set by scaling_setspeed"'
expect 'light: ended' ended_by INT
expect 'light: the native build decides the same, no record lost, no call out of order' same_decisions /tmp/light.log
expect 'no warning of the kernel' kernel_is_well
sum_up
