#!/usr/bin/env bash
# SPDX-License-Identifier: GPL-2.0-only
# costs.sh [RUNS]: measures on this machine what it costs to hand the CPU over: two threads of loads/global-sum meet at 20,000 barriers, on one CPU (sleep, switch and
# wake: `machine.cost.context_switch_us`) and on two (sleep, and wake on another CPU, which may have to leave its idle state). The two are of different cores if this
# shell may use such, and what they share is said. Prints quartiles over RUNS (11) runs in us.
set -euo pipefail
cd "$(dirname "$0")/.."
runs=${1:-11} rounds=20000
if ! [[ $runs =~ ^[1-9][0-9]{0,3}$ ]]; then
  echo "costs: '$runs': expected a number of runs from 1 to 9999" >&2
  exit 2
fi
loads=$(scripts/loads.sh)
# in_list LIST: the numbers of a list such as 0-2,5, one a line.
in_list() {
  awk -v list="$1" 'BEGIN {
    n = split(list, parts, ",")
    for (i = 1; i <= n; i++) { m = split(parts[i], ends, "-"); for (cpu = ends[1]; cpu <= ends[m]; cpu++) print cpu }
  }'
}

# sharing FILES: the CPUs that the first CPU shares something with, one a line; itself where the kernel does not say.
sharing() { in_list "$(cat "$@" 2>/dev/null | tail -1 | grep . || echo "$first")"; }

# The first CPU that this shell may use, and the next one of another core, else its sibling.
mapfile -t allowed < <(in_list "$(taskset -cp $$ | sed 's/.*: //')")
first=${allowed[0]}
about=/sys/devices/system/cpu/cpu$first
siblings=$(sharing "$about/topology/thread_siblings_list")
others=$(printf '%s\n' "${allowed[@]}" | grep -vxF "$siblings" || true)
second=${others%%$'\n'*}
if [ -z "$second" ]; then
  second=${allowed[1]:-}
  relation='threads of one core'
elif sharing "$about"/cache/index*/shared_cpu_list | grep -qx "$second"; then
  relation='different cores that share a cache'
else
  relation='different cores, no shared cache known'
fi

# meet CPUS THREADS: CPU time of a barrier, of all threads, and its time on the clock; us.
meet() {
  taskset -c "$1" "$loads/global-sum" --threads "$2" --rounds $rounds --length-instructions 400 --barrier-every 1 |
    awk -v rounds=$rounds '{
      match($0, /"wall_ms":[0-9.]+/); wall = substr($0, RSTART + 10, RLENGTH - 10)
      while (match($0, /"cpu_ms":[0-9.]+/)) { cpu += substr($0, RSTART + 9, RLENGTH - 9); $0 = substr($0, RSTART + RLENGTH) }
      print 1e3 * cpu / rounds, 1e3 * wall / rounds
    }'
}

# quartiles NAME: of one number a line.
quartiles() {
  sort -g | awk -v name="$1" '
    { all[NR] = $1 }
    function at(share,  place, low) { place = 1 + share * (NR - 1); low = int(place); return all[low] + (place - low) * (all[low < NR ? low + 1 : low] - all[low]) }
    END { printf "%-52s %6.2f  %6.2f  %6.2f\n", name, at(0.25), at(0.5), at(0.75) }'
}

[ -z "$second" ] || echo "CPUs $first and $second: $relation"
printf '%-52s %6s  %6s  %6s\n' 'us' 'lower' 'median' 'upper'
# The work between barriers is what one thread alone takes, which meets nobody.
for ((run = 0; run < runs; run++)); do
  read -r alone _ < <(meet "$first" 1)
  read -r cpu _ < <(meet "$first" 2)
  awk -v cpu="$cpu" -v alone="$alone" 'BEGIN { print cpu - 2 * alone }'
done | quartiles 'CPU time of a sleep, a switch and a wake on one CPU'
if [ -z "$second" ]; then
  echo 'a wake on another CPU: there is one CPU here; allow this shell two (taskset)'
  exit 0
fi
for ((run = 0; run < runs; run++)); do
  read -r alone _ < <(meet "$first" 1)
  read -r _ wall < <(meet "$first,$second" 2)
  awk -v wall="$wall" -v alone="$alone" 'BEGIN { print wall - alone }'
done | quartiles 'time until a thread woken on another CPU goes on'
