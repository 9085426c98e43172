# verifier.sh: the default kernel.
# guest: --cpus 4 --timeout 2400
verifier_takes_it
sum_up
