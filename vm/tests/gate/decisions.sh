# SPDX-License-Identifier: GPL-2.0-only
# decisions.sh: same code, same decisions: if the native build of the policy gets the calls of the program in the kernel, it changes the
# same sets and places tasks in the same way, step by step.
# guest: --cpus 4 --instruction-ns 8 --turn-us 4000 --timeout 1200
log=/tmp/decisions.log

# Like a make that starts compilers, in phases of different parallelism, plus a pinned task.
storm_and_pinned() {
  local pinned
  lop-load pinned --cpu 2 --rounds 10 >/tmp/pinned.json & pinned=$!
  lop-load fork-storm --jobs 6 --count 80 >/tmp/storm.json && wait $pinned
}

affinities() { lop-load affinity-churn --threads 6 --seconds 1; }

# A real-time task takes a member of the high set.
real_time() { lop-load shares --seconds 1 --task policy=fifo,cpus=2 --task cpus=2+3; }

hotplug() {
  local load
  lop-load fork-storm --jobs 6 --count 40 >/tmp/storm.json & load=$!
  local turn
  for turn in 1 2 3; do
    offline 3 && offline 1 && online 3 && online 1 || return
  done
  wait $load
}

# Each task that ran was counted out when it blocked. The client and the loader that answers are active themselves. Other tasks that wake now
# and then are not active at two hundred looks in a row.
nobody_is_counted() {
  for _ in {1..200}; do
    lop status --format json >/tmp/status && grep -q '"active": [0-2],' /tmp/status && return
    sleep 0.1
  done
  say_and_fail "$(grep '"active"' /tmp/status)"
}

expect 'lop start' begin_lop --log-decisions $log
expect 'fork storm and a pinned task' storm_and_pinned
expect 'who sleeps is counted no more' nobody_is_counted
expect 'affinities change' affinities
expect 'a real-time task' real_time
expect 'CPUs go and come' hotplug
expect 'nor after all of that' nobody_is_counted
expect 'no watchdog exit' scheduler_is lopsided
expect 'Ctrl-C ends it' ended_by INT
# Which other kinds occur depends on how the kernel interleaves its tasks.
expect 'the log has the records of every run' has_kinds $log start task allowed gone wake placed enqueue started block idle online offline set
expect 'the native build decides the same, no record lost, no call out of order' same_decisions $log
expect 'another CPU in one change: found' changed $log '/"wake"/ { woke = 1 } woke && /"set"/ && !n++ { sub(/"cpu":[0-9]+/, "\"cpu\":9") } { print }'
expect 'another place for a task: found' changed $log '/"placed"/ && /"cpu":[0-9]/ && !n++ { sub(/"cpu":[0-9]+/, "\"cpu\":9") } { print }'
expect 'one change left out: found' changed $log '/"wake"/ { woke = 1 } woke && /"set"/ && !n++ { next } { print }'
expect 'no warning of the kernel' kernel_is_well
sum_up
