# SPDX-License-Identifier: GPL-2.0-only
# decisions-kinds.sh: like decisions.sh, but for the rules for the fast cores. Chance decides which further records occur, and so what depends on them,
# so this is only printed. Tests of vm/judge show that the replay checks each of them.
# guest: --cpus 4 --max-mhz 3000,3000,2000,2000 --instruction-ns 8 --timeout 5400
# loads: half-sequential global-sum
# Behind lib.sh.

# Programs with sequential phases, with a lock, and of many processes, affinities that change, a real-time task, more busy threads than CPUs, flags
# and lengths said to them.
work() {
  local load said
  half-sequential --threads 4 --pairs 10 --pair-instructions 4e6 >/tmp/half.json || return
  global-sum --threads 4 --rounds 10 --length-instructions 4e6 --locked-percent 40 >/tmp/sum.json && lop-load fork-storm --jobs 4 --count 30 >/tmp/storm.json || return
  lop-load affinity-churn --threads 6 --seconds 1 && lop-load shares --seconds 1 --task policy=fifo,cpus=2 --task cpus=2+3 || return
  lop-load hogs 6 --seconds 100 >/tmp/hogs.json & load=$!
  wait_for are_there lop-hog 6
  for said in '--lock-holder' '--spinning' '--parallelism 3' '--length 300' '--forget'; do
    # shellcheck disable=SC2086  # words
    lop hint $load --all-threads $said || { kill $load; return 1; }
  done
  kill $load
  wait $load
  [ $? = 143 ] && lop-load lengths 60,120,180,60,120,180 >/tmp/lengths.json
}

for policy in phase longest-first fair-share; do
  log=/tmp/$policy.log
  expect "$policy: attached" begin_lop --policy $policy --log-decisions $log
  expect "$policy: work" work
  expect "$policy: no watchdog exit, no restart" still_in_charge
  expect "$policy: ended" ended_by INT
  expect "$policy: the log has the records of every run" has_kinds $log start task gone wake placed enqueue started stopped block ended idle set length hints declare
  figure "$policy: it has those of timers, of who makes room, of who spins, leaves a queue, takes a CPU" has_kinds $log timer preempt spin dequeue taken
  expect "$policy: the native build decides the same, no record lost, no call out of order" same_decisions $log
  figure "$policy: another CPU makes room: found" changed $log '/"preempt"/ && ++n == 5 { sub(/"cpu":[0-9]+/, "\"cpu\":9") } { print }'
  figure "$policy: one that makes no room: found" changed $log '/"preempt"/ && ++n == 8 { next } { print }'
  expect "$policy: another place for a task: found" changed $log '/"placed"/ && /"cpu":[0-9]/ && ++n == 20 { sub(/"cpu":[0-9]+/, "\"cpu\":9") } { print }'
done
expect 'no warning of the kernel' kernel_is_well
sum_up
