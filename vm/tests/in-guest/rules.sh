# rules.sh: the policies with rules for the fast cores load, share the CPUs, hear hints and give everything back.
# guest: --cpus 4 --max-mhz 3000,3000,2000,2000 --instruction-ns 8 --timeout 2400 --bin setpriv
# needs: setpriv
# Behind lib.sh.

# A hint is kept as it was said, forgotten with its thread, and refused by name where it is none.
hints_are_kept() {
  local process
  sleep 1000 & process=$!
  lop hint $process | grep -q 'nothing was said' || return
  lop hint $process --sequential --length 360 && lop hint $process | grep -q "$process: sequential, length 360" || return
  lop hint $process --forget && lop hint $process | grep -q 'nothing was said' || return
  kill $process
  wait $process 2>/dev/null
  ! lop hint $process 2>/tmp/gone && grep -q "no process or thread $process" /tmp/gone || return
  forgotten_with_its_thread || return
  ! lop hint 1 --memory garbage 2>/tmp/garbage && grep -q "'garbage' for '--memory" /tmp/garbage
}

# Another one of the same number has nothing to do with it.
forgotten_with_its_thread() {
  local first second turn
  for turn in 1 2 3 4 5; do
    sleep 1000 & first=$!
    lop hint $first --sequential || return
    kill $first
    wait $first 2>/dev/null
    echo $((first - 1)) >/proc/sys/kernel/ns_last_pid
    sleep 1000 & second=$!
    [ $first != $second ] || break
    kill $second
  done
  [ $first = $second ] || say_and_fail "no process got the number $first again" || return
  lop hint $second | grep -q 'nothing was said' || say_and_fail "said of a dead one, and kept: $(lop hint $second)" || return
  kill $second
}

# Another user may not even ask.
refused_for_others() {
  ! setpriv --reuid 1000 --clear-groups lop hint 1 --sequential 2>/tmp/refused && grep -q 'belongs to another user' /tmp/refused
}

# Said to threads while they run: at a tick they are asked.
heard_while_it_runs() {
  local load said
  lop-load hogs 6 --seconds 10 >/tmp/hogs.json & load=$!
  sleep 1
  for said in --lock-holder --spinning --forget; do
    lop hint $load --all-threads $said || { say_and_fail "not told: $said"; return; }
    sleep 1
  done
  wait $load
}

# The shorter ones come first and find the fast CPUs idle.
lengths() { record "lengths-$1" lop-load lengths 100,120,300,360; }

refused_without() { ! lop hint 1 --sequential 2>/tmp/none && grep -q 'lop start' /tmp/none || say_and_fail "$(cat /tmp/none)"; }

for policy in phase longest-first fair-share; do
  expect "$policy: attached" begin_lop --policy $policy
  expect "$policy: 9 busy threads on 4 CPUs all get on" lop-load hogs 9 --seconds 3 --max-gap-ms 500
  expect "$policy: hints" hints_are_kept
  expect "$policy: hints of others are refused" refused_for_others
  expect "$policy: hints to threads that run" heard_while_it_runs
  [ $policy != longest-first ] || {
    expect "$policy: threads of four lengths" lengths $policy
    expect "$policy: the two longest have the fast CPUs for 95 % of their run time" judged lengths-$policy fast --comm lop-300,lop-360
  }
  expect "$policy: no watchdog exit, no restart" still_in_charge
  expect "$policy: ended" ended_by INT
done
expect 'highlow-spare: attached' begin_lop --policy highlow-spare
expect 'highlow-spare: threads of four lengths' lengths highlow-spare
expect 'highlow-spare: the two longest have no fast CPUs for 95 % of their run time' refuted judged lengths-highlow-spare fast --comm lop-300,lop-360
expect 'highlow-spare: ended' ended_by INT
expect 'a hint without a scheduler says what to do' refused_without
expect 'the kernel has nothing to complain of' kernel_is_well
sum_up
