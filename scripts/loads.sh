#!/usr/bin/env bash
# SPDX-License-Identifier: GPL-2.0-only
# loads.sh [--cc COMPILER] [--sanitize KINDS] [--out FOLDER]: builds the changed programs of loads/, and prints their folder, by
# default target/loads. KINDS are those of the compiler's -fsanitize=.
set -euo pipefail
cd "$(dirname "$0")/.."
cc=cc
sanitize=
out=${CARGO_TARGET_DIR:-target}/loads

usage() {
  echo "loads.sh: $1; usage: loads.sh [--cc COMPILER] [--sanitize KINDS] [--out FOLDER]" >&2
  exit 2
}

while [ $# -gt 0 ]; do
  [ $# -ge 2 ] || usage "$1 lacks a value"
  case $1 in
    --cc) cc=$2 ;;
    --sanitize) sanitize=$2 ;;
    --out) out=$2 ;;
    *) usage "there is no option '$1'" ;;
  esac
  shift 2
done

scripts/need.sh cc openmp make >&2
[ -z "$sanitize" ] || scripts/need.sh sanitizers >&2
case $cc in *clang*) scripts/need.sh clang clang-openmp >&2 ;; esac
out=$(realpath -m "$out")
make --no-print-directory --quiet -C loads CC="$cc" SANITIZE="$sanitize" OUT="$out" >&2
echo "$out"
