#!/usr/bin/env bash
# SPDX-License-Identifier: GPL-2.0-only
# Prints the clang to use: clang-19 if installed, else the newest from 16 on. Fails if there is none.
set -euo pipefail
for name in clang-19 clang-22 clang-21 clang-20 clang-18 clang-17 clang-16 clang; do
  command -v "$name" >/dev/null || continue
  major=$("$name" -dumpversion | cut -d. -f1)
  [ "${major:-0}" -ge 16 ] || continue
  echo "$name"
  exit 0
done
echo 'clang.sh: no clang of version 16 or later; Debian: clang-19' >&2
exit 1
