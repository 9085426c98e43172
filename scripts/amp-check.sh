#!/usr/bin/env bash
# SPDX-License-Identifier: GPL-2.0-only
# amp-check.sh [--slow PERCENT] [ROUNDS [LOAD...]]: slows CPU 1 to that share of its speed (lop amp; 50 by default) and runs loads on CPUs 0 and 1: under
# policies enforced by affinity, under the kernel's own scheduler, and with threads placed at random. Prints measured times next to the closed form.
# LOAD: registration, matmul, half-sequential, spinner; all by default. Needs root; restores the CPUs at the end. LOP_BIN: the program.
#
#   unit       CPU time of an iteration or row, the mean of the same run, since it differs by a third between runs on a shared machine. For a
#              pair: its time on CPU 0 alone, measured in each round
#   predicted  registration, matmul: max(sum of the lengths on CPU 0, sum on CPU 1 / slow) units for random placement, see
#              `longest_first` for longest-first; half-sequential, spinner: see `pair`
#
# A round that others disturbed (they had more than 5 % of CPUs 0 and 1) is shown but not counted, and repeated, up to three times the number of rounds.
# At the end it prints medians of the times and of measured / predicted, and for spinner what a hint gains and what there is to gain without one, each
# by pairs of runs of one round. Exit code 3: others disturbed every round, or one of these two does not hold.
set -euo pipefail
cd "$(dirname "$0")/.."
percent=50
if [ "${1:-}" = --slow ]; then
  [[ ${2:-} =~ ^[1-9][0-9]$ ]] || { echo 'amp-check.sh: --slow takes a percentage from 10 to 99' >&2; exit 2; }
  percent=$2
  shift 2
fi
slow=0.$percent
rounds=${1:-3}
shift $(($# > 0))
chosen=" ${*:-registration matmul half-sequential spinner} "
for load in $chosen; do
  case $load in registration | matmul | half-sequential | spinner) ;; *) echo "amp-check.sh: no load '$load': registration, matmul, half-sequential, spinner" >&2; exit 2 ;; esac
done
lop=${LOP_BIN:-${CARGO_TARGET_DIR:-target}/debug/lop}
[ "$(id -u)" = 0 ] || { echo 'amp-check.sh: lop amp needs root: run it with sudo' >&2; exit 1; }
[ "$(nproc)" -ge 2 ] || { echo 'amp-check.sh: needs two CPUs' >&2; exit 1; }
loads=$(scripts/loads.sh)
work=$(mktemp -d)
export LOP_RUN_DIR=$work/run

# Where the kernel shares CPUs among sessions first (autogroup), a nice value only counts within a session, and the session has one of its own.
session_nice() { [ ! -e /proc/self/autogroup ] || echo "$1" >/proc/self/autogroup; }
usual=$(awk '{ print $3 }' /proc/self/autogroup 2>/dev/null || true)

restore() {
  session_nice "$usual" || true
  "$lop" amp reset >"$work/reset" && rm -rf "$work" || echo "amp-check.sh: CPU 1 may still be slow: LOP_RUN_DIR=$LOP_RUN_DIR $lop amp reset" >&2
}
trap restore EXIT

# Nothing else here takes much time.
renice -n -20 -p $$ >"$work/reset"
session_nice -20
first=(taskset -c '0,1')
out=$work/out

# sum NAME: the sum of that number over all threads of the load's report.
sum() { tr -d '\n' <"$out" | sed -E 's/.*"threads": *\[(.*)\].*/\1/' | grep -oE "\"$1\": *[0-9.]+" | awk -F: '{ sum += $2 } END { print sum + 0 }'; }

# ms [PHASE]: how long the whole load, or a phase, took.
ms() {
  tr -d '\n' <"$out" | if [ -z "${1:-}" ]; then
    sed -E 's/.*"threads": *\[(.*)\].*/\1/' | grep -oE '"(started|ended)_ms": *[0-9.]+' |
      awk -F: '{ if (/started/ && (!s || $2 < s)) s = $2; if (/ended/ && $2 > e) e = $2 } END { printf "%.1f\n", e - s }'
  else
    grep -oE "\"name\": *\"$1\"[^}]*" | grep -oE '"(started|ended)_ms": *[0-9.]+' | awk -F: '{ t[NR] = $2 } END { printf "%.1f\n", t[2] - t[1] }'
  fi
}

plain() { "${first[@]}" "$@" >"$out"; }
# under POLICY COMMAND...
under() { "${first[@]}" "$lop" run --enforce affinity --policy "$1" -- "${@:2}" >"$out"; }

# by_chance COMMAND...: binds each of $threads to CPU 0 or 1 at random, permanently; $cpus: the CPUs in order of creation.
by_chance() {
  local pid tids=() tid
  cpus=()
  "${first[@]}" "$@" >"$out" &
  pid=$!
  for _ in $(seq 200); do
    mapfile -t tids < <(find "/proc/$pid/task" -mindepth 1 -maxdepth 1 -printf '%f\n' 2>/dev/null | sort -n | grep -vx "$pid")
    [ "${#tids[@]}" -ge "$threads" ] && break
    sleep 0.01
  done
  for tid in "${tids[@]}"; do
    cpus+=($((RANDOM % 2)))
    taskset -pc "${cpus[-1]}" "$tid" >"$work/bound"
  done
  wait "$pid"
}

