# SPDX-License-Identifier: GPL-2.0-only
# hints-die.sh: a thousand times kill -9 of programs that give hints, and of the loader, in any order: no hint stays, nor a page of memory. Hints go on when
# the program is loaded again; they come from a PID namespace, and by the names of threads. Floods of the socket keep nobody waiting and find its limits.
# guest: --cpus 4 --max-mhz 3000,3000,2000,2000 --memory-mb 3072 --timeout 5400 --bin setpriv
# needs: setpriv
# loads: registration
# Behind lib.sh.
rounds=25 crowd=40 flood_connections=100000
RANDOM=21

begin_program() { "$@" registration --iteration-instructions 1e11 >/tmp/own.json & program=$!; }
# pages_are N: so many processes have a page, and the kernel holds no other.
pages_are() { status --format json | grep -q "\"programs\": $1," && maps_are "$1"; }
maps_are() { [ "$(lop-judge bpf-maps lop_page)" = "$1" ]; }

# begin_programs ORDER: the processes of a crowd, and the program that is heard. In the last order each of the crowd has a page before the program computes:
# who waits a second in vain, as beside busy threads under emulation, asks no more.
begin_programs() {
  lop-load asks --processes $crowd & parent=$!
  [ "$1" != 4 ] || wait_for pages_are $crowd || return
  begin_program
  wait_for eval '[ "$(wc -w <"/proc/$parent/task/$parent/children")" = $crowd ]' || return
  read -ra victims <"/proc/$parent/task/$parent/children"
  victims+=("$program")
}

# kill_some FIRST COUNT: each with a pause before it that is drawn, up to 30 ms.
kill_some() {
  local victim
  for victim in "${victims[@]:$1:$2}"; do
    sleep "0.0$((RANDOM % 3))"
    kill -9 "$victim" && killed=$((killed + 1)) || return
  done
}
kill_loader() { kill -9 "$loader" && killed=$((killed + 1)); }
reaped() { wait "$loader" "$program" 2>/dev/null; kill -9 "$parent"; wait "$parent" 2>/dev/null; wait_for scheduler_is_none; }

