# SPDX-License-Identifier: GPL-2.0-only
# judge-in-guest.sh: checks that recorder and checks distinguish top speed from low speed on a real kernel. Runs after lib.sh in a guest with cpufreq
# and at least 2 CPUs; speeds are set by hand, so the right verdicts are known. See judge-test.sh.
failed=0

# verdict EXPECTED-CODE CHECK...: the verdict on the last recording.
verdict() {
  local expected=$1 code=0
  shift
  lop-judge check /tmp/recorded.trace "$@" >/tmp/verdict 2>&1 || code=$?
  if [ "$code" = "$expected" ]; then echo "ok      $*: $expected"; return; fi
  failed=$((failed + 1))
  echo "FAILED  $*: exit code $code, expected $expected"
  cat /tmp/verdict
  cp /tmp/recorded.trace "/out/${*// /-}.trace"
}

# speeds maximum | minimum: of every CPU.
speeds() {
  local policy
  for policy in /sys/devices/system/cpu/cpu*/cpufreq; do cat "$policy/cpuinfo_$1_freq" >"$policy/scaling_setspeed"; done
}

record_bursts() {
  lop-judge record --out /tmp/recorded.trace "$@" -- lop-load bursts --count 5 --busy-ms 20 --idle-ms 5..20 >/dev/null
}

set_governor userspace || exit 1
speeds max
record_bursts
verdict 0 bursts
verdict 0 low
verdict 0 lost --limit-s 3600
verdict 0 delay
verdict 1 shrink
speeds min
record_bursts
verdict 1 bursts
verdict 1 low
if record_bursts --buffer-kb 4 --events sched_switch,sched_wakeup,no_such_event 2>/dev/null; then
  failed=$((failed + 1)); echo 'FAILED  an unknown event is refused'
fi
[ "$failed" = 0 ]
