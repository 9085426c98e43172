#!/usr/bin/env bash
# SPDX-License-Identifier: GPL-2.0-only
# run-test.sh [--all]: tests vm/run. Boots six guests; with --all also those that take long. Fetches the kernel if it is not in the cache yet. Prints
# a line per check and how many ran; needs no root.
set -uo pipefail
cd "$(dirname "$0")/../.."
megabytes=5
[ "${1:-}" != --all ] || { megabytes=50 && scripts/need.sh script; } || exit
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
# In a separate folder, since programs next to it would be included.
mkdir "$work/alone"
ln -s "$(realpath "${LOP_BIN:-$(type -P true)}")" "$work/alone/lop"
export LOP_BIN=$work/alone/lop
. vm/tests/check.sh

# check_has NAME PART TEXT
check_has() {
  case $3 in *"$2"*) check "$1" yes yes ;; *) check "$1" "...$2..." "$3" ;; esac
}

# guest OPTION...: runs vm/run; leaves its output in $work/out and $work/err, and its code in $code. Even a busy host does not need that long.
guest() {
  code=0
  vm/run --timeout 3600 "$@" >"$work/out" 2>"$work/err" || code=$?
}

# Value of a line "KEY VALUE" that a guest printed.
said() { sed -n "s/^$1 //p" "$work/out"; }

# descendant_named NAME PROCESS: the number of a process below it.
descendant_named() {
  local child
  for child in $(cat "/proc/$2/task/$2/children"); do
    if [ "$(cat "/proc/$child/comm")" = "$1" ]; then echo "$child"; else descendant_named "$1" "$child"; fi
  done
}

usage_and_refusals() {
  guest --cpus 9 --cpufreq -- true
  check 'more CPUs than ports: code' 2 "$code"
  check_has 'more CPUs than ports: said' 'a PC has 8' "$(cat "$work/err")"
  guest --cpus 3 --sockets 2 -- true
  check 'CPUs that do not divide' 2 "$code"
  guest --cpus 6 --sockets 2 --smt -- true
  check 'CPUs that do not divide into cores of two' 2 "$code"
  guest --smt --cpufreq -- true
  check 'siblings and frequencies' 2 "$code"
  guest --cpus 65 -- true
  check 'too many CPUs' 2 "$code"
  guest --max-mhz 2100,1050 --cpus 4 -- true
  check 'too few frequencies' 2 "$code"
  guest --cpus 2
  check 'no script' 2 "$code"
  guest --bin no-such-program -- true
  check_has 'a binary that is not here' 'no such program here' "$(cat "$work/err")"
  guest --kernel 1.2.3 -- true
  check_has 'a kernel that is not known' "no kernel '1.2.3'" "$(cat "$work/err")"
  LOP_BIN=/nowhere/lop guest -- true
  check_has 'a lop that is not there' 'no program at /nowhere/lop' "$(cat "$work/err")"
}

qemu_that_fails() {
  mkdir -p "$work/bin"
  printf '#!/bin/sh\necho "no room" >&2\nexit 3\n' >"$work/bin/qemu-system-x86_64"
  chmod +x "$work/bin/qemu-system-x86_64"
  LOP_VM_ACCEL=tcg PATH=$work/bin:$PATH guest -- true
  check 'QEMU that fails: code' 1 "$code"
  check 'QEMU that fails: said' 'vm/run: QEMU failed (exit code 3): no room' "$(cat "$work/err")"
}

# place FOLDER NAME...: creates programs there that print their folder.
place() {
  local folder=$work/$1 name
  mkdir -p "$folder"
  for name in "${@:2}"; do
    printf '#!/bin/sh\necho %s\n' "$1" >"$folder/$name"
    chmod +x "$folder/$name"
  done
}

# Programs next to lop are included, other files are not, and --bin takes precedence.
beside_lop() {
  place beside lop lop-load lop-judge
  place given lop-judge
  LOP_BIN=$work/beside/lop guest --cpus 1 --bin "$work/given/lop-judge" -- 'lop; lop-load; lop-judge'
  check 'lop, and what lies beside it unless it is given' 'beside beside given' "$(xargs <"$work/out")"
  chmod -x "$work/beside/lop-load"
  rm "$work/beside/lop-judge"
  LOP_BIN=$work/beside/lop guest --cpus 1 -- 'type -P lop; type -P lop-load lop-judge || echo neither'
  check 'beside lop: neither is there' '/usr/local/bin/lop neither' "$(xargs <"$work/out")"
  check 'beside lop: nothing is said of that' '' "$(cat "$work/err")"
}

