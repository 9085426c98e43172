#!/usr/bin/env bash
# SPDX-License-Identifier: GPL-2.0-only
# deb.sh: builds the Debian package and prints its path. cargo-deb packs what install.sh installs.
# LOP: a binary other than the release build.
set -euo pipefail
cd "$(dirname "$0")/.."
target=${CARGO_TARGET_DIR:-target}
cargo_deb_version=3.8.0
tools=$target/tools
tree=$target/release/package

scripts/need.sh dpkg-dev >&2
if ! "$tools/bin/cargo-deb" --version 2>/dev/null | grep -qx "cargo-deb $cargo_deb_version"; then
  echo "deb.sh: installing cargo-deb $cargo_deb_version into $tools" >&2
  cargo install --quiet --locked --root "$tools" cargo-deb --version "$cargo_deb_version"
fi
[ -n "${LOP:-}" ] || scripts/build.sh
rm -rf "$tree"
DESTDIR=$tree PREFIX=/usr ZSH_FOLDER=vendor-completions PYTHON_FOLDER=lib/python3/dist-packages scripts/install.sh >&2
gzip -9n "$tree"/usr/share/man/man?/*
strip --strip-unneeded "$tree/usr/bin/lop" "$tree"/usr/lib/liblopsided{.so.0,-gomp.so,-ompt.so,-preload.so}
strip --strip-debug "$tree/usr/lib/liblopsided.a"
# Prints the path.
"$tools/bin/cargo-deb" --quiet --package lop --no-build --locked
