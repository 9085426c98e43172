# SPDX-License-Identifier: GPL-2.0-only
# Sourced by checks that print every finding and fail at the end if there was one.
# shellcheck shell=bash
findings=0

finding() {
  echo "$1"
  findings=$((findings + 1))
}

# end_of_findings CHECK: fails if there were findings.
end_of_findings() { [ "$findings" = 0 ] || { echo "$1: $findings findings"; exit 1; }; }
