# SPDX-License-Identifier: GPL-2.0-only
# compare.sh: lop compare with the kernel's scheduler: a policy is only in charge of its own runs, energy comes from the model, and however it ends,
# the kernel's scheduler and the speeds are restored and the measurements kept.
# guest: --cpus 4 --cpufreq --timeout 1200
# Behind lib.sh.
journal=/tmp/journal

# Prints which scheduler is in charge while it runs.
who='cat /sys/kernel/sched_ext/root/ops >>/tmp/ops 2>/dev/null || echo nobody >>/tmp/ops'

options='--policy linux,highlow-spare --model phenom-9750 --idle 0'

each_in_its_rounds() {
  # shellcheck disable=SC2086  # words
  lop compare $options -r 2 --export-json /tmp/compare.json "$who; lop-load bursts --count 6 --threads 2 --idle-ms 20..40" >/tmp/compare.txt 2>&1 || { cat /tmp/compare.txt; return 1; }
  cat /tmp/compare.txt >&2
  sed 's/_.*//' /tmp/ops | sort | uniq -c | xargs | tee /tmp/who
  [ "$(cat /tmp/who)" = '2 lopsided 2 nobody' ]
}

says_by_whom() { grep 'in force by the kernel (sched_ext)' /tmp/compare.txt; }
says_modelled() { grep -o 'energy: modelled from phenom-9750' /tmp/compare.txt | head -n 1 && grep -c '"meter": "modelled"' /tmp/compare.json; }
as_before() { scheduler_is_none && same_cpufreq /tmp/cpufreq.before; }

# After at least one run is over, the next one under the policy lasts, since a check for a short one may always be too late.
stays='if [ -e /tmp/may_stay ] && [ -e /sys/kernel/sched_ext/root/ops ]; then touch /tmp/stays; sleep 100000; fi'
begin_long() {
  rm -f "$journal" /tmp/may_stay /tmp/stays
  # shellcheck disable=SC2086  # words
  lop compare $options -r 50 --journal "$journal" "$stays" >/tmp/long.txt 2>&1 &
  comparison=$!
  wait_for has_runs && touch /tmp/may_stay && wait_for test -e /tmp/stays && scheduler_is lopsided
}
has_runs() { grep -q '"time_s"' "$journal"; }
kept() { grep -c '"time_s"' "$journal"; }
ended_with() { kill -"$1" "$comparison" && ends "$comparison"; echo "exit code $end_code"; [ "$end_code" = "$2" ]; }
begins_again() { begin_lop --policy highlow-spare && ended_by INT; }

refuses_beside_another() {
  begin_lop --policy highlow-spare || return
  # shellcheck disable=SC2086  # words
  lop compare $options -r 1 true >/tmp/refused 2>&1 && { ended_by INT; say_and_fail 'it ran'; return 1; }
  cat /tmp/refused
  ended_by INT && grep -q 'Lopsided is running already' /tmp/refused
}

set_governor userspace
snapshot_cpufreq >/tmp/cpufreq.before
expect 'each policy is in force in its own rounds alone' each_in_its_rounds
expect 'it says who puts it in force' says_by_whom
expect 'energy is called modelled, in text and in JSON' says_modelled
expect 'the scheduler of the kernel and the speeds are back' as_before
expect 'a long one begins' begin_long
expect 'Ctrl-C ends it in the middle of a run' ended_with INT 130
expect 'what was measured is kept' kept
expect 'the scheduler of the kernel and the speeds are back then' as_before
expect 'another begins' begin_long
expect 'it is killed in the middle of a run' ended_with KILL 137
expect 'what it measured is kept' kept
expect 'the scheduler of the kernel is back at once' wait_for scheduler_is_none
expect 'the next start puts speeds back' begins_again
expect 'speeds are as they were' same_cpufreq /tmp/cpufreq.before
expect 'beside another scheduler it refuses and says which' refuses_beside_another
expect 'the kernel has nothing to complain of' kernel_is_well
sum_up