# longest_first LONG SHORT: the time, in units, at which two threads are done if the longer has CPU 0, and if the rest on CPU 1 moves to CPU 0 when
# that has no more work:  long + (short / slow - long) slow. Empty for more threads, which have no closed form.
longest_first() {
  [ $# = 2 ] || return 0
  printf '%s\n' "$@" | sort -rn | awk -v speed="$slow" '
    NR == 1 { long = $1; next }
    { left = $1 - long * speed; print (left > 0 ? long + left : long) }'
}

# placed LENGTH...: the same for threads on $cpus.
placed() {
  paste <(printf '%s\n' "${cpus[@]}") <(printf '%s\n' "$@") |
    awk -v speed="$slow" '{ sum[$1] += $2 } END { s = sum[1] / speed; f = sum[0]; print (f > s ? f : s) }'
}

# pair SEQUENTIAL PARALLEL: the time of a pair, in units, if its halves run at these speeds, relative to CPU 0. Taking turns with a spinning thread, a
# thread runs at (1 + slow) / 2; two threads together run at 1 + slow.
both=$(awk -v slow="$slow" 'BEGIN { print 1 + slow }') in_turn=$(awk -v slow="$slow" 'BEGIN { print (1 + slow) / 2 }')
pair() { awk -v sequential="$1" -v parallel="$2" 'BEGIN { print 0.5 / sequential + 0.5 / parallel }'; }

# placed_pair: the same for leader and follower on $cpus; the slower one determines the parallel half.
placed_pair() {
  local speeds=(1 "$slow") together=$both
  [ "${cpus[0]}" = "${cpus[1]}" ] && together=${speeds[${cpus[0]}]}
  pair "${speeds[${cpus[0]}]}" "$together"
}

# row LOAD POLICY MEASURED UNIT UNITS: UNITS is empty if no closed form is known.
row() {
  awk -v load="$1" -v how="$2" -v took="$3" -v unit="$4" -v units="$5" 'BEGIN {
    printf "%-16s %-24s %6.0f ms", load, how, took
    if (units) printf " %6.0f ms  %5.2f", units * unit, took / (units * unit); else printf " %9s  %5s", "-", "-"
    printf "\n" }' | tee -a "$work/round"
}

# lengths NAME PHASE LENGTHS COMMAND...: runs it in all three ways.
lengths() {
  local name=$1 phase=$2 lengths
  read -ra lengths <<<"$3"
  shift 3
  threads=${#lengths[@]}
  under longest-first "$@"
  row "$name" longest-first "$(ms "$phase")" "$(unit_of_lengths)" "$(longest_first "${lengths[@]}")"
  by_chance "$@"
  row "$name" random "$(ms "$phase")" "$(unit_of_lengths)" "$(placed "${lengths[@]}")"
  plain "$@"
  row "$name" linux "$(ms "$phase")" '' ''
}

unit_of_lengths() { awk -v cpu_ms="$(sum cpu_ms)" -v lengths="${lengths[*]}" \
  'BEGIN { for (n = split(lengths, length_of); n; n--) units += length_of[n]; print cpu_ms / units }'; }

registration() { lengths registration '' '7 7 7 7 6 6 5 5' "$loads/registration" --iteration-instructions 4e8; }

matmul() { lengths matmul multiply '80 160' "$loads/matmul" --size 240 --repeats 500 --threads 2 --rows 80-160; }

phases=("$loads/half-sequential" --pairs 3 --pair-instructions 4e9)
unit_of_pairs() {
  taskset -c 0 "${phases[@]}" --threads 1 >"$out"
  ms
}

# phased NAME POLICY UNITS COMMAND...
phased() {
  under "$2" "${@:4}"
  row "$1" "$2" "$(ms)" "$unit" "$3"
}

# Waiting threads sleep, so both policies see the sequential phase. Random placement may put it on the slow CPU.
half-sequential() {
  local load=("${phases[@]}" --threads 2 --waiting block)
  unit=$(unit_of_pairs)
  phased half-sequential phase "$(pair 1 "$both")" "${load[@]}"
  phased half-sequential fair-share "$(pair 1 "$both")" "${load[@]}"
  threads=2
  by_chance "${load[@]}"
  row half-sequential random "$(ms)" "$unit" "$(placed_pair)"
  plain "${load[@]}"
  row half-sequential linux "$(ms)" "$unit" ''
}

# The waiting thread spins and takes turns on the fast CPU with the one it waits for, unless one gives a hint: the waiting one that it spins, or the
# other one that all wait for it. Without LOP_HINT_DIR there are no hints.
spinner() {
  local load=("${phases[@]}" --threads 2 --waiting)
  unit=$(unit_of_pairs)
  phased spins,says-so fair-share "$(pair 1 "$both")" "${load[@]}" spin-then-notify
  phased spins,says-so phase "$(pair 1 "$both")" "${load[@]}" spin-then-notify
  phased waited-for,says phase "$(pair 1 "$both")" "${load[@]}" busy-wait
  phased spins,silent fair-share "$(pair "$in_turn" "$both")" env -u LOP_HINT_DIR "${load[@]}" busy-wait
  phased spins,silent phase "$(pair "$in_turn" "$both")" env -u LOP_HINT_DIR "${load[@]}" busy-wait
}

# clock: sets $now to three times in s: the wall clock, the time that CPUs 0 and 1 together were busy or stolen by a hypervisor, and the CPU time of
# this script's children, which a subshell would not know.
clock() {
  times >"$work/times"
  now="$EPOCHREALTIME $(awk -v hz="$(getconf CLK_TCK)" '/^cpu[01] / { busy += $2 + $3 + $4 + $7 + $8 + $9 } END { print busy / hz }' /proc/stat) $(
    tail -n 1 "$work/times" | awk -F '[ms ]+' '{ print $1 * 60 + $2 + $3 * 60 + $4 }')"
}

