#!/usr/bin/env bash
# SPDX-License-Identifier: GPL-2.0-only
# demo.sh: from a clean clone to a study: builds, simulates, prints the tables, writes the HTML and tells where.
set -euo pipefail
cd "$(dirname "$0")/.."
begin=$SECONDS
scripts/need.sh rust cc bpf
echo '== building (release)'
cargo build --release --locked -p lop
lop=target/release/lop
page=target/lopsided-demo.html

# Shows the command, as a user would type it, and then its output.
show() {
  echo
  echo "\$ lop $*"
  "$lop" "$@"
}

show reproduce recorded-build compile-governors compile-parallelism --html "$page"
echo
echo "Energies are modelled, times simulated; docs/model.md says what the model leaves out."
echo "In pictures: $PWD/$page"
echo "The demo took $((SECONDS - begin)) s."
