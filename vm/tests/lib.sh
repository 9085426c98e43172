# SPDX-License-Identifier: GPL-2.0-only
# Helpers to be sourced by scripts inside the guest. Needs lop-judge on PATH for figures of BPF programs.
# Nothing here decides what a scheduler should do; the helpers wait, read and compare.

# say_and_fail WORDS...: one line on standard error, returns 1.
say_and_fail() {
  echo "$*" >&2
  return 1
}

# wait_for COMMAND...: tries the command every 50 ms until it succeeds. Times in a guest mean nothing, so there is a single limit, which only ends
# what hangs: then it fails, and says what it waited for.
export patience_s=600
wait_for() {
  local deadline_cs
  deadline_cs=$(($(uptime_cs) + patience_s * 100))
  until "$@" >/dev/null 2>&1; do
    [ "$(uptime_cs)" -lt "$deadline_cs" ] || { say_and_fail "waited $patience_s s in vain for: $*"; return 1; }
    sleep 0.05
  done
}

# Hundredths of a second since boot.
uptime_cs() {
  local since rest
  read -r since rest <"${LOP_PROC:-/proc}/uptime"
  echo "$((10#${since%.*} * 100 + 10#${since#*.}))"
}

# scheduler_is NAME: whether this sched_ext scheduler is in charge.  scheduler_is_none: whether the kernel's own is.
scheduler_is() {
  local ops
  ops=$(cat "${LOP_SYS:-/sys}/kernel/sched_ext/root/ops" 2>/dev/null) || return 1
  case $ops in "$1" | "$1"_*) return 0 ;; *) return 1 ;; esac
}

scheduler_is_none() {
  [ "$(cat "${LOP_SYS:-/sys}/kernel/sched_ext/state")" = disabled ]
}

# snapshot_cpufreq: every cpufreq setting of every CPU, in lines of `file: content`, for comparisons before and after. It leaves out values that
# are measured, not set: the current speed (a speed set by hand is in scaling_setspeed) and statistics.
snapshot_cpufreq() {
  local file
  for file in "${LOP_SYS:-/sys}"/devices/system/cpu/cpu*/cpufreq/* "${LOP_SYS:-/sys}"/devices/system/cpu/cpufreq/*; do
    [ -f "$file" ] || continue
    case ${file##*/} in scaling_cur_freq | cpuinfo_cur_freq | cpuinfo_avg_freq) continue ;; esac
    echo "${file#"${LOP_SYS:-/sys}"/devices/system/cpu/}: $(cat "$file" 2>/dev/null || echo unreadable)"
  done
}

# same_cpufreq BEFORE: whether a new snapshot is the same as the earlier one in this file. Prints the difference.
same_cpufreq() {
  local now
  now=$(mktemp)
  snapshot_cpufreq >"$now"
  diff -u "$1" "$now" || { rm -f "$now"; say_and_fail 'cpufreq files are not as they were: - before, + now'; return 1; }
  rm -f "$now"
}

