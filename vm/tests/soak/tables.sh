# SPDX-License-Identifier: GPL-2.0-only
# tables.sh: 1,500 cgroups and 5,000 processes have room, and have it again when they are gone; a user who makes more groups than there is room for gets no
# more by that, and processes without room come and go. Judged are counts, and a share that was an eighth of what is due.
# guest: --cpus 4 --max-mhz 3000,3000,2000,2000 --memory-mb 3072 --timeout 5400
# Behind lib.sh.

cgroups=/sys/fs/cgroup

# left_out groups | applications: how often there was no room for one.
left_out() { status --format json | sed -n '/"left_out"/,/}/s/.*"'"$1"'": \([0-9]*\).*/\1/p'; }
nothing_left_out() { local found="$(left_out groups) groups, $(left_out applications) applications left out"; echo "$found"; [ "$found" = '0 groups, 0 applications left out' ]; }

hundreds=()
# crowd GROUPS PROCESSES: so many cgroups below one, a process in each, and further processes there: all sleep. A shell with thousands of children is slow.
crowd() {
  local first
  mkdir "$cgroups/crowd" && echo +cpu >"$cgroups/crowd/cgroup.subtree_control" && mkdir "$cgroups/crowd/rest" || return
  (cd "$cgroups/crowd" && seq 1 "$1" | sed s/^/g/ | xargs mkdir) || return
  for ((first = 1; first <= $2; first += 100)); do hundred "$first" "$1" "$2" & hundreds+=($!); done
  wait_for sleepers_are "$2"
}

hundred() {
  local n
  echo $BASHPID >"$cgroups/crowd/rest/cgroup.procs"
  for ((n = $1; n < $1 + 100 && n <= $3; n++)); do
    ([ "$n" -gt "$2" ] || echo $BASHPID >"$cgroups/crowd/g$n/cgroup.procs"; wakes_once; echo >>/tmp/sleepers; read -r -u 9) 9<>/tmp/never &
  done
  wait
}

# A task's new group takes effect when it wakes.
wakes_once() { read -r -t 0.1 -u 9; }
sleepers_are() { [ "$(stat -c %s /tmp/sleepers)" = "$1" ]; }

disperse() {
  echo 1 >"$cgroups/crowd/cgroup.kill"
  wait "${hundreds[@]}" 2>/dev/null
  hundreds=()
  (cd "$cgroups/crowd" && wait_for eval '! grep -q "populated 1" cgroup.events' && ls -d g* rest | xargs rmdir) && rmdir "$cgroups/crowd" && : >/tmp/sleepers
}

crowds_have_room() {
  local turn
  for turn in 1 2; do crowd 1500 5000 && disperse || return; done
  nothing_left_out
}

begun=()
# begin GROUP COMMAND: starts a process on CPU 0 in that group.
begin() { mkdir "$cgroups/$1" && { taskset -c 0 bash -c "echo \$\$ >$cgroups/$1/cgroup.procs && $2" 2>/dev/null & begun+=($!); wait_for grep -q . "$cgroups/$1/cgroup.procs"; }; }
busy() { begin "$1" 'while :; do :; done'; }
used_us() { sed -n 's/^usage_usec //p' "$cgroups/$1/cpu.stat"; }

# Of two users one is busy in eight groups that came when there was no room: half is due to either, and if each of the eight counted for itself it were a
# ninth.
users_share() {
  local n one two
  for n in one two; do mkdir "$cgroups/$n" && echo +cpu >"$cgroups/$n/cgroup.subtree_control" || return; done
  begin one/asleep 'wakes_once; read -r -u 9' 9<>/tmp/never && busy two/busy || return
  wait_for eval "[ \$(used_us two) -gt 100000 ]" || return
  crowd 200 200 || return
  [ "$(left_out groups)" -gt 0 ] || say_and_fail 'all had room' || return
  for n in {1..8}; do busy "one/$n" || return; done
  wait_for eval "[ \$(used_us one) -gt 100000 ]" || return
  one=$(used_us one) two=$(used_us two)
  sleep 8
  one=$(($(used_us one) - one)) two=$(($(used_us two) - two))
  echo 1 >"$cgroups/one/cgroup.kill" && echo 1 >"$cgroups/two/cgroup.kill"
  wait "${begun[@]}" 2>/dev/null
  echo "$one us and $two us"
  [ $((two * 3)) -ge "$one" ]
}

# With the crowd, which has all places except those of the users that have gone.
forks_end() {
  lop-load storm --count 2000 >/dev/null && disperse && echo "$(left_out applications) without room" && [ "$(left_out applications)" -ge 1000 ]
}

mkfifo /tmp/never
: >/tmp/sleepers
export -f used_us wakes_once
export cgroups
echo +cpu >"$cgroups/cgroup.subtree_control"
expect 'attached' begin_lop --policy phase
expect '1,500 cgroups and 5,000 processes have room, twice' crowds_have_room
expect 'no watchdog exit, no restart' still_in_charge
expect 'ended' ended_by INT
expect 'room for 64: attached' begin_lop --policy phase --places 64
expect 'a user with more groups than there is room for gets no more by it' users_share
expect 'processes without room come and go' forks_end
expect 'no watchdog exit, no restart, either' still_in_charge
expect 'ended again' ended_by INT
expect 'the kernel has nothing to complain of' kernel_is_well
sum_up
