# SPDX-License-Identifier: GPL-2.0-only
# hints-traced.sh: programs of another user that give hints themselves, or by an unchanged OpenMP: what share of its run time each thread has on the fast
# CPUs, by the kernel's sched_switch.
# guest: --cpus 4 --max-mhz 3000,3000,2000,2000 --instruction-ns 8 --timeout 5400 --bin setpriv
# needs: setpriv openmp clang clang-openmp
# loads: registration
# openmp: yes
# Behind lib.sh.

# traced NAME SECONDS: records what runs meanwhile, and writes `THREAD PERCENT` of each thread's run time on CPUs 0 and 1 to /tmp/NAME.shares. The first
# switch on a CPU tells who ran there before.
traced() {
  record "$1" sleep "$2" && awk '
    function number_after(key) { match($0, "\"" key "\":[0-9]+"); return substr($0, RSTART + length(key) + 3, RLENGTH - length(key) - 3) + 0 }
    function ran(cpu, thread, to) { run[thread] += to - since[cpu]; if (cpu + 0 < 2) fast[thread] += to - since[cpu]; since[cpu] = to }
    NR == 2 { start = number_after("start_ns"); end = number_after("end_ns") }
    $3 == "switch" { if (!($2 in since)) since[$2] = start; ran($2, $4, $1 + 0 > start ? $1 + 0 : start); now[$2] = $6 }
    END { for (cpu in now) ran(cpu, now[cpu], end); for (thread in run) if (run[thread]) printf "%d %d\n", thread, 100 * fast[thread] / run[thread] }' \
    "/tmp/$1.trace" >"/tmp/$1.shares"
}
# share NAME THREAD: percent.
share() { awk -v thread="$2" '$1 == thread { print $2; found = 1 } END { exit !found }' "/tmp/$1.shares"; }
at_least() { echo "$1 % of $2"; [ "$1" -ge "$2" ]; }
at_most() { echo "$1 % of $2"; [ "$1" -le "$2" ]; }
# has_most NAME PERCENT THREAD   has_few NAME PERCENT THREAD: at least, and at most, so much.
has_most() { at_least "$(share "$1" "$3")" "$2"; }
has_few() { at_most "$(share "$1" "$3")" "$2"; }

as_other() { setpriv --reuid 1000 --regid 1000 --clear-groups "$@" & load=$!; }

# openmp RUNTIME VARIABLE LIBRARY: the program's first thread computes alone while the others spin, beside a busy thread that wants a fast CPU; then all
# four compute.
openmp() {
  local code=0
  rm -f /tmp/together
  as_other env OMP_WAIT_POLICY=active "$2=$(type -P "$3")" "openmp-$1" /tmp/together
  wait_for are_there "openmp-$1" 4 && mapfile -t threads < <(ls "/proc/$load/task" | sort -n) || code=1
  lop-load hogs 1 --seconds 10000 >/tmp/hogs.json & hogs=$!
  wait_for are_there lop-hog 1 && hog=$(threads_of lop-hog) && traced "$1-alone" 6 || code=1
  touch /tmp/together
  sleep 1
  traced "$1-together" 6 || code=1
  first=$load
  kill $load $hogs
  wait $load $hogs
  return $code
}
# The three others have the fast CPUs for less than the hog and the first thread leave.
spinners_yield() {
  local thread
  for thread in "${threads[@]:1}"; do share "$1" "$thread" || return; done | sort -n | tail -n 1 | { read -r share && at_most "$share" 35; }
}

# Lengths 20, 20, 60 and 60: the last two have the fast CPUs.
lengths() {
  local code=0
  as_other registration --iteration-instructions 1e11 --split 20,20,60,60 >/tmp/lengths.json
  wait_for eval '[ "$(ls /proc/$load/task | wc -l)" = 5 ]' && mapfile -t threads < <(ls "/proc/$load/task" | sort -n) && sleep 1 && traced lengths 6 || code=1
  kill $load
  wait $load
  return $code
}

openmp_is_judged() {
  expect "$1: an unchanged program, and a busy thread" openmp "$@"
  figure "$1: outside of parallel regions its first thread has a fast CPU for 85 % of its run time" has_most "$1-alone" 85 "$first"
  figure "$1: the busy thread has a fast CPU for 75 % while others spin" has_most "$1-alone" 75 "$hog"
  figure "$1: those that spin have one for 35 % at most" spinners_yield "$1-alone"
  figure "$1: in a parallel region the first thread has one in turn" has_few "$1-together" 65 "$first"
}

expect 'phase: attached' begin_lop --policy phase
openmp_is_judged gcc LD_PRELOAD liblopsided-gomp.so
openmp_is_judged llvm OMP_TOOL_LIBRARIES liblopsided-ompt.so
expect 'still in charge' kill -0 "$loader"
expect 'ended' ended_by INT
expect 'longest-first: attached' begin_lop --policy longest-first
expect 'a program declares its lengths' lengths
for at in 3 4; do figure "a thread of length 60 has a fast CPU for 85 % of its run time" has_most lengths 85 "${threads[at]}"; done
for at in 1 2; do figure "one of length 20 for 15 %" has_few lengths 15 "${threads[at]}"; done
expect 'ended again' ended_by INT
expect 'the kernel has nothing to complain of' kernel_is_well
sum_up