# cpufreq_residency: time of each CPU at each speed since boot, in lines of `CPU kHz ms`, from cpufreq's own statistics.
cpufreq_residency() {
  local file cpu khz ticks found=no
  for file in "${LOP_SYS:-/sys}"/devices/system/cpu/cpu*/cpufreq/stats/time_in_state; do
    [ -f "$file" ] || continue
    found=yes
    cpu=${file#*/cpu/cpu} cpu=${cpu%%/*}
    while read -r khz ticks; do echo "$cpu $khz $((ticks * 10))"; done <"$file"
  done
  [ "$found" = yes ] || say_and_fail 'no CPU has cpufreq statistics: boot the guest with --cpufreq'
}

# set_governor NAME: on every CPU.
set_governor() {
  local file
  for file in "${LOP_SYS:-/sys}"/devices/system/cpu/cpu*/cpufreq/scaling_governor; do
    [ -f "$file" ] || { say_and_fail 'no CPU has cpufreq: boot the guest with --cpufreq'; return 1; }
    echo "$1" >"$file" || { say_and_fail "$file does not take $1"; return 1; }
  done
}

# armed_bpf_timers: how many timers of BPF programs are armed now.
armed_bpf_timers() {
  grep -c 'bpf_timer_cb' "${LOP_PROC:-/proc}/timer_list" || true
}

# The results of a script: one line per sentence, and the count at its end.
sentences_held=0 sentences_failed=0

# ok WHAT [(FIGURES)]   not_ok WHAT: REASON
ok() {
  sentences_held=$((sentences_held + 1))
  echo "ok - $*"
}

not_ok() {
  sentences_failed=$((sentences_failed + 1))
  echo "not ok - $*"
}

# expect WHAT COMMAND...: the sentence holds if the command succeeds; the last line of its output is printed after it. The command
# runs in this shell, so that it may leave variables and children behind.
expect() {
  local what=$1 said
  shift
  if "$@" >"${LOP_TMP:-/tmp}/said" 2>&1; then
    said=$(tail -n 1 "${LOP_TMP:-/tmp}/said" | cut -c1-200)
    ok "$what${said:+ ($said)}"
  else
    said=$(tail -n 1 "${LOP_TMP:-/tmp}/said" | cut -c1-200)
    not_ok "$what: ${said:-$* failed}"
    sed 's/^/  /' "${LOP_TMP:-/tmp}/said"
  fi
}

# figure WHAT COMMAND...: like expect, for results that depend on chance: a share, a delay, a percentile. Printed but not judged. If something that it
# depends on failed, there is no figure, and that is judged.
figure() {
  local what=$1 verdict='does not hold' said
  missing=''
  shift
  ! "$@" >"${LOP_TMP:-/tmp}/said" 2>&1 || verdict=holds
  said=$(tail -n 1 "${LOP_TMP:-/tmp}/said" | cut -c1-200)
  if [ -z "$missing" ]; then
    echo "figure - $what: $verdict${said:+ ($said)}"
  else
    not_ok "$what: no figure, since this failed: $missing"
    sed 's/^/  /' "${LOP_TMP:-/tmp}/said"
  fi
}

# needed COMMAND...: something that a figure depends on: a recording, a load that ends, an attachment.
needed() {
  "$@" && return
  missing=$*
  return 1
}

# The end of a script: prints the number of sentences, and sets the exit code. If it failed, its traces and logs are copied out of the guest.
sum_up() {
  echo "$sentences_held held, $sentences_failed failed"
  [ "$sentences_failed" = 0 ] && [ "$sentences_held" -gt 0 ] && return
  bring_out
  return 1
}

bring_out() {
  [ -d /out ] || return
  dmesg >/out/dmesg 2>/dev/null
  find /tmp -maxdepth 1 -type f '(' -name '*.log' -o -name '*.trace' -o -name '*.json' -o -name verdict -o -name difference ')' -exec cp {} /out ';' 2>/dev/null
}

# ends_after SECONDS: runs in the background of a script, and ends it if it hangs, while the guest still runs, so that its traces are not lost.
ends_after() {
  local process
  sleep "$1"
  echo "not ok - no end within $1 s; what runs: processes"
  sed 's/^/  /' "${LOP_TMP:-/tmp}/said"
  for process in /proc/[0-9]*; do
    readlink "$process/exe" >/dev/null || continue
    echo "$(xargs -0 <"$process/cmdline"), $(sed -n 's/^State:[[:space:]]*//p' "$process/status"): $(xargs <"$process/stack")"
  done >/out/processes 2>/dev/null
  bring_out
  kill -KILL $$
}

# kernel_is_well: whether the kernel has warned of nothing since the boot; prints its warnings. Stalls only count if the guest's clock counts
# instructions; on the host's clock they mean that the host is busy.
kernel_is_well() {
  local said
  said=$(dmesg | grep -E 'WARNING:|BUG:|Oops|Call Trace|soft lockup|rcu.*stall|hung_task|blocked for more than')
  counts_instructions || said=$(grep -E 'WARNING:|BUG:|Oops' <<<"$said" | grep -v 'soft lockup')
  [ -z "$said" ] || say_and_fail "$(head -n 5 <<<"$said")"
}

# vm/run only gives this to the kernel of such a guest.
counts_instructions() { grep -qw nokaslr "${LOP_PROC:-/proc}/cmdline"; }

# begin_lop OPTION...: starts the scheduler in the background and returns when it is attached; $loader is its process.
begin_lop() {
  attach_began_cs=$(uptime_cs)
  lop start "$@" >/tmp/lop.log 2>&1 &
  loader=$!
  wait_for attached_or_gone && scheduler_is lopsided && attach_ended_cs=$(uptime_cs) && wait_for lop status && return
  tail -n 40 /tmp/lop.log
  return 1
}

attached_or_gone() { scheduler_is lopsided || ! kill -0 "$loader"; }

# status [OPTION...]: the output of `lop status`. The loader has two seconds to answer, which may be too short on a busy host, so it is asked again.
status() {
  wait_for answered "$@" || return
  cat "${LOP_TMP:-/tmp}/answer"
  [ "$answer_code" = 0 ] || { cat "${LOP_TMP:-/tmp}/no-answer" >&2; return 1; }
}

answered() {
  answer_code=0
  lop status "$@" >"${LOP_TMP:-/tmp}/answer" 2>"${LOP_TMP:-/tmp}/no-answer" || answer_code=$?
  [ "$answer_code" = 0 ] || ! grep -qE 'try again in a moment|does not answer' "${LOP_TMP:-/tmp}/no-answer"
}

# ended_by SIGNAL: ends the loader with this signal, waits until it and its scheduler are gone, and sets $loader_code to its exit code.
ended_by() {
  kill -"$1" "$loader" || return
  ends "$loader" || return
  loader_code=$end_code
  wait_for scheduler_is_none
}

# ends PROCESS: waits for a child, and sets $end_code to its exit code. If the child does not end, prints what its threads wait for and
# kills it, so that it does not hold up everything that follows.
ends() {
  local process=$1 thread result=0
  end_code=0
  if ! wait_for eval "! kill -0 $process"; then
    for thread in "/proc/$process/task"/*; do
      echo "$(cat "$thread/comm"), $(sed -n 's/^State:[[:space:]]*//p' "$thread/status"): $(xargs <"$thread/stack")"
    done
    kill -KILL "$process"
    result=1
  fi
  wait "$process" || end_code=$?
  return $result
}

# time_of_attaching: how long the last begin_lop took, and the equivalent without emulation, from timing the same shell loop there
# (native_loop_ms) and here. Holds if that is 3 s or less.
time_of_attaching() {
  local took_ms=$(((attach_ended_cs - attach_began_cs) * 10)) begin_cs loop_ms i
  begin_cs=$(uptime_cs)
  for ((i = 0; i < 50000; i++)); do :; done
  loop_ms=$((($(uptime_cs) - begin_cs) * 10 + 10))
  echo "$took_ms ms here, where the shell is $((loop_ms / native_loop_ms)) times as slow: $((took_ms * native_loop_ms / loop_ms)) ms"
  [ $((took_ms * native_loop_ms / loop_ms)) -le 3000 ]
}

# set_speeds KHZ: by hand, under the governor userspace.
set_speeds() {
  local file
  for file in "${LOP_SYS:-/sys}"/devices/system/cpu/cpu*/cpufreq/scaling_setspeed; do echo "$1" >"$file"; done
}

# named NAME: the threads with that name, as folders of /proc.
named() {
  local file name
  for file in /proc/[0-9]*/task/[0-9]*/comm; do
    read -r name 2>/dev/null <"$file" && [ "$name" = "$1" ] && echo "${file%/comm}"
  done
  return 0
}

# cpus_in high | green | low | offline: the CPUs of a set, one per line, from `lop status`.
cpus_in() {
  status --format json >/tmp/status && set_in_file "$1"
}

# The same from an earlier status, so that all sets are from one moment.
set_in_file() {
  awk -v set="\"$1\": [" '
    index($0, set) { if ($0 ~ /\]/) exit; inside = 1; next }
    inside && /^    \]/ { exit }
    inside && /^      [0-9]/ { gsub(/[^0-9]/, ""); print }
    inside && /"cpu":/ { gsub(/[^0-9]/, ""); print }' "${LOP_TMP:-/tmp}/status"
}

