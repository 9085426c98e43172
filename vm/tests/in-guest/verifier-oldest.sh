# verifier-oldest.sh: the same on the oldest kernel with sched_ext that can be had.
# guest: --cpus 4 --kernel oldest --timeout 900
verifier_takes_it
sum_up