# Arbitrary bytes, no final newline, separate errors, a process left behind, copied files, tools and mounts.
script_and_files() {
  # shellcheck disable=SC2016  # the guest expands it
  guest --cpus 2 --bin sha256sum --share "$work/share" -- "megabytes=$megabytes"'
    printf "a\r\nb\0c\377\n\004x" >/out/bytes; cat /out/bytes
    head -c ${megabytes}000000 /dev/urandom >/out/big
    mkdir "/out/a folder"
    { type -p sha256sum; sha256sum </out/big; nproc; uname -r; id -u
      cat /sys/fs/cgroup/cgroup.subtree_control; ls /boot; cat /sys/kernel/sched_ext/state
      awk "{ print \$3 }" /proc/mounts | sort -u | tr "\n" " "; } >"/out/a folder/facts"
    echo wrong >&2
    sleep 1000 & exit 7'
  local facts="$work/share/a folder/facts" kind
  check 'exit code' 7 "$code"
  check 'output, byte by byte' "$(printf 'a\r\nb\0c\377\n\004x' | od -c)" "$(od -c <"$work/out")"
  check 'errors apart, nothing else with them' wrong "$(cat "$work/err")"
  check 'binary on PATH' /usr/local/bin/sha256sum "$(sed -n 1p "$facts")"
  check "$megabytes MB brought out whole" "$(sed -n 2p "$facts")" "$(sha256sum <"$work/share/big")"
  check '--cpus 2' 2 "$(sed -n 3p "$facts")"
  check 'root' 0 "$(sed -n 5p "$facts")"
  check_has 'cpu controller' cpu "$(sed -n 6p "$facts")"
  check_has 'cpuset controller' cpuset "$(sed -n 6p "$facts")"
  check 'configuration of the kernel' "config-$(sed -n 4p "$facts")" "$(sed -n 7p "$facts")"
  check 'sched_ext' disabled "$(sed -n 8p "$facts")"
  for kind in proc sysfs devtmpfs devpts debugfs tracefs bpf cgroup2 tmpfs; do
    check_has "mounted: $kind" "$kind " "$(sed -n 9p "$facts")"
  done
}

# The first line arrives while the script still runs; then the caller is ended, and QEMU with it.
streamed_and_interrupted() {
  local line runner qemu
  mkfifo "$work/stream"
  vm/run --cpus 2 --timeout 3600 -- 'echo first; while :; do sleep 1000; done' >"$work/stream" 2>"$work/err" &
  runner=$!
  read -r line <"$work/stream"
  check 'output is streamed' first "$line"
  qemu=$(descendant_named qemu-system-x86 "$runner")
  kill -TERM "$runner"
  code=0
  wait "$runner" || code=$?
  check 'interrupted: code' 143 "$code"
  tail -f /dev/null --pid="$qemu"
  check 'interrupted: QEMU ended' gone "$(kill -0 "$qemu" 2>/dev/null && echo there || echo gone)"
}

# On a busy machine the guest may not have booted by then, so it gets more time.
time_limit() {
  local limit_s
  for limit_s in 45 180 900; do
    guest --cpus 2 --timeout $limit_s -- 'echo before; echo -n "hanging here"; while :; do :; done'
    ! grep -q hanging "$work/out" || break
  done
  check 'time limit: code' 124 "$code"
  check_has 'time limit: said, with the last line' "no end within $limit_s s; last line: hanging here" "$(cat "$work/err")"
  check 'time limit: one line' 1 "$(wc -l <"$work/err")"
}

panic_and_power_off() {
  # Not before the line was passed on, since a panic stops the process that does that.
  # shellcheck disable=SC2016
  guest --cpus 2 -- 'echo before
    for copier in /proc/[0-9]*; do [ "$(readlink $copier/fd/1)" != /dev/vport0p1 ] || break; done
    until grep -q "^wchar: [1-9]" $copier/io; do sleep 0.1; done
    echo c >/proc/sysrq-trigger'
  check 'panic: code' 1 "$code"
  check 'panic: output until then' before "$(cat "$work/out")"
  check_has 'panic: its line' 'guest: Kernel panic - not syncing: sysrq triggered crash' "$(cat "$work/err")"
  check 'panic: one line' 1 "$(wc -l <"$work/err")"
  guest --cpus 2 -- 'poweroff -f'
  check 'powered off: code' 1 "$code"
  check_has 'powered off: said' 'the guest ended before the script did' "$(cat "$work/err")"
}

many_cpus() {
  # shellcheck disable=SC2016
  guest --cpus 64 --sockets 2 -- '
    cd /sys/devices/system
    echo cpus $(nproc); echo packages $(sort -u cpu/cpu*/topology/physical_package_id | wc -l)
    echo second $(cat cpu/cpu63/topology/physical_package_id); echo node $(cat node/node1/cpulist)
    echo cache $(cat cpu/cpu0/cache/index3/shared_cpu_list)'
  check '--cpus 64' 64 "$(said cpus)"
  check '--sockets 2' 2 "$(said packages)"
  check '--sockets 2: the last CPU' 1 "$(said second)"
  check '--sockets 2: a node each' 32-63 "$(said node)"
  check '--sockets 2: a cache each' 0-31 "$(said cache)"
}

