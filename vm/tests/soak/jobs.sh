# SPDX-License-Identifier: GPL-2.0-only
# jobs.sh: a hint that makes a process an application with its children keeps CPUs high for them as long as it lives.
# guest: --cpus 8 --max-mhz 3000,3000,3000,3000,2000,2000,2000,2000 --instruction-ns 8 --timeout 5400
# Behind lib.sh.

# Six are said of a process that leaves a busy child behind. What the policy makes of it is read in the dump of a program that fails after 15 s:
# whoever asks says nothing of itself, which ends what was declared. fails_beside SECONDS: so long the process lives.
fails_beside() {
  local process hog
  rm -f /tmp/go
  bash -c "until [ -e /tmp/go ]; do sleep 0.1; done; lop-load hogs 1 --seconds 100 >/dev/null & sleep $1" & process=$!
  lop hint $process --parallelism 6 --with-children && touch /tmp/go && ends "$loader"
  kill $process 2>/dev/null
  hog=$(named lop-hog)
  [ -n "$hog" ] && kill "$(basename "${hog%/task/*}")"
}

dumped() {
  local said
  said=$(grep -o 'active [0-9]*, target [0-9]*, high [0-9]*\|declared parallelism [0-9]*' /tmp/lop.log | xargs)
  echo "$said"
  grep -q "$1" <<<"$said"
}

expect 'attached' begin_lop --policy phase --hold 2s --fail-after 15s
expect 'a process that lives on has a hint of six' fails_beside 100
figure 'a hint about a process keeps CPUs high for its child while it lives' dumped 'high [6-8] declared parallelism 6$'
expect 'attached again' begin_lop --policy phase --hold 2s --fail-after 15s
expect 'a process that ends sooner has a hint of six' fails_beside 4
figure 'and no longer' dumped 'declared parallelism 0$'
expect 'the kernel has nothing to complain of' kernel_is_well
sum_up
