#!/usr/bin/env bash
# SPDX-License-Identifier: GPL-2.0-only
# interleave.sh FIRST LAST STEPS: the program for the kernel, natively on simulated CPUs, from seed FIRST to seed LAST, so many steps of each.
# Fails at the first seed that shows a fault, and says which; with LOP_INTERLEAVE_LOG set it prints what happens. kernel/tests/interleave/ says how.
set -euo pipefail
cd "$(dirname "$0")/.."
[ $# -eq 3 ] || { sed -n '3,4s/^# //p' "$0" >&2; exit 2; }
here=kernel/tests/interleave
out=${CARGO_TARGET_DIR:-target}/interleave
mkdir -p "$out"
# Only what the compiler calls before each access: what these calls do is in steps.c. Warnings of the program are those of its own build.
cc -std=gnu11 -O1 -w -fsanitize=thread -I$here -Ipolicy $(printf -- "-I%s " policy/*/) -c $here/program.c -o "$out/program.$$.o"
cc -std=gnu11 -O2 -Wall -Wextra -Werror -I$here $here/steps.c $here/queues.c $here/kernel.c $here/main.c "$out/program.$$.o" -o "$out/interleave.$$"
rm "$out/program.$$.o"
mv "$out/interleave.$$" "$out/interleave"
exec "$out/interleave" "$@"
