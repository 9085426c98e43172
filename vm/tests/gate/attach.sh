# SPDX-License-Identifier: GPL-2.0-only
# attach.sh: start and end of the scheduler: start, status, every ordinary way to end, refusals, `lop run`, --daemon, --partial.
# guest: --cpus 4 --cpufreq --timeout 1200
# Runs after lib.sh. An attachment is the most expensive step here, so each one serves as many sentences as possible.

named_lopsided() { cat /sys/kernel/sched_ext/root/ops; scheduler_is lopsided; }

status_as_text() {
  local said
  said=$(status) || return
  grep -q "pid $loader" <<<"$said" && grep -q '^policy   auto' <<<"$said" && grep -q '^watts    estimated' <<<"$said" && grep -q '^placed' <<<"$said" ||
    say_and_fail "$said"
}

status_as_json() {
  status --format json >/tmp/status || return
  grep -q '"running": true' /tmp/status && grep -q "\"pid\": $loader," /tmp/status || { cat /tmp/status; return 1; }
  every_cpu_in_one_set 4
}

# Unusual settings, so that they cannot be restored by chance.
odd_settings() {
  local cpu=/sys/devices/system/cpu
  set_governor "$1" || return
  echo 1575000 >$cpu/cpu3/cpufreq/scaling_max_freq
  echo 1575000 >$cpu/cpu2/cpufreq/scaling_min_freq
  [ "$1" != userspace ] || set_speeds 1575000
}

# leaves_settings GOVERNOR SIGNAL writes|reads: whether all settings are restored, and were changed meanwhile if they had to be.
leaves_settings() {
  odd_settings "$1" && snapshot_cpufreq >/tmp/before || return
  begin_lop || return
  wait_for settings_while_running "$3" || { ended_by KILL; return 1; }
  ended_by "$2" && scheduler_is_none && same_cpufreq /tmp/before && [ "$loader_code" = 0 ] ||
    say_and_fail "exit code $loader_code"
}

settings_while_running() {
  case $1 in writes) ! same_cpufreq /tmp/before ;; reads) same_cpufreq /tmp/before ;; esac
}

# refused CODE WORDS COMMAND...: the command must end with that code, with the words in its first line, which is shown.
refused() {
  local expected=$1 words=$2 code=0 said
  shift 2
  said=$(timeout 600 "$@" 2>&1 </dev/null) || code=$?
  [ "$code" = "$expected" ] && grep -qE "$words" <<<"$said" || say_and_fail "exit code $code: $said" || return
  grep -E "$words" <<<"$said" | head -n 1
}

second_start_refused() { refused 1 "running already \\(pid $loader\\): 'lop stop' ends it" lop start; }

# For a second instance, a Lopsided with another folder is just another scheduler.
refused_by_another() {
  local other result=0
  lop start --run-dir /run/other >/tmp/other.log 2>&1 & other=$!
  wait_for scheduler_is_one || return
  refused 1 '^lop: lopsided.* is attached: stop it first' lop start && refused 1 '^lop: lopsided.* is attached: stop it first' lop run -- false || result=1
  kill -INT $other
  ends $other && wait_for scheduler_is_none && return $result
}

scheduler_is_one() { [ "$(cat /sys/kernel/sched_ext/state)" = enabled ]; }

# Both pass the first check; the kernel accepts one. If that one were told to end before it reports that it runs, it would be interrupted instead.
one_of_two_at_once() {
  local a b code_a=0 code_b=0
  lop start --run-dir /run/a >/tmp/a.log 2>&1 & a=$!
  lop start --run-dir /run/b >/tmp/b.log 2>&1 & b=$!
  wait_for grep -q '^running' /tmp/a.log /tmp/b.log && wait_for eval "! kill -0 $a || ! kill -0 $b"
  kill -INT $a $b 2>/dev/null
  ends $a; code_a=$end_code
  ends $b; code_b=$end_code
  cat /tmp/a.log /tmp/b.log
  rm -rf /run/a /run/b
  case $code_a$code_b in
    01) grep '^lop:.* is attached: stop it first' /tmp/b.log ;;
    10) grep '^lop:.* is attached: stop it first' /tmp/a.log ;;
    *) say_and_fail "exit codes $code_a and $code_b" ;;
  esac
}

# run_ends CODE COMMAND...: lop run returns the command's code, and the kernel's scheduler is back.
run_ends() {
  local expected=$1 code=0
  shift
  lop run -- "$@" >/tmp/run.log 2>&1 || code=$?
  [ "$code" = "$expected" ] && scheduler_is_none || { cat /tmp/run.log; say_and_fail "exit code $code"; }
}

run_passes_sigterm_on() {
  local process code=0
  rm -f /tmp/started
  lop run -- bash -c 'trap "exit 5" TERM; touch /tmp/started; while :; do sleep 0.1; done' & process=$!
  wait_for test -e /tmp/started && wait_for holds_its_command $process || return
  kill -TERM $process
  ends $process; code=$end_code
  [ "$code" = 5 ] && scheduler_is_none || say_and_fail "exit code $code"
}

# Waits until it has the handle for passing on signals, since the command may exist before that.
holds_its_command() { ls -l "/proc/$1/fd" | grep -q pidfd; }

