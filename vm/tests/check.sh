# SPDX-License-Identifier: GPL-2.0-only
# Sourced by the tests of the guest itself: counts checks and prints a line for each.
# shellcheck shell=bash
ran=0 failed=0

# check NAME EXPECTED FOUND: if it fails, also prints the file err of $work, if that exists.
check() {
  ran=$((ran + 1))
  if [ "$2" = "$3" ]; then
    echo "ok      $1"
  else
    failed=$((failed + 1))
    printf 'FAILED  %s\n        expected: %q\n        found:    %q\n' "$1" "$2" "$3"
    [ ! -s "${work:-}/err" ] || sed 's/^/        err: /' "$work/err"
  fi
}
