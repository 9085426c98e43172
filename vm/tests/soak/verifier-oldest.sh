# SPDX-License-Identifier: GPL-2.0-only
# verifier-oldest.sh: like verifier.sh, on the oldest available kernel with sched_ext.
# guest: --cpus 4 --kernel oldest --sockets 2 --max-mhz 3000,2000,3000,2000 --timeout 5400
verifier_takes_it
sum_up