# others BEFORE AFTER: the share of CPUs 0 and 1, in percent, that went to others than this script and lop amp, which takes its part of CPU 1.
others() { awk -v before="$1" -v after="$2" -v slow="$slow" 'BEGIN { split(before, b); split(after, a); s = a[1] - b[1]
  print 100 * (a[2] - b[2] - (a[3] - b[3]) - s * (1 - slow)) / (2 * s) }'; }

median='
  function median(a, n,  i, j, t) {
    for (i = 1; i <= n; i++) for (j = i + 1; j <= n; j++) if (a[j] < a[i]) { t = a[i]; a[i] = a[j]; a[j] = t }
    return n % 2 ? a[(n + 1) / 2] : (a[n / 2] + a[n / 2 + 1]) / 2
  }'

# medians: prints the medians of each kind of row.
medians() {
  sort -s -k1,2 "$work/rows" | awk "$median"'
    function flush() {
      if (n) printf "%-16s %-24s %6.0f ms %9s  %5s\n", load, how, median(took, n), "", ratio[1] == "-" ? "-" : sprintf("%.2f", median(ratio, n))
      n = 0
    }
    $1 != load || $2 != how { flush() }
    { load = $1; how = $2; took[++n] = $3; ratio[n] = $5 == "-" ? "-" : $7 }
    END { flush() }'
}

# gain NOTE ROWS CLOSED WITHIN: how long the runs of ROWS took over those of fair-share without a hint, each over the one of its round. False: the median
# is further than WITHIN, a share, from the closed form.
gain() {
  awk -v note="$1" -v rows="$2" -v closed="$3" -v within="$4" "$median"'
    $1 " " $2 == rows { took[++n] = $3 }
    $1 " " $2 == "spins,silent fair-share" { over[++m] = $3 }
    END {
      for (i = 1; i <= n; i++) { ratio[i] = took[i] / over[i]; each = each (i > 1 ? ", " : "") sprintf("%.3f", ratio[i]) }
      found = median(ratio, n)
      holds = n == m && found >= closed * (1 - within) && found <= closed * (1 + within)
      printf "%-36s %.3f (%s), closed form %.2f: %s within %g %%\n", note, found, each, closed, holds ? "holds" : "does not hold", 100 * within
      exit !holds
    }' "$work/rows"
}

"$lop" amp set "1=$percent%"
printf '%-16s %-24s %9s %9s  %5s\n' load policy measured predicted ratio
good=0
for _ in $(seq $((3 * rounds))); do
  : >"$work/round"
  clock
  before=$now
  for load in registration matmul half-sequential spinner; do
    case $chosen in *" $load "*) "$load" ;; esac
  done
  clock
  share=$(others "$before" "$now")
  if awk -v share="$share" 'BEGIN { exit !(share > 5) }'; then
    printf 'disturbed, not counted: others had %.0f %% of CPUs 0 and 1\n' "$share"
    continue
  fi
  cat "$work/round" >>"$work/rows"
  good=$((good + 1))
  [ "$good" -lt "$rounds" ] || break
done
[ "$good" -gt 0 ] || { echo 'amp-check.sh: others disturbed every round; try again on an idle machine' >&2; exit 3; }
echo "medians of $good rounds"
medians
case $chosen in *' spinner '*) ;; *) exit 0 ;; esac
code=0
with_hint=$(awk -v told="$(pair 1 "$both")" -v silent="$(pair "$in_turn" "$both")" 'BEGIN { print told / silent }')
echo 'time over that of fair-share without a hint, median (each round):'
gain 'phase, who waits says that it spins' 'spins,says-so phase' "$with_hint" 0.1 || code=3
gain 'phase, nobody says anything' 'spins,silent phase' 1 0.03 || code=3
exit $code
