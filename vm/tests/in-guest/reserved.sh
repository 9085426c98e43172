# reserved.sh: a core for the system's own work: who runs there, its speed, interrupts, and its end when it does not suffice. Judged from the
# kernel's tracepoints.
# guest: --cpus 4 --cpufreq --instruction-ns 16 --timeout 1800
# Behind lib.sh.
trace=/tmp/reserved.trace

affinities() { grep -H . /proc/irq/*/smp_affinity_list; }

reserved_is() { lop status --format json >/tmp/status && grep -q "\"reserved_cpu\": $1" /tmp/status || { cat /tmp/status; return 1; }; }

record() { lop-judge record --out $trace --buffer-kb 40960 -- "$@"; }
# The first thread of a daemon is not judged.
judge() { lop-judge check $trace --allow lop,lop-daemon reserved --cpu 0 --daemons lop-burst >/tmp/verdict; local code=$?; tail -n +2 /tmp/verdict; head -n 1 /tmp/verdict; return $code; }

without_reservation() {
  record bash -c mixed_load || return
  ! judge || return
  ! grep -q 'nothing to judge' /tmp/verdict
}

kept_apart() { record bash -c mixed_load && judge; }

# Those that the machine does not bind are all at the reserved CPU, and there are some.
interrupts_are_there() {
  affinities | awk -F: 'FNR == NR { before[$1] = $2; next } $2 == before[$1] { stay++ } $2 != before[$1] && $2 == 0 { moved++ } $2 != before[$1] && $2 != 0 { astray++ }
    END { print moved + 0, "moved,", stay + 0, "stayed,", astray + 0, "elsewhere"; exit !(moved && !astray) }' /tmp/affinities -
}

affinities_are_back() { affinities | diff /tmp/affinities - ; }

bound_runs() { lop-load pinned --cpu 0 --rounds 5 >/dev/null; }

speed_of_reserved() { [ "$(cat /sys/devices/system/cpu/cpu0/cpufreq/scaling_setspeed)" = "$1" ]; }

# The CPU is raised first; 100 ms after that was decided it does not suffice at that speed either, and a daemon runs elsewhere.
raised_then_given_up() {
  record bash -c saturate || return
  awk -v top="$1" '
    $3 == "name" && $6 == "\"lop-hog\"" { hog[$4] = 1 }
    $3 == "speed" && $4 == 0 && $5 == top && !raised { raised = $1 }
    $3 == "switch" && $2 != 0 && ($6 in hog) && !elsewhere { elsewhere = $1 }
    END { printf "raised at %d ms, given up at %d ms\n", raised / 1e6, elsewhere / 1e6
      exit !(raised && elsewhere && elsewhere - raised >= 50e6 && elsewhere - raised < 2e9) }' $trace
}

said_given_up() {
  grep -q 'CPU 0 is reserved no longer' /tmp/lop.log && reserved_is null && lop status | grep '^reserved'
}

none_below_four() {
  begin_lop --policy reserved-core || return
  reserved_is null && grep -- 'fewer than four' /tmp/lop.log
}

make_daemons
set_governor userspace
affinities >/tmp/affinities
snapshot_cpufreq >/tmp/cpufreq.before
top=$(cat /sys/devices/system/cpu/cpu0/cpufreq/scaling_max_freq) low=$(cat /sys/devices/system/cpu/cpu0/cpufreq/scaling_min_freq)
expect 'without a reserved core the check does not hold' without_reservation
expect 'attached' begin_lop --policy reserved-core
grep '^reserved' /tmp/lop.log
expect 'CPU 0 is reserved' reserved_is 0
expect 'it runs at its lowest speed' wait_for 10 speed_of_reserved "$low"
expect 'interrupts go there, as far as the machine lets them' interrupts_are_there
expect 'user threads below 0.1 % on it, threads of the system below 1 % elsewhere' kept_apart
expect 'what is bound to it runs' bound_runs
expect 'a load that saturates it raises its speed, and 100 ms later gives the reservation up' raised_then_given_up "$top"
expect 'that is said' said_given_up
expect 'interrupts are back' wait_for 10 affinities_are_back
expect 'then the check does not hold' without_reservation
expect 'no watchdog exit, no restart' still_in_charge
expect 'ended' ended_by INT
expect 'speeds are as they were' same_cpufreq /tmp/cpufreq.before
expect 'three cores: a CPU goes' offline 3
expect 'three cores: none is reserved unless it is asked for' none_below_four
expect 'three cores: ended' ended_by INT
expect 'the kernel has nothing to complain of' kernel_is_well
sum_up