# in_set SET CPU: whether the CPU is in the set.
in_set() { cpus_in "$1" | grep -qx "$2"; }

# offline CPU   online CPU: retries, since the kernel refuses while it is busy with another change.
offline() { wait_for eval "echo 0 >${LOP_SYS:-/sys}/devices/system/cpu/cpu$1/online"; }
online() { wait_for eval "echo 1 >${LOP_SYS:-/sys}/devices/system/cpu/cpu$1/online"; }

# every_cpu_in_one_set COUNT: whether each of that many CPUs is in exactly one set.
every_cpu_in_one_set() {
  local found expected
  status --format json >/tmp/status || return
  found=$(for set in high green low offline; do set_in_file $set; done | sort -n | xargs)
  expected=$(seq 0 $(($1 - 1)) | xargs)
  [ "$found" = "$expected" ] || { cat /tmp/status; say_and_fail "in sets: $found"; }
}

# spin COUNT [CPUS]: starts that many busy shells, optionally bound to CPUs; $spinners are all of them.
spinners=()
spin() {
  local i
  for ((i = 0; i < $1; i++)); do
    (while :; do :; done) &
    spinners+=("$!")
    [ -z "${2:-}" ] || taskset -pc "$2" "$!" >/dev/null
  done
}

end_spinners() {
  kill -KILL "${spinners[@]}" 2>/dev/null
  wait "${spinners[@]}" 2>/dev/null
  spinners=()
}

