#!/usr/bin/env bash
# SPDX-License-Identifier: GPL-2.0-only
# readme.sh [--check]: writes into README.md what the command in its comment prints, up to the published figures. With --check it only compares.
set -euo pipefail
cd "$(dirname "$0")/.."
page=README.md
PATH=$(scripts/built.sh):$PATH
command=$(sed -n 's/^<!-- \(lop .*\) -->$/\1/p' "$page")
printed=$($command | sed '/^Published/,$d')
renewed=$(printed=$printed awk '
  /^<!-- lop / { print; print "```"; print ENVIRON["printed"]; print "```"; skipped = 1 }
  /^<!-- end -->/ { skipped = 0 }
  !skipped' "$page")
if [ "${1:-}" != --check ]; then
  echo "$renewed" >"$page"
elif ! diff -u "$page" - <<<"$renewed"; then
  echo "readme: $page is not what '$command' prints; scripts/readme.sh renews it"
  exit 1
fi
