# SPDX-License-Identifier: GPL-2.0-only
# node-agent.sh: lop agent --node with real cgroups, made as kubelet makes them: pods are confined to a memory domain, get their CPUs back however it
# ends, also if they end meanwhile, and a set of somebody else is left alone; CPUs of a domain go offline and come back.
# Two domains: CPUs 0 and 1, 2 and 3.
# guest: --cpus 4 --sockets 2 --timeout 1200
# Behind lib.sh.
cgroups=/sys/fs/cgroup
pods=kubepods.slice

# pod NAME: a cgroup with one of a container inside, where a program computes with two threads. The agent's input is not left open by it.
pod() {
  local container=$cgroups/$pods/$1/main
  mkdir -p "$container" && echo +cpuset >$cgroups/$pods/cgroup.subtree_control && echo +cpuset >$cgroups/$pods/"$1"/cgroup.subtree_control || return
  (echo $BASHPID >"$container/cgroup.procs" && exec lop-load hogs 2 --seconds 100000 >/dev/null) 3>&- 4>&- &
  wait_for computes "$1"
}
computes() { [ "$(tasks_of "$1" | wc -l)" -ge 2 ]; }
# Its threads that compute.
tasks_of() {
  local task
  while read -r task; do [ "$(cat "/proc/$task/comm")" != lop-hog ] || echo "$task"; done <"$cgroups/$pods/$1/main/cgroup.threads"
}

# gone NAME: the pod ends, and its cgroups with it.
gone() {
  echo 1 >"$cgroups/$pods/$1/cgroup.kill" && wait_for rmdir "$cgroups/$pods/$1/main" && wait_for rmdir "$cgroups/$pods/$1"
}

begin_agent() {
  rm -f /tmp/requests /tmp/answers
  mkfifo /tmp/requests /tmp/answers
  lop agent --node </tmp/requests >/tmp/answers 2>/tmp/lop.log &
  loader=$!
  exec 3>/tmp/requests 4</tmp/answers
}

# ask CONFINE: as JSON; $answer is the answer.
ask() {
  echo "{\"confine\": {$1}}" >&3 && read -r -t "$patience_s" -u 4 answer || say_and_fail "no answer: $(cat /tmp/lop.log)" || return
  echo "$answer"
}
none_left() { [[ $answer == *'"left":{}'* ]]; }
left() { [[ $answer == *"\"$pods/$1\":\""*"$2"* ]] || say_and_fail "$answer"; }

# runs_on NAME CPUS: all threads of the pod may run there only, and after a while each does.
runs_on() {
  local task
  [ "$(cat "$cgroups/$pods/$1/main/cpuset.cpus.effective")" = "$2" ] || say_and_fail "$(cat "$cgroups/$pods/$1/main/cpuset.cpus.effective")" || return
  for task in $(tasks_of "$1"); do
    may_use "$task" "$2" && wait_for runs_within "$task" "$2" || return
  done
}
may_use() { grep -qx "Cpus_allowed_list:[[:space:]]*$2" "/proc/$1/status" || say_and_fail "$(grep Cpus_allowed_list "/proc/$1/status")"; }
runs_within() {
  local -a fields
  read -r -a fields <"/proc/$1/stat"
  [ "${fields[38]}" -ge "${2%-*}" ] && [ "${fields[38]}" -le "${2#*-}" ]
}
set_of() { cat "$cgroups/$pods/$1/cpuset.cpus"; }
free() { [ -z "$(set_of "$1")" ] && runs_on "$1" "${2:-0-3}"; }

confined() {
  ask "\"$pods/a\": 1, \"$pods/b\": 0" && none_left && runs_on a 2-3 && runs_on b 0-1
}

killed() { kill -KILL "$loader" && ends "$loader" && exec 3>&- 4<&-; }
ended() { exec 3>&- && ends "$loader" && exec 4<&- && [ "$end_code" = 0 ] || { cat /tmp/lop.log; say_and_fail "exit code $end_code"; }; }
nothing_to_restore() { lop restore | grep 'nothing to restore'; }

moves() { ask "\"$pods/a\": 0" && none_left && runs_on a 0-1 && free b; }
restored_by_lop() { killed && runs_on a 2-3 && lop restore | grep 'CPUs back: 2' && free a && free b && nothing_to_restore; }
restored_by_the_next() {
  killed && runs_on a 2-3 && begin_agent && ask '' && none_left && free a && free b && confined && ended && free a && free b && nothing_to_restore
}
by_signal() { begin_agent && confined && kill -TERM "$loader" && ended && free a && free b; }

