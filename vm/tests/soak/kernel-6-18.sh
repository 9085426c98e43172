# SPDX-License-Identifier: GPL-2.0-only
# kernel-6-18.sh: Linux 6.18, between the oldest kernel and the newest: the scheduler attaches, places tasks and detaches.
# guest: --kernel 6.18 --cpus 8 --instruction-ns 8 --timeout 5400

expect 'starts' begin_lop --policy highlow-spare
expect 'a woken task runs on the CPU that it has claimed' placed kernel-6-18
spin 16
expect 'sixteen busy tasks get on' all_get_on
end_spinners
expect 'Ctrl-C ends it' ended_by INT
expect 'no warning of the kernel' kernel_is_well
sum_up
