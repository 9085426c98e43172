# verifier-oldest.sh: the same on the oldest kernel with sched_ext that can be had.
# guest: --cpus 4 --kernel oldest --timeout 2400
verifier_takes_it
sum_up