# killed_in ORDER: none of the orders waits until everybody has a page, but the last, in which programs live on.
killed_in() {
  local half=$((${#victims[@]} / 2))
  case $1 in
    0) kill_some 0 99 && wait_for pages_are 0 && kill_loader ;;
    1) kill_some 0 99 && kill_loader ;;
    2) kill_some 0 $half && kill_loader && kill_some $half 99 ;;
    3) kill -9 "${victims[@]}" "$loader" && killed=$((killed + ${#victims[@]} + 1)) ;;
    4) wait_for pages_are ${#victims[@]} && kill_loader && lives_on && kill_some 0 99 ;;
  esac
}

# while_stopped COMMAND...: beside busy threads the verifier would take the emulator ten times as long.
while_stopped() {
  local code=0
  kill -STOP "$program"
  "$@" || code=1
  kill -CONT "$program"
  return $code
}

# Without its loader a program goes on, and has its page for itself. By the next one it is not heard, as it has asked already; a new one is.
lives_on() {
  local first=$program
  wait "$loader" 2>/dev/null
  wait_for scheduler_is_none && wait_for maps_are ${#victims[@]} && while_stopped begin_lop --policy longest-first || return
  begin_program && victims+=("$program")
  wait_for eval "status --format json | grep -q '\"programs\": 1,'" && kill -0 "$first" && kill_loader
}

kill_often() {
  local round killed=0
  for ((round = 0; round < rounds; round++)); do
    begin_lop --policy longest-first && pages_are 0 && begin_programs $((round % 5)) && killed_in $((round % 5)) && reaped && wait_for maps_are 0 ||
      { lop status; say_and_fail "round $round, order $((round % 5)), $(lop-judge bpf-maps lop_page) pages left"; return; }
  done
  echo "$killed kills"
  [ $killed -ge 1000 ]
}

# A CPU that was unknown at the start comes, so the machine is read again and the program loaded again.
goes_on_after_reload() {
  begin_program
  wait_for pages_are 1 && while_stopped comes_again && wait_for pages_are 1
}
comes_again() { online 3 && wait_for eval "status --format json | grep -q '\"restarts\": 1\$'"; }
is_gone() {
  kill -9 "$program"
  wait "$program"
  wait_for pages_are 0
}

in_namespace() { begin_program unshare -p -f; wait_for pages_are 1; }
# unshare's own child gives the hints.
namespace_is_gone() { kill -9 "$(cat "/proc/$program/task/$program/children")"; is_gone; }

# Threads that do not compute have other names.
named_threads_have_profiles() {
  local load code=0
  echo '{ "lop-load": { "thread_profile": { "lop-hog": "MEMORY_BOUND" } } }' >/tmp/qos.json
  lop-load hogs 2 --seconds 10000 >/tmp/hogs.json & load=$!
  wait_for are_there lop-hog 2 && lop hint $load --qos /tmp/qos.json && lop hint $load --all-threads >/tmp/said_of_hogs || code=1
  kill $load
  wait $load
  cat /tmp/said_of_hogs
  [ $code = 0 ] && [ "$(grep -c ': memory intensive$' /tmp/said_of_hogs)" = 2 ] && [ "$(grep -c ': nothing was said$' /tmp/said_of_hogs)" = 1 ]
}

# as USER COMMAND...
as() { exec setpriv --reuid "$1" --regid "$1" --clear-groups "${@:2}"; }

files_of_loader() { ls "/proc/$loader/fd" | wc -l; }
memory_of_loader_kb() { sed -n 's/^VmRSS:[^0-9]*\([0-9]*\) kB/\1/p' "/proc/$loader/status"; }

# flood AS_CLIENT: while one user floods the socket, a program of another is heard and the loader answers; after 100,000 connections the loader has
# no more files than before. The flood has one page at most: it is one process.
flood() {
  local files memory_kb flood code=0
  files=$(files_of_loader) memory_kb=$(memory_of_loader_kb)
  (as 1000 lop-load asks --as-client "$1") >/tmp/flood & flood=$!
  wait_for connections 1000 && begin_program setpriv --reuid 1001 --regid 1001 --clear-groups && wait_for grep -q bpf-map "/proc/$program/maps" || code=1
  kill -9 "$program"
  wait "$program"
  wait_for connections $flood_connections || code=1
  kill -9 $flood
  wait $flood
  wait_for pages_are 0 && wait_for eval "[ \$(files_of_loader) = $files ]" || code=1
  echo "$(tail -n 1 /tmp/flood) connections and answers; $files files before, $(files_of_loader) after, $memory_kb kB before, $(memory_of_loader_kb) after"
  [ $code = 0 ] && [ "$(memory_of_loader_kb)" -le $((memory_kb + 8192)) ]
}
connections() { [ "$(tail -n 1 /tmp/flood | cut -d' ' -f1)" -ge "$1" ]; }

# Of 200 processes of a user 128 have pages, and of five users 512 in all. Then there is room again.
limits_hold() {
  local user parents=() code=0 files
  files=$(files_of_loader)
  for user in {1000..1004}; do
    (as "$user" lop-load asks --processes 200) & parents+=($!)
    wait_for eval '[ "$(wc -w <"/proc/${parents[-1]}/task/${parents[-1]}/children")" = 200 ]' &&
      wait_for pages_are $((${#parents[@]} < 4 ? ${#parents[@]} * 128 : 512)) || { code=1; break; }
  done
  status | grep programs
  kill -9 "${parents[@]}"
  wait "${parents[@]}" 2>/dev/null
  wait_for pages_are 0 && wait_for eval "[ \$(files_of_loader) = $files ]" || return
  begin_program && wait_for pages_are 1 && is_gone && return $code
}

expect "kill -9 of programs and of the loader, $rounds lives of the loader" kill_often
offline 3
expect 'attached without a CPU' begin_lop --policy longest-first
expect 'hints go on after the program was loaded again' goes_on_after_reload
expect 'and end with their process' is_gone
expect 'a process in a PID namespace of its own gives hints' in_namespace
expect 'and they end with it' namespace_is_gone
expect 'threads have the profiles that a file gives to their names' named_threads_have_profiles
expect 'one process asks again and again' flood reads
expect 'a client never reads' flood silent
expect 'a client sends garbage' flood garbage
expect '512 pages, 128 of a user' limits_hold
expect 'still in charge' kill -0 "$loader"
expect 'ended' ended_by INT
expect 'no page is left' wait_for maps_are 0
expect 'the kernel has nothing to complain of' kernel_is_well
sum_up
