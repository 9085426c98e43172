# kinds.sh: two kinds of CPUs: the fast kind is taken first.
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

expect 'attached' begin_lop --policy highlow-spare
grep '^machine' /tmp/lop.log
expect 'two kinds are known' grep -q 'of kind 1' /tmp/lop.log
expect 'two tasks: the fast kind first' fast_share 2
expect 'six busy tasks: the slow kind helps' slow_ones_help
expect 'ended' ended_by INT
sum_up
