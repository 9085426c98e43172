#!/usr/bin/env bash
# SPDX-License-Identifier: GPL-2.0-only
# try.sh: opens a shell, with lop, in a guest whose kernel has sched_ext; this machine's kernel is not touched.
# Takes the options of vm/run: scripts/try.sh --cpus 8.
set -euo pipefail
cd "$(dirname "$0")/.."
[ -t 0 ] || { echo 'try.sh: this opens a shell and needs a terminal; without one: vm/run -- SCRIPT' >&2; exit 1; }
scripts/need.sh rust cc bpf
if [ -z "${LOP_BIN:-}" ]; then
  cargo build --release --locked -p lop
fi
exec vm/run --cpufreq "$@" --interactive
