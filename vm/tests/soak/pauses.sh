# SPDX-License-Identifier: GPL-2.0-only
# pauses.sh: threads that spend their time in the kernel with migration disabled, by a seccomp filter that looks at an argument and by
# BPF_PROG_TEST_RUN, beside twice as many busy threads as CPUs: their longest pause is at most 1.5 times that under EEVDF in the same boot. And of 5,000
# busy threads and one of nice 19 none waits for 12 s.
# guest: --cpus 4 --memory-mb 3072 --instruction-ns 8 --timeout 5400
# Behind lib.sh.

pauses() { lop-load hogs 8 --filtered 2 --test-runs 1 --seconds 20 >"/tmp/$1.json"; }
pause_in() { sed -n "s/^ *\"$2_gap_ms\": \([0-9.]*\),*$/\1/p" "/tmp/$1.json"; }

# as_under_eevdf KIND ROUND
as_under_eevdf() {
  local ours theirs
  ours=$(pause_in "lopsided-$2" "$1") && theirs=$(pause_in eevdf "$1") && [ -n "$ours" ] && [ -n "$theirs" ] || return
  echo "lopsided $ours ms, EEVDF $theirs ms"
  awk -v ours="$ours" -v theirs="$theirs" 'BEGIN { exit !(theirs > 0 && ours <= 1.5 * theirs) }'
}

# A thread waits from its last run on, so the longest gap is the longest wait.
crowd() { lop-load hogs 5000 --light 19 --seconds 30 --max-gap-ms 12000 >/tmp/crowd.json 2>/tmp/crowd.err || { cat /tmp/crowd.err; return 1; }; }
crowd_gaps() { echo "longest of all $(pause_in crowd longest) ms, of nice 19 $(pause_in crowd light) ms, median $(pause_in crowd median) ms"; }

expect 'pauses under EEVDF' pauses eevdf
expect 'lop start' begin_lop
for round in 1 2 3; do
  expect "pauses, round $round" pauses "lopsided-$round"
  expect "seccomp filter, round $round: the longest pause is at most 1.5 times that under EEVDF" as_under_eevdf filtered "$round"
  expect "BPF_PROG_TEST_RUN, round $round: the longest pause is at most 1.5 times that under EEVDF" as_under_eevdf test_run "$round"
done
for round in 1 2 3; do
  expect "5,000 busy threads, run $round: none waits for 12 s" crowd
  figure 'the same in figures' crowd_gaps
done
expect 'no watchdog exit, no restart' still_in_charge
expect 'Ctrl-C ends it' ended_by INT
expect 'no warning of the kernel' kernel_is_well
sum_up
