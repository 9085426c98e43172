# jobs.sh: the jobs of a make are one application, which wants as many CPUs as make runs jobs, also while it has fewer to run.
# guest: --cpus 8 --max-mhz 3000,3000,3000,3000,2000,2000,2000,2000 --instruction-ns 8 --timeout 2400 --bin make
# needs: make
# Behind lib.sh.

# Six jobs at once, then one alone for long enough that a set which follows what runs has shrunk: members are held for 2 s.
printf 'last: 1 2 3 4 5 6\n\ttouch /tmp/alone && lop-load hogs 1 --seconds 8 >/dev/null\n%%:\n\tlop-load hogs 1 --seconds 1 >/dev/null\n' >/tmp/Makefile

# high_while_alone MAKE-OPTIONS...: CPUs in the high set during the last job, in $high; what was said of make, in /tmp/said.
high_while_alone() {
  local build
  rm -f /tmp/alone
  make -f /tmp/Makefile "$@" >/tmp/make.log 2>&1 & build=$!
  wait_for 60 test -e /tmp/alone && sleep 4 || { cat /tmp/make.log; kill $build; return 1; }
  lop hint $build >/tmp/said
  high=$(cpus_in high | wc -l)
  echo "$high CPUs are high; $(cat /tmp/said)"
  wait $build
}

six_are_kept() { high_while_alone -j6 && grep -q 'parallelism 6, with its children' /tmp/said && [ "$high" -ge 6 ]; }

# What looks at it is active too, for a moment: the scheduler's loader and lop.
follows_what_runs() { high_while_alone "$@" && grep -q 'nothing was said' /tmp/said && [ "$high" -le 4 ]; }

own_word_counts() {
  local build
  rm -f /tmp/alone
  (sleep 1; exec make -f /tmp/Makefile -j6) >/tmp/make.log 2>&1 & build=$!
  lop hint $build --parallelism 2 && wait_for 60 test -e /tmp/alone || { cat /tmp/make.log; return 1; }
  lop hint $build | grep 'parallelism 2' || return
  kill $build
  wait $build 2>/dev/null
  return 0
}

expect 'attached' begin_lop --policy phase --hold 2s
expect 'make -j6: six CPUs stay high while one job runs' six_are_kept
expect 'make -j, which has no number: the set follows what runs' follows_what_runs -j
expect 'what a person said of a make is left as it is' own_word_counts
expect 'no watchdog exit, no restart' still_in_charge
expect 'ended' ended_by INT
expect 'the kernel has nothing to complain of' kernel_is_well
sum_up