# ticks_of PROCESS: its CPU time, in hundredths of a second.
ticks_of() {
  local -a fields
  read -r -a fields <"/proc/$1/stat" && echo $((fields[13] + fields[14]))
}

# walk COUNT [CPUS]: starts that many shells that alternately sleep and compute, as much as the emulator can bear permanently; they are among
# $spinners.
walk() {
  local i
  [ -p /tmp/never ] || mkfifo /tmp/never
  for ((i = 0; i < $1; i++)); do
    (exec 3<>/tmp/never; while :; do read -r -t 0.1 -u 3; for ((n = 0; n < 100; n++)); do :; done; done) &
    spinners+=("$!")
    [ -z "${2:-}" ] || taskset -pc "$2" "$!" >/dev/null
  done
}

# all_get_on: whether each spinner makes progress from now on.
all_get_on() {
  local process before
  for process in "${spinners[@]}"; do
    before=$(ticks_of "$process") || { say_and_fail "process $process is gone"; return; }
    wait_for ran_since "$process" "$before" || return
  done
}

ran_since() { [ "$(ticks_of "$1")" -gt "$2" ]; }

# recorded eevdf | lopsided NAME COMMAND...: records a command's scheduling for the checks below; fails if the command does.
recorded() {
  local trace=/tmp/$1-$2.trace code=0
  shift 2
  lop-judge record --buffer-kb 40960 --events sched_switch,sched_wakeup,sched_wakeup_new,sched_process_fork --out "$trace" -- "$@" >/dev/null || code=$?
  needed test -e "$trace" || say_and_fail "exit code $code, and no trace" || return
  case $trace in
    */eevdf-*) p999_ms "$trace" >"$trace.p999" && rm "$trace" ;;
  esac
  return $code
}

# p999_ms TRACE: 99.9th percentile of the delays of all wakeups.
p999_ms() {
  local said
  said=$(lop-judge check "$1" delay | sed -n 's/^delay: .*p99.9 of [0-9]* wakeups \([0-9.]*\) ms.*/\1/p')
  [ -n "$said" ] && echo "$said" || say_and_fail "no delays in $1"
}

# none_lost NAME: no task waited for 5 s in the recording under lopsided.
none_lost() {
  lop-judge check "/tmp/lopsided-$1.trace" lost --limit-s 5 --allow lop >/tmp/verdict || { cat /tmp/verdict; return 1; }
  grep -E 'longest_wait_ms|^lost' /tmp/verdict | xargs
}

