#!/usr/bin/env bash
# SPDX-License-Identifier: GPL-2.0-only
# build.sh: the release build of lop, including its BPF program.
set -euo pipefail
cd "$(dirname "$0")/.."
scripts/need.sh rust cc bpf
cargo build --release --locked -p lop
