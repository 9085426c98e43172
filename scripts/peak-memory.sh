#!/usr/bin/env bash
# SPDX-License-Identifier: GPL-2.0-only
# peak-memory.sh [--limit-mib N] COMMAND...: runs the command without showing its output, prints its elapsed time and peak resident
# memory, and fails if it fails or needs more than N MiB.
set -euo pipefail
limit=
if [ "${1:-}" = --limit-mib ]; then limit=$2; shift 2; fi
[ $# -gt 0 ] || { echo 'peak-memory.sh: expected a command' >&2; exit 2; }
[ -x /usr/bin/time ] || { echo 'peak-memory.sh: /usr/bin/time is missing; Debian: time' >&2; exit 1; }
measured=$(mktemp)
trap 'rm -f "$measured"' EXIT
/usr/bin/time -f '%M %e' -o "$measured" "$@" >/dev/null
read -r kib seconds <"$measured"
mib=$(((kib + 1023) / 1024))
echo "peak memory $mib MiB, $seconds s: $*"
if [ -n "$limit" ] && [ "$mib" -gt "$limit" ]; then
  echo "peak-memory.sh: more than $limit MiB" >&2
  exit 1
fi
