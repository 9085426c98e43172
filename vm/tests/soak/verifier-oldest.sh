# SPDX-License-Identifier: GPL-2.0-only
# verifier-oldest.sh: what verifier.sh shows, on the oldest kernel with sched_ext that can be had.
# guest: --cpus 4 --kernel oldest --sockets 2 --max-mhz 3000,2000,3000,2000 --timeout 5400
verifier_takes_it
sum_up