# delay_as_under_eevdf NAME: p99.9 is below 100 ms, unless EEVDF's is not either; prints both. Removes the trace.
delay_as_under_eevdf() {
  local ours theirs trace=/tmp/lopsided-$1.trace
  theirs=$(cat "/tmp/eevdf-$1.trace.p999") && ours=$(p999_ms "$trace") || return
  rm "$trace"
  echo "lopsided $ours ms, EEVDF $theirs ms"
  awk -v ours="$ours" -v theirs="$theirs" 'BEGIN { exit ours >= 100 && theirs < 100 }'
}

# record NAME COMMAND...: records who runs where while the command runs, and calls of `lop hint`; fails if the command does.
record() {
  local trace=/tmp/$1.trace
  shift
  lop-judge record --events sched_switch,sched_wakeup,sched_wakeup_new,sched_process_fork,sys_enter_bpf --out "$trace" -- "$@" >/tmp/recorded
}

# judge CHECK...: whether the check holds for $trace; prints its sentence last.
judge() {
  local code=0
  lop-judge check "$trace" "$@" >/tmp/verdict || code=$?
  tail -n +2 /tmp/verdict
  head -n 1 /tmp/verdict
  return $code
}

# judged NAME CHECK...: the same for the recording with that name.
judged() {
  local trace=/tmp/$1.trace
  shift
  judge "$@"
}

# placed NAME: of 10,000 wakeups of three threads that sleep most of the time, at most 1 % may run on another CPU than the claimed one.
placed() {
  record "$1" lop-load bursts --threads 3 --count 10000 --busy-ms 1 --idle-ms 1..5 && judged "$1" placed --comm lop-burst --share 0.99
}

# refuted COMMAND...: the command's check does not hold, although there was something to judge.
refuted() {
  "$@" && return 1
  grep -q 'DOES NOT HOLD' /tmp/verdict && ! grep -q 'nothing to judge' /tmp/verdict
}

# Helpers that declare the memory class of loads and record them, for policies that plan by it.
threads_of() { named "$1" | sed 's|.*/||'; }
are_there() { [ "$(threads_of "$1" | wc -l)" = "$2" ]; }

# declare_all NAME CLASS CPUS: lets the threads with that name run on these CPUs, and declares their class.
declare_all() {
  local thread
  for thread in $(threads_of "$1"); do
    taskset -pc "$3" "$thread" >/dev/null && lop hint "$thread" --memory "$2" || return
  done
}

# declared_for SECONDS: notes the time, in hundredths of a second since $begin_cs, at which all declarations are done, and lets the loads run on for
# that long.
declared_for() {
  echo $(($(uptime_cs) - begin_cs)) >/tmp/declared_cs
  sleep "$1"
  kill $(jobs -p)
}

