#!/usr/bin/env bash
# demo.sh: from a clean clone to the study: builds, simulates, prints the tables, writes the HTML and says where.
set -euo pipefail
cd "$(dirname "$0")/.."
begin=$SECONDS
scripts/need.sh rust cc
echo '== building (release)'
cargo build --release --locked -p lop
lop=target/release/lop
simulated=target/lopsided-demo.html
study=target/lopsided-study.html

# Shows the command before what it prints, as a person would type it.
show() {
  echo
  echo "\$ lop $*"
  "$lop" "$@"
}

show simulate --workload recorded-build --html "$simulated"
show reproduce compile-governors compile-parallelism --html "$study"
echo
echo "Energies are modelled, times simulated; docs/model.md says what the model leaves out."
echo "In pictures: $PWD/$simulated"
echo "             $PWD/$study"
echo "The demo took $((SECONDS - begin)) s."
