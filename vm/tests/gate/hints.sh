# SPDX-License-Identifier: GPL-2.0-only
# hints.sh: hints are kept exactly, dropped with their thread, refused to other users, and applied while a thread runs.
# guest: --cpus 4 --max-mhz 3000,3000,2000,2000 --timeout 1200 --bin setpriv
# needs: setpriv openmp clang clang-openmp
# loads: registration
# openmp: yes
# Behind lib.sh.

# A hint is kept exactly, dropped with its thread, and refused by name if it is invalid.
hints_are_kept() {
  local process
  sleep 10000 & process=$!
  lop hint $process | grep -q 'nothing was said' || return
  lop hint $process --sequential --length 360 && lop hint $process | grep -q "$process: sequential, length 360" || return
  counted '1 thread: sequential 1, length 1' || return
  lop hint $process --forget && lop hint $process | grep -q 'nothing was said' || return
  counted 'none now' || return
  kill $process
  wait $process 2>/dev/null
  ! lop hint $process 2>/tmp/gone && grep -q "no process or thread $process" /tmp/gone || return
  forgotten_with_its_thread || return
  ! lop hint 1 --memory garbage 2>/tmp/garbage && grep -q "'garbage' for '--memory" /tmp/garbage
}

# counted TEXT: the status reports these threads with hints; it may be half a second old.
counted() { wait_for eval "lop status | grep -q '^hints  *$1\$'" || say_and_fail "$(lop status | grep '^hints')"; }

# A new thread with the same number does not inherit them.
forgotten_with_its_thread() {
  local first second turn
  for turn in {1..20}; do
    sleep 10000 & first=$!
    lop hint $first --sequential || return
    kill $first
    wait $first 2>/dev/null
    echo $((first - 1)) >/proc/sys/kernel/ns_last_pid
    sleep 10000 & second=$!
    [ $first != $second ] || break
    kill $second
  done
  [ $first = $second ] || say_and_fail "no process got the number $first again" || return
  lop hint $second | grep -q 'nothing was said' || say_and_fail "said of a dead one, and kept: $(lop hint $second)" || return
  kill $second
}

# Another user may not even read them.
refused_for_others() {
  ! setpriv --reuid 1000 --clear-groups lop hint 1 --sequential 2>/tmp/refused && grep -q 'belongs to another user' /tmp/refused
}

# Hints for running threads are accepted. Their effect under a policy is tested in soak: phases.sh.
taken_while_they_run() {
  local load said
  lop-load hogs 6 --seconds 10000 >/tmp/hogs.json & load=$!
  wait_for are_there lop-hog 6 || return
  for said in --lock-holder --spinning --forget; do
    lop hint $load --all-threads $said || { kill $load; say_and_fail "not told: $said"; return; }
    sleep 0.3
  done
  kill $load
  wait $load
  [ $? = 143 ]
}

# as_other COMMAND...: by another user, in the background; $load is its process.
as_other() { setpriv --reuid 1000 --regid 1000 --clear-groups "$@" & load=$!; }

# A program of another user declares the lengths of its threads itself, and its hints go with it however it ends.
own_lengths_count() {
  local load
  as_other registration --iteration-instructions 1e11 >/tmp/own.json
  wait_for says_own 1 || { kill $load; lop status; return 1; }
  kill -9 $load
  wait $load
  wait_for says_own 0 || { lop status; return 1; }
}
# says_own N: so many processes may give their own hints.
says_own() { lop status --format json | grep -q "\"programs\": $1,"; }

# has_fast LEAST MOST PROCESS: of 120 looks at its first thread so many find it on one of the two fast CPUs. With four busy threads it is there by turns, half of
# the time; if others wait for it four fifths of the time, as whoever looks wants a fast CPU too.
has_fast() {
  local look about times=0
  for look in {1..120}; do
    read -ra about <"/proc/$3/stat" || return
    [ "${about[38]}" -gt 1 ] || times=$((times + 1))
    sleep 0.02
  done
  [ $times -ge "$1" ] && [ $times -le "$2" ]
}
awaited() { wait_for has_fast 85 120 "$1"; }
by_turns() { wait_for has_fast 0 72 "$1"; }

# What a process says ends when it executes a program.
executed_says_nothing() {
  local load code=0
  rm -f /tmp/executes
  as_other lop-load says --sequential-until /tmp/executes
  awaited $load && touch /tmp/executes && by_turns $load || code=1
  kill $load
  wait $load
  return $code
}

# openmp_is_heard RUNTIME VARIABLE LIBRARY: a program under this OpenMP knows nothing of hints. While its first thread computes alone, the others spin.
openmp_is_heard() {
  local load code=0
  rm -f /tmp/together
  as_other env OMP_WAIT_POLICY=active "$2=$(type -P "$3")" "openmp-$1" /tmp/together
  awaited $load && touch /tmp/together && by_turns $load && rm /tmp/together && awaited $load || code=1
  kill $load
  wait $load
  return $code
}

# left_out: how many applications found no place.
left_out() { lop status --format json | sed -n '/"left_out"/,/}/s/.*"applications": \([0-9]*\).*/\1/p'; }

places_are_taken_again() {
  local turn
  for turn in {1..200}; do (:); done
  [ "$(left_out)" = 0 ]
}

left_out_are_counted() {
  local process sleepers=()
  for process in {1..150}; do
    sleep 10000 & sleepers+=($!)
  done
  process=$(left_out)
  kill "${sleepers[@]}" && wait "${sleepers[@]}" 2>/dev/null
  [ "$process" -ge 20 ] && [ "$process" -le 150 ] && (:)
}

expect 'longest-first: attached' begin_lop --policy longest-first
expect 'hints are kept as they were said, and go with their threads' hints_are_kept
expect 'hints of others are refused' refused_for_others
expect 'hints to threads that run' taken_while_they_run
expect 'a program declares the lengths of its threads itself, and its hints go with it' own_lengths_count
expect 'no watchdog exit, no restart' still_in_charge
ended_by INT
expect 'room for 128 applications: attached' begin_lop --policy phase --places 128
expect 'places of processes that ended are taken again' places_are_taken_again
expect 'processes without a place are counted, and go on' left_out_are_counted
expect 'an unchanged program under libgomp: its first thread has a fast CPU outside of parallel regions' openmp_is_heard gcc LD_PRELOAD liblopsided-gomp.so
expect 'an unchanged program under libomp, the same' openmp_is_heard llvm OMP_TOOL_LIBRARIES liblopsided-ompt.so
expect 'what a program says ends when it executes another' executed_says_nothing
expect 'ended' ended_by INT
expect 'the kernel has nothing to complain of' kernel_is_well
sum_up
