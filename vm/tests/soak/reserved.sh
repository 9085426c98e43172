# SPDX-License-Identifier: GPL-2.0-only
# reserved.sh: a core for the system's own work: which tasks run there, and when it is given up. Judged from the kernel's tracepoints.
# guest: --cpus 4 --cpufreq --instruction-ns 16 --timeout 5400
# Behind lib.sh.
trace=/tmp/reserved.trace

reserved_is() { lop status --format json >/tmp/status && grep -q "\"reserved_cpu\": $1" /tmp/status || { cat /tmp/status; return 1; }; }

record() { lop-judge record --out $trace --buffer-kb 40960 -- "$@"; }
# The first thread of a daemon is not judged.
judge() { lop-judge check $trace --allow lop,lop-daemon reserved --cpu 0 --daemons lop-burst >/tmp/verdict; local code=$?; tail -n +2 /tmp/verdict; head -n 1 /tmp/verdict; return $code; }

without_reservation() {
  needed record bash -c mixed_load || return
  ! judge || return
  ! grep -q 'nothing to judge' /tmp/verdict
}

kept_apart() { needed record bash -c mixed_load && judge; }

# After an attachment the kernel's own work may saturate the reserved core in an emulated machine, and then there is none: attached anew.
undisturbed() {
  local turn
  for turn in 1 2 3; do
    reserved_is 0 && return
    needed ended_by INT && needed begin_lop --policy reserved-core && sleep 2 || return
  done
  return 1
}
kept_apart_or_again() { kept_apart || { reserved_is 0 && return 1; undisturbed && kept_apart; }; }

# The CPU is raised first; 100 ms after that was decided it does not suffice at that speed either, and a daemon runs elsewhere.
raised_then_given_up() {
  needed record bash -c saturate || return
  awk -v top="$1" '
    $3 == "name" && $6 == "\"lop-hog\"" { hog[$4] = 1 }
    $3 == "speed" && $4 == 0 && $5 == top && !raised { raised = $1 }
    $3 == "switch" && $2 != 0 && ($6 in hog) && !elsewhere { elsewhere = $1 }
    END { printf "raised at %d ms, given up at %d ms\n", raised / 1e6, elsewhere / 1e6
      exit !(raised && elsewhere && elsewhere - raised >= 50e6 && elsewhere - raised < 2e9) }' $trace
}

make_daemons
set_governor userspace
top=$(cat /sys/devices/system/cpu/cpu0/cpufreq/scaling_max_freq)
figure 'without a reserved core the check does not hold' without_reservation
expect 'attached' begin_lop --policy reserved-core
figure 'CPU 0 is reserved' reserved_is 0
figure 'user threads below 0.1 % on it, threads of the kernel below 1 % elsewhere, and daemons too' kept_apart_or_again
figure 'CPU 0 is still reserved' undisturbed
figure 'a load that saturates it raises its speed, and 100 ms later gives the reservation up' raised_then_given_up "$top"
figure 'then the check does not hold' without_reservation
expect 'no watchdog exit, no restart' still_in_charge
expect 'ended' ended_by INT
expect 'the kernel has nothing to complain of' kernel_is_well
sum_up