# hogs COUNT CPUS   shares COUNT CPUS: starts a load there.
hogs() { taskset -c "$2" lop-load hogs "$1" --seconds 100 >/dev/null & wait_for are_there lop-hog "$1"; }
shares() {
  local -a tasks
  while [ ${#tasks[@]} -lt "$1" ]; do tasks+=(--task=nice=0); done
  taskset -c "$2" lop-load shares --seconds 100 "${tasks[@]}" >/dev/null & wait_for are_there lop-share "$1"
}

# side_by_side SECONDS [CPUS]: two intensive threads in the first of two domains and two of very low intensity in the second, which only a plan can move.
# The intensive ones may run on those CPUs, or everywhere.
side_by_side() {
  begin_cs=$(uptime_cs)
  hogs 2 0,1 && shares 2 2,3 && declare_all lop-hog intensive "${2:-0-3}" && declare_all lop-share very-low 0-3 && declared_for "$1"
}

# The planner rests again.
rests_again() { status | grep -q 'rests: nothing to plan by'; }

# How often the planner has moved a thread.
says_moves() { status | tr -s ' \n' ' ' | grep -o '[1-9][0-9]* moves so far'; }

# until_moved LOAD SECONDS: repeats the load until a plan has moved a thread, at most eight times. Threads that may run everywhere may end up in the
# planned places by chance, and then there is nothing to move; in a guest whose clock counts instructions, this may happen each time.
until_moved() {
  local turn
  for turn in {1..8}; do
    bash -c "$1 $2" || return
    ! says_moves || return 0
  done
}

# recorded_while LOAD SECONDS
recorded_while() {
  rm -f /tmp/declared_cs
  lop-judge record --out /tmp/planned.trace --buffer-kb 40960 --events sched_switch,sched_wakeup,sched_wakeup_new,sched_process_fork -- bash -c "$1 $2" >/dev/null &&
    [ -s /tmp/declared_cs ] || say_and_fail "$1 did not get as far as to declare"
}
export -f side_by_side declared_for hogs shares declare_all threads_of are_there wait_for say_and_fail uptime_cs named

# judge_planned CHECK...: like judge, for that recording. The first plan comes two looks after a declared thread was seen at a tick, and takes
# effect at a tick: 3 s.
judge_planned() {
  local trace=/tmp/planned.trace
  judge "$@" --after-s "$(awk '{ print $1 / 100 + 3 }' /tmp/declared_cs)" --allow lop
}

# The cgroup of the system's services, and a program that runs in it.
slice=/sys/fs/cgroup/system.slice
make_daemons() { mkdir -p $slice && cp "$(type -P lop-load)" /tmp/lop-daemon; }

# as_daemon LOAD...: runs in that cgroup, with the name lop-daemon. Its first thread was the shell, and stays on the shell's CPU until it sleeps.
as_daemon() { (echo $BASHPID >$slice/cgroup.procs && exec /tmp/lop-daemon "$@"); }

# More busy threads than CPUs, forks (which the kernel cleans up after), and a daemon that computes now and then.
mixed_load() {
  local daemon hogs
  as_daemon bursts --count 20 --busy-ms 5 --threads 1 --idle-ms 20..60 >/dev/null & daemon=$!
  lop-load hogs 5 --seconds 2 >/dev/null & hogs=$!
  lop-load fork-storm --jobs 4 --count 30 >/dev/null && wait $hogs && wait $daemon
}

# Two daemons that never sleep.
saturate() { as_daemon hogs 2 --seconds 2 >/dev/null; }
export -f as_daemon mixed_load saturate
export slice

# same_decisions LOG: the native build makes the same decisions for the same calls.
same_decisions() {
  local code=0
  lop-judge replay "$1" >/tmp/replayed 2>/tmp/difference || code=$?
  cat /tmp/difference
  tr -d '\n ' </tmp/replayed
  return $code
}

# changed LOG PROGRAM: changes one line of the log, which the replay must notice.
changed() {
  local code=0
  awk "$2" "$1" >/tmp/changed.log
  lop-judge replay /tmp/changed.log >/tmp/replayed 2>/tmp/difference || code=$?
  [ "$code" = 1 ] && grep ': line [0-9]*: ' /tmp/difference || say_and_fail "exit code $code: $(cat /tmp/difference)"
}

# has_kinds LOG KIND...: the log has a record of each kind. Uses one pass, since a log is long and the guest slow.
has_kinds() {
  local kind found
  found=$(awk -F'"' '{ for (i = 2; i < NF; i++) if ($i == "kind") { seen[$(i + 2)] = 1; break } } END { for (kind in seen) print kind }' "$1") || return
  shift
  for kind in "$@"; do
    grep -qx "$kind" <<<"$found" || say_and_fail "no record of kind $kind" || return
  done
}

# still_in_charge: the loader and its program still run, and were not loaded again.
still_in_charge() {
  scheduler_is lopsided && kill -0 "$loader" && status --format json | grep -q '"restarts": 0' || { cat /tmp/lop.log; say_and_fail 'not any more'; }
}

# counts_as WORDS RULES OPTION...: loads the program as for 64 x WORDS CPUs and prints the verifier's counts.
counts_as() {
  local release words=$1 rules=$2
  shift 2
  release=$(uname -r | cut -d. -f1,2)
  begin_lop --cpu-words "$words" "$@" || return
  lop-judge bpf-stats >/tmp/stats || return
  awk -v kernel="$release" -v cpus=$((words * 64)) -v rules="$rules" -F'[:,"]+' '
    /"name"/ { name = $4 }
    /"verified_insns"/ { gsub(/ /, "", $3); if (name ~ /^lop/) print "count", kernel, cpus, rules, name, $3 }' /tmp/stats >>/tmp/counts
  ended_by INT
}

# loads_with_log OPTION...: loads with a log, whose calls need the deepest stack.
loads_with_log() { begin_lop "$@" --log-decisions /tmp/decisions.log && ended_by INT; }

# isolate CPUS: creates or changes an isolated partition with these CPUs.
partition=/sys/fs/cgroup/isolated
isolate() {
  mkdir -p $partition && echo "$1" >$partition/cpuset.cpus && echo isolated >$partition/cpuset.cpus.partition || return
  [ "$(cat $partition/cpuset.cpus.partition)" = isolated ] || say_and_fail "$(cat $partition/cpuset.cpus.partition)"
}

# A machine file as `lop machine measure` leaves it. A guest has no meter, so its watts are those of another machine, unsaid: the rules that go by watts
# are in force then.
give_watts() {
  mkdir -p /etc/lopsided && lop machine capture --force -o /tmp/captured.toml >/dev/null && grep -v '^watts_of' /tmp/captured.toml >/etc/lopsided/machine.toml
}

# The same of a machine that ships energy-aware scheduling, which needs an energy model in the kernel.
give_eas() { give_watts && sed -i 's/^governor = .*/governor = "eas"/' /etc/lopsided/machine.toml; }

# A false /sys/class with a sensor for each core, as coretemp has them: all at 40 degrees, with a limit of 90.
sensors=/tmp/class/hwmon
false_sensors() {
  local cpu package core device
  for cpu in /sys/devices/system/cpu/cpu[0-9]*; do
    package=$(cat "$cpu/topology/physical_package_id") && core=$(cat "$cpu/topology/core_id") || return
    device=$sensors/hwmon$package
    mkdir -p "$device" && echo coretemp >"$device/name" && echo "Package id $package" >"$device/temp1_label" || return
    echo "Core $core" >"$device/temp$((core + 2))_label"
    echo 40000 >"$device/temp$((core + 2))_input"
    echo 90000 >"$device/temp$((core + 2))_max"
  done
  mount --bind /tmp/class /sys/class
}

# The verdict of this kernel's verifier: whether it accepts the program, for 64 CPUs and for 512, without rules and with all of them, and how many
# instructions it processed. The lines `count KERNEL CPUS RULES PROGRAM INSTRUCTIONS` are compared with kernel/verifier.tsv by
# scripts/verifier-counts.sh. Needs a machine with several kinds of cores and memory domains, since otherwise auto leaves rules out.
verifier_takes_it() {
  local words
  expect 'the program gets watts' give_watts
  for words in 1 8; do
    expect "the verifier takes the program for $((words * 64)) CPUs" counts_as $words no --policy highlow-spare
  done
  expect 'the program gets temperatures' false_sensors
  for words in 1 8; do
    expect "the verifier takes all rules for $((words * 64)) CPUs" counts_as $words all --policy auto --reserve asked
  done
  expect 'the verifier takes all rules whose decisions are logged' loads_with_log --policy auto --reserve asked
  expect 'the verifier takes all rules whose decisions are logged, for 512 CPUs' counts_as 8 logged --policy auto --reserve asked --log-decisions /tmp/decisions.log
  set_governor userspace
  expect 'the program gets watts of a machine that ships EAS' give_eas
  expect 'the verifier takes all rules and light work for 64 CPUs' counts_as 1 light --policy auto --reserve asked
  expect 'the verifier takes all rules and light work whose decisions are logged' counts_as 1 light-logged --policy auto --reserve asked --log-decisions /tmp/decisions.log
  expect 'no warning of the kernel' kernel_is_well
  cat /tmp/counts
}
