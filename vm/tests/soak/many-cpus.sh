# SPDX-License-Identifier: GPL-2.0-only
# many-cpus.sh: 64 CPUs in two sockets.
# guest: --cpus 64 --sockets 2 --timeout 5400

attached_in_time() { needed begin_lop && time_of_attaching; }

figure "attaches within 3 s with 64 CPUs, by the guest's slowness" attached_in_time
expect 'ops names lopsided' scheduler_is lopsided
expect 'each CPU in one set' every_cpu_in_one_set 64
expect 'Ctrl-C ends it' ended_by INT
expect "the kernel's own scheduler is back" scheduler_is_none
expect 'no warning of the kernel' kernel_is_well
sum_up
