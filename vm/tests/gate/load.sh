# SPDX-License-Identifier: GPL-2.0-only
# load.sh: the verifier of the newest kernel accepts the program for 512 CPUs with all rules and a log, which needs the deepest stack; without
# isolated CPUs and with one. The soak groups verifier and verifier-oldest have less, too.
# It prints the instructions for each program; those that are kept in kernel/verifier.tsv are of the two soak groups.
# guest: --cpus 4 --sockets 2 --max-mhz 3000,2000,3000,2000 --timeout 1200
expect 'the program gets temperatures' false_sensors
expect 'with all rules, logged' counts_as 8 logged --policy auto --reserve asked --log-decisions /tmp/decisions.log
expect 'a partition of one CPU' isolate 3
expect 'with isolated CPUs and all rules, logged' loads_with_log --policy auto --reserve asked --cpu-words 8
expect 'no warning of the kernel' kernel_is_well
cat /tmp/counts
sum_up
