# SPDX-License-Identifier: GPL-2.0-only
# verifier.sh: the verifier of the newest kernel accepts the program, without rules, with all of them, and with all of them and a log.
# guest: --cpus 4 --sockets 2 --max-mhz 3000,2000,3000,2000 --timeout 5400
verifier_takes_it
sum_up
