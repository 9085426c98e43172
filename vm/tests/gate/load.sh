# SPDX-License-Identifier: GPL-2.0-only
# load.sh: the verifier of the newest kernel accepts the program for 512 CPUs, without rules, and with all rules and a log, which needs the deepest
# stack; without isolated CPUs and with one.
# It prints the instructions for each program; scripts/verifier-counts.sh, in soak, compares them with kernel/verifier.tsv.
# guest: --cpus 4 --sockets 2 --max-mhz 3000,2000,3000,2000 --timeout 1200
expect 'without rules' counts_as 8 no --policy highlow-spare
expect 'with all rules, logged' counts_as 8 all --policy auto --reserve asked --log-decisions /tmp/decisions.log
expect 'with lists, logged' loads_with_log --policy longest-first --cpu-words 8
expect 'a partition of one CPU' isolate 3
expect 'with isolated CPUs and all rules, logged' loads_with_log --policy auto --reserve asked --cpu-words 8
expect 'no warning of the kernel' kernel_is_well
cat /tmp/counts
sum_up
