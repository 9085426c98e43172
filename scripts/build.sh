#!/usr/bin/env bash
# SPDX-License-Identifier: GPL-2.0-only
# build.sh: the release build of lop, including its BPF program, and the libraries of hints/.
set -euo pipefail
cd "$(dirname "$0")/.."
scripts/need.sh rust cc bpf make openmp clang-openmp
cargo build --release --locked -p lop
make --no-print-directory --quiet -C hints OUT="$(realpath -m "${CARGO_TARGET_DIR:-target}")/hints" CLANG="$(scripts/clang.sh)" all ompt
