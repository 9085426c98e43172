#!/usr/bin/env bash
# SPDX-License-Identifier: GPL-2.0-only
# interleave.sh FIRST LAST STEPS: runs the kernel's program natively on simulated CPUs, with seeds FIRST to LAST and STEPS steps for each. Fails at
# the first seed that shows a fault, and prints it; with LOP_INTERLEAVE_LOG set it prints what happens. kernel/tests/interleave/ explains how it works.
set -euo pipefail
cd "$(dirname "$0")/.."
[ $# -eq 3 ] || { sed -n '3,4s/^# //p' "$0" >&2; exit 2; }
here=kernel/tests/interleave
out=${CARGO_TARGET_DIR:-target}/interleave
mkdir -p "$out"
# The compiler only inserts the calls before each access; steps.c implements them. The program's warnings belong to its own build.
cc -std=gnu11 -O1 -w -fsanitize=thread -I$here -Ipolicy $(printf -- "-I%s " policy/*/) -c $here/program.c -o "$out/program.$$.o"
cc -std=gnu11 -O2 -Wall -Wextra -Werror -I$here -Ipolicy $here/steps.c $here/queues.c $here/kernel.c $here/main.c "$out/program.$$.o" -o "$out/interleave.$$"
rm "$out/program.$$.o"
mv "$out/interleave.$$" "$out/interleave"
exec "$out/interleave" "$@"
