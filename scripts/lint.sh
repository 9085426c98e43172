#!/usr/bin/env bash
# SPDX-License-Identifier: GPL-2.0-only
# lint.sh: format, clippy, the rules of policy/ and of the house. The quick part of `make test`, which runs the same stages.
set -euo pipefail
cd "$(dirname "$0")/.."
. scripts/stages.sh
scripts/need.sh rust cc bpf
stages_of_lint
finish
