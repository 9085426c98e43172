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

expect 'attached' begin_lop --policy phase
expect 'make -j6: six jobs are said of it' six_are_said
expect 'make -j, which has no number: nothing is said' nothing_is_said
expect 'what a person said of a make is left as it is' own_word_counts
expect 'no watchdog exit, no restart' still_in_charge
expect 'ended' ended_by INT
expect 'the kernel has nothing to complain of' kernel_is_well
sum_up
