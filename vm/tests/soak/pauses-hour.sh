# SPDX-License-Identifier: GPL-2.0-only
# pauses-hour.sh: an hour of the threads of pauses.sh: the kernel's watchdog never ends the scheduler. Coarse instructions: only how time is divided
# counts here.
# guest: --cpus 4 --instruction-ns 32 --timeout 10800
# Behind lib.sh.

hour() { lop-load hogs 8 --filtered 2 --test-runs 1 --seconds 3600 --max-gap-ms 10000 >/tmp/hour.json 2>/tmp/hour.err || { cat /tmp/hour.err; return 1; }; }
gaps() { sed -n 's/^ *"\([a-z_]*_gap_ms\)": \([0-9.]*\),*$/\1 \2/p' /tmp/hour.json | xargs; }

expect 'lop start' begin_lop
expect 'an hour: no thread waits for 10 s' hour
figure 'the longest pauses' gaps
expect 'no watchdog exit, no restart' still_in_charge
expect 'Ctrl-C ends it' ended_by INT
expect 'no warning of the kernel' kernel_is_well
sum_up
