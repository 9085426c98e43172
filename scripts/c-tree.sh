#!/usr/bin/env bash
# SPDX-License-Identifier: GPL-2.0-only
# c-tree.sh FOLDER [FILES]: writes a small C program with a Makefile. It has 24 files with 20 functions or more, so that jobs differ in length.
set -euo pipefail
folder=$1
files=${2:-24}
{
  echo 'CFLAGS = -O2'
  printf 'objects ='
  printf ' file%d.o' $(seq "$files")
  printf '\nprogram: $(objects) main.o\n\tcc -o $@ $^\nclean:\n\trm -f *.o program\n'
} >"$folder/Makefile"
echo 'int main(void) { return 0; }' >"$folder/main.c"
for file in $(seq "$files"); do
  for function in $(seq $((20 + 2 * file))); do
    cat <<C
double f${file}_$function(double *a, int n) {
  double s = $function;
  for (int i = 0; i < n; i++) { a[i] = a[i] * s + i; s += a[(i * 7 + $file) % n] / (i + 1.5); }
  for (int j = n; j > 1; j -= 2) { if (a[j - 1] > s) s -= a[j - 2] * 0.5; else s += a[j - 1] / j; }
  return s;
}
C
  done >"$folder/file$file.c"
done