run_attaches() { run_ends 7 sh -c 'cat /sys/kernel/sched_ext/root/ops; exit 7' && grep '^lopsided' /tmp/run.log; }

daemon_starts_and_stops() {
  ! lop start --daemon >&- 2>/tmp/closed && grep '^lop: cannot write to standard output' /tmp/closed && scheduler_is_none || return
  lop start --daemon || return
  scheduler_is lopsided && status >/dev/null || { say_and_fail 'not attached when it came back'; return; }
  stopped && scheduler_is_none
}

# `lop stop` waits for ten seconds, which may be too short on a busy host; then repeat until there is nothing to stop.
stopped() {
  lop stop 2>/tmp/stop || { cat /tmp/stop; grep -q 'has not ended within' /tmp/stop && wait_for refused 1 'nothing to stop' lop stop; }
}

# Only tasks that ask for sched_ext are ours, and speeds are not set.
partial_takes_only_its_own() {
  local load result=0
  set_governor ondemand && snapshot_cpufreq >/tmp/before && begin_lop --partial || return
  lop-load shares --seconds 600 --task policy=ext --task policy=other >/tmp/shares.json 2>&1 & load=$!
  wait_for classes_of_sharers || { cat /tmp/shares.json; result=1; }
  same_cpufreq /tmp/before && status | tr -d '\n' | grep -q 'with --partial other tasks run' || { status; result=1; }
  kill $load && wait $load 2>/dev/null
  ended_by INT && return $result
}

# One of the tasks is under sched_ext, the other and this shell are not.
classes_of_sharers() {
  local thread ours=0 others=0
  for thread in $(named lop-share); do
    case $(sed -n 's/^ext.enabled *: *//p' "$thread/sched") in 1) ours=$((ours + 1)) ;; 0) others=$((others + 1)) ;; esac
  done
  [ "$ours" -ge 1 ] && [ "$others" -ge 1 ] && grep -q '^ext.enabled *: *0' "/proc/$$/sched"
}

nothing_left() {
  wait_for eval '! lop-judge bpf-stats | grep -q lopsided' && [ ! -e /run/lopsided/speeds.journal ]
}

refused_for_equal_cores() { refused 1 'one kind of core' lop start --policy specialise; }
refused_with_garbage() {
  printf 'lop-chase-1,1,,cache-misses\nnonsense\n' >/tmp/garbage.csv
  refused 2 '/tmp/garbage.csv:2: expected NAME-NUMBER' lop start --policy spread --intensity /tmp/garbage.csv
}

cut_to_the_machine() {
  begin_lop --policy simple-sets:400 && every_cpu_in_one_set 4 && ended_by INT && grep 'simple-sets:400 is cut to 4' /tmp/lop.log
}

# The user chooses another governor: the status says so, and so does the note of the write that fails.
says_another_governor() {
  set_governor userspace && begin_lop || return
  set_governor powersave
  status | tr -s ' \n' ' ' | grep -o 'governor powersave is in charge now, userspace was' || { status; ended_by INT; return 1; }
  ended_by INT
}


set_governor schedutil
expect 'starts' begin_lop -v
expect 'ops names lopsided' named_lopsided
expect 'status as text' status_as_text
expect 'status as JSON, each CPU in one set' status_as_json
expect 'a second start is refused' second_start_refused
expect 'a start in another folder is refused' refused 1 'lopsided.* is attached: stop it first' lop start --run-dir /run/other
expect 'restore is refused while it runs' refused 1 'needs the speeds as they are' lop restore
expect 'still attached after that' scheduler_is lopsided
expect 'SIGTERM ends it' ended_by TERM
expect '-v says why it ended' grep '^lop: unregistered from user space' /tmp/lop.log
expect 'status afterwards' refused 1 "not running; the kernel's own scheduler is in charge" lop status
expect 'stop without a start' refused 1 'nothing to stop' lop stop
expect 'a hint without a scheduler says what to do' refused 1 'lop start' lop hint 1 --sequential
expect 'specialise is refused where all cores are alike' refused_for_equal_cores
expect 'a recording of intensity that is none is refused with file, line and reason' refused_with_garbage
expect 'refused while another scheduler is attached' refused_by_another
expect 'of two at once one is refused' one_of_two_at_once
expect 'Ctrl-C leaves cpufreq as it was: schedutil' leaves_settings schedutil INT reads
expect 'SIGTERM leaves cpufreq as it was: userspace' leaves_settings userspace TERM writes
expect 'SIGQUIT leaves cpufreq as it was: ondemand' leaves_settings ondemand QUIT writes
set_governor schedutil
expect 'lop run attaches for a command and passes its exit code on' run_attaches
expect 'lop run passes SIGTERM on' run_passes_sigterm_on
expect '--daemon comes back when attached, lop stop ends it' daemon_starts_and_stops
expect '--partial takes only tasks of SCHED_EXT, and leaves speeds alone' partial_takes_only_its_own
expect 'another governor is said' says_another_governor
set_governor schedutil
expect 'no set is larger than the machine' cut_to_the_machine
expect 'no program and no journal stays' nothing_left
expect 'no warning of the kernel' kernel_is_well
sum_up
