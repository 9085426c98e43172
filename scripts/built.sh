#!/usr/bin/env bash
# SPDX-License-Identifier: GPL-2.0-only
# built.sh: prints the folder with debug builds of lop, lop-load and lop-judge. Builds what changed, unless LOP_BUILT names a folder.
# This one command builds everything that `make test` runs: another choice of packages would have other features, and rebuild most of it.
set -euo pipefail
cd "$(dirname "$0")/.."
if [ -z "${LOP_BUILT:-}" ]; then
  cargo build --locked --workspace --bins --tests --examples >&2
fi
echo "${LOP_BUILT:-$(realpath "${CARGO_TARGET_DIR:-target}")/debug}"