# A pod that ends has nothing to give back, whoever gives back.
ends_meanwhile() {
  pod c && begin_agent && ask "\"$pods/c\": 1" && none_left && runs_on c 2-3 && gone c && ask "\"$pods/c\": 1" && left c 'No such file' && ask '' && none_left &&
    pod c && free c && ask "\"$pods/c\": 1" && none_left && runs_on c 2-3 && gone c && ended && nothing_to_restore
}
ends_after_kill() {
  pod c && begin_agent && ask "\"$pods/a\": 1, \"$pods/c\": 1" && none_left && killed && gone c && lop restore | grep 'CPUs back: 1' && free a
}

# As kubelet's static CPU manager: a container of the pod gets CPUs of its own.
others_set() {
  begin_agent && echo 1 >$cgroups/$pods/a/main/cpuset.cpus && ask "\"$pods/a\": 1" && left a "somebody else has set $cgroups/$pods/a/main/cpuset.cpus to 1" &&
    [ -z "$(set_of a)" ] && runs_on a 1
}
others_set_later() {
  echo >$cgroups/$pods/a/main/cpuset.cpus && ask "\"$pods/a\": 1" && none_left && runs_on a 2-3 && echo 1 >$cgroups/$pods/a/main/cpuset.cpus &&
    ask "\"$pods/a\": 1" && left a "to 1" && [ -z "$(set_of a)" ] && [ "$(cat $cgroups/$pods/a/main/cpuset.cpus.effective)" = 1 ]
}
others_set_itself() {
  echo >$cgroups/$pods/a/main/cpuset.cpus && ask "\"$pods/a\": 1" && none_left && echo 0-2 >$cgroups/$pods/a/cpuset.cpus && ask "\"$pods/a\": 1" && left a 'to 0-2' &&
    ended && [ "$(set_of a)" = 0-2 ] && runs_on a 0-2 && echo >$cgroups/$pods/a/cpuset.cpus
}
around_is_smaller() {
  begin_agent && echo 0-2 >$cgroups/$pods/cpuset.cpus && ask "\"$pods/a\": 1" && left a "may use CPUs 0-2 only" && [ -z "$(set_of a)" ] && echo >$cgroups/$pods/cpuset.cpus &&
    ask "\"$pods/a\": 1" && none_left && runs_on a 2-3 && ended && free a
}

# A thread that is bound elsewhere loses its CPUs to the set, and has them again after.
bound_elsewhere() {
  local task
  task=$(tasks_of a | head -n 1)
  taskset -pc 0 "$task" >/dev/null && begin_agent && ask "\"$pods/a\": 1" && none_left && runs_on a 2-3 && ended && may_use "$task" 0 && taskset -pc 0-3 "$task" >/dev/null
}

domains() { [[ $answer == *"\"domains\":$1,"* ]] || say_and_fail "$answer"; }
goes_and_comes() {
  begin_agent && confined && domains '["0-1","2-3"]' && offline 3 && ask "\"$pods/a\": 1, \"$pods/b\": 0" && none_left && domains '["0-1","2"]' && runs_on a 2 &&
    online 3 && ask "\"$pods/a\": 1, \"$pods/b\": 0" && none_left && domains '["0-1","2-3"]' && runs_on a 2-3 && ended && free a && free b
}
goes_whole() {
  begin_agent && confined && offline 2 && offline 3 && ask "\"$pods/a\": 1, \"$pods/b\": 0" && left a 'all CPUs of memory domain 1 are offline' &&
    domains '["0-1",""]' && free a 0-1 && runs_on b 0-1 && online 2 && online 3 && confined && ended && free a && free b
}

expect 'two pods compute on all CPUs' eval 'pod a && pod b && free a && free b'
begin_agent
expect 'each pod is confined to its domain' confined
expect 'a request replaces the one before' moves
expect 'confined again' confined
expect 'killed: they stay confined, and lop restore gives back' restored_by_lop
begin_agent
expect 'confined once more' confined
expect 'killed: they stay confined, and the next one gives back' restored_by_the_next
expect 'SIGTERM: they have their CPUs back' by_signal
expect 'a pod that ends meanwhile has nothing to give back, and may come again' ends_meanwhile
expect 'nor one that ends after kill -9' ends_after_kill
expect 'a set of somebody else inside the pod is left alone' others_set
expect 'one that comes later is left alone, and no longer narrowed' others_set_later
expect 'one of the pod itself is left alone, also at the end' others_set_itself
expect 'a domain that the cgroup around does not have is refused, until it has' around_is_smaller
expect 'a thread that was bound elsewhere is bound there again' bound_elsewhere
expect 'a CPU of the domain goes offline and comes back' goes_and_comes
expect 'all CPUs of the domain go offline: its pod may run everywhere until they come back' goes_whole
expect 'no warning of the kernel' kernel_is_well
sum_up