# The guest waits for the expected event, as long as the time limit allows.
frequencies() {
  # shellcheck disable=SC2016
  guest --cpus 8 --max-mhz 2100,2100,2100,2100,1400,1400,1400,1400 -- '
    cd /sys/devices/system/cpu
    set_all() { for f in cpu*/cpufreq/$1; do echo $2 >$f; done; }
    echo cpus $(nproc); echo maxima $(for i in 0 1 2 3 4 5 6 7; do cat cpu$i/cpufreq/cpuinfo_max_freq; done)
    echo governors $(tr " " "\n" <cpu7/cpufreq/scaling_available_governors | sort)
    echo default $(cat cpu0/cpufreq/scaling_governor); echo points $(cat cpu0/cpufreq/scaling_available_frequencies)
    echo domain $(cat cpu3/cpufreq/affected_cpus)
    set_all scaling_governor userspace
    echo 1575000 >cpu2/cpufreq/scaling_setspeed; echo 1050000 >cpu3/cpufreq/scaling_setspeed; echo 700000 >cpu7/cpufreq/scaling_setspeed
    echo set $(cat cpu2/cpufreq/scaling_cur_freq cpu3/cpufreq/scaling_cur_freq cpu7/cpufreq/scaling_cur_freq)
    set_all scaling_governor ondemand
    until [ "$(cat cpu5/cpufreq/scaling_cur_freq)" = 700000 ]; do sleep 0.2; done; echo idle 700000
    taskset -c 5 sh -c "while :; do :; done" &
    until [ "$(cat cpu5/cpufreq/scaling_cur_freq)" = 1400000 ]; do sleep 0.2; done; echo busy 1400000'
  check 'frequencies: code' 0 "$code"
  check '--cpus 8' 8 "$(said cpus)"
  check '--max-mhz' '2100000 2100000 2100000 2100000 1400000 1400000 1400000 1400000' "$(said maxima)"
  check 'governors' 'conservative ondemand performance powersave schedutil userspace' "$(said governors | xargs)"
  check 'default governor' schedutil "$(said default)"
  check 'operating points' '2100000 1575000 1050000' "$(said points)"
  check 'a clock domain per CPU' 3 "$(said domain)"
  check 'userspace sets the speed' '1575000 1050000 700000' "$(said set)"
  check 'ondemand lowers an idle core' 700000 "$(said idle)"
  check 'ondemand raises a busy core' 1400000 "$(said busy)"
}

# If the guest's clock counts instructions, its CPUs are listed one by one.
siblings() {
  local clock
  for clock in '' '--instruction-ns 8'; do
    # shellcheck disable=SC2086  # words
    guest --cpus 8 --sockets 2 --smt $clock -- 'cat /sys/devices/system/cpu/cpu*/topology/thread_siblings_list | uniq | xargs'
    check "--smt $clock" '0-1 2-3 4-5 6-7' "$(cat "$work/out")"
  done
}

# The shell of `make try`, with typed input.
shell_on_a_terminal() {
  local shell
  mkfifo "$work/typed"
  timeout 3600 script -qec 'scripts/try.sh --cpus 2' /dev/null <"$work/typed" >"$work/out" 2>&1 & shell=$!
  exec 9>"$work/typed"
  while kill -0 $shell 2>/dev/null && ! grep -q 'Leave with exit' "$work/out"; do sleep 0.5; done
  printf 'echo "sched_ext is $(cat /sys/kernel/sched_ext/state)"; exit 7\n' >&9
  code=0
  wait $shell || code=$?
  exec 9>&-
  check 'a shell on a terminal: code' 7 "$code"
  check_has 'a shell on a terminal: said' 'sched_ext is disabled' "$(cat "$work/out")"
}

vm/run --cpus 1 --timeout 3600 -- true || exit
usage_and_refusals
qemu_that_fails
script_and_files
streamed_and_interrupted
panic_and_power_off
frequencies
if [ "${1:-}" = --all ]; then
  beside_lop
  time_limit
  many_cpus
  siblings
  shell_on_a_terminal
fi
echo "$ran checks ran, $failed failed"
[ "$failed" = 0 ] && exit
echo "  kernel  $(cat "$(vm/kernel.sh)/release")"
echo "  repeat  LOP_BIN=$(realpath "$work/alone/lop") vm/tests/run-test.sh $*"
exit 1
