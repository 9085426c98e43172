# jobs.sh: how many jobs a make runs at once is read from its command line, and said of it as an application that keeps its children.
# guest: --cpus 8 --max-mhz 3000,3000,3000,3000,2000,2000,2000,2000 --instruction-ns 8 --timeout 2400 --bin make
# needs: make
# Behind lib.sh.

# Six jobs at once, then one alone.
printf 'last: 1 2 3 4 5 6\n\ttouch /tmp/alone && lop-load hogs 1 --seconds 2 >/dev/null\n%%:\n\tlop-load hogs 1 --seconds 1 >/dev/null\n' >/tmp/Makefile

# said_of_make MAKE-OPTIONS...: what is said of a make that has come to its last job; it ends well.
said_of_make() {
  local build
  rm -f /tmp/alone
  make -f /tmp/Makefile "$@" >/tmp/make.log 2>&1 & build=$!
  wait_for 60 test -e /tmp/alone || { cat /tmp/make.log; kill $build; return 1; }
  lop hint $build && wait $build
}

six_are_said() { said_of_make -j6 | grep 'parallelism 6, with its children'; }
nothing_is_said() { said_of_make -j | grep 'nothing was said'; }

own_word_counts() {
  local build
  rm -f /tmp/alone
  (sleep 1; exec make -f /tmp/Makefile -j6) >/tmp/make.log 2>&1 & build=$!
  lop hint $build --parallelism 2 && wait_for 60 test -e /tmp/alone || { cat /tmp/make.log; return 1; }
  lop hint $build | grep 'parallelism 2' && wait $build
}

# Six are said of a process that leaves a busy child behind. What the policy makes of it is read in the dump of a program that fails after 15 s:
# whoever asks says nothing of itself, which ends what was declared. fails_beside SECONDS: so long the process lives.
fails_beside() {
  local process hog
  rm -f /tmp/go
  begin_lop --policy phase --hold 2s --fail-after 15s || return
  bash -c "until [ -e /tmp/go ]; do sleep 0.1; done; lop-load hogs 1 --seconds 100 >/dev/null & sleep $1" & process=$!
  lop hint $process --parallelism 6 --with-children && touch /tmp/go && ends 120 "$loader"
  kill $process 2>/dev/null
  hog=$(named lop-hog)
  [ -n "$hog" ] && kill "$(basename "${hog%/task/*}")" || return
  grep -o 'active [0-9]*, target [0-9]*, high [0-9]*\|declared parallelism [0-9]*' /tmp/lop.log | xargs
}

six_for_its_life() { fails_beside 100 | grep 'high [6-8] declared parallelism 6$'; }
none_without_it() { fails_beside 4 | grep 'declared parallelism 0$'; }

expect 'what is said of a process holds CPUs high for its child as long as it lives' six_for_its_life
expect 'and no longer' none_without_it
expect 'attached' begin_lop --policy phase
expect 'make -j6: six jobs are said of it' six_are_said
expect 'make -j, which has no number: nothing is said' nothing_is_said
expect 'what a person said of a make is left as it is' own_word_counts
expect 'no watchdog exit, no restart' still_in_charge
expect 'ended' ended_by INT
expect 'the kernel has nothing to complain of' kernel_is_well
sum_up
