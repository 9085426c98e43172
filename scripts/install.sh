#!/usr/bin/env bash
# SPDX-License-Identifier: GPL-2.0-only
# install.sh [--remove]: installs lop, its man pages, completions, unit file and licence below $DESTDIR$PREFIX (/usr/local), or
# removes them. It does not build what is built already, so `make build` and then `sudo make install` works without Rust for
# root. LOP: a binary other than the release build.
set -euo pipefail
cd "$(dirname "$0")/.."
target=${CARGO_TARGET_DIR:-target}
lop=${LOP:-$target/release/lop}
prefix=${PREFIX:-/usr/local}
root=${DESTDIR:-}$prefix

# The folders, each with the program that uses it.
binaries=$root/bin
pages=$root/share/man                                # man
bash=$root/share/bash-completion/completions         # bash
zsh=$root/share/zsh/${ZSH_FOLDER:-site-functions}    # zsh; Debian's packages use vendor-completions
fish=$root/share/fish/vendor_completions.d           # fish
units=$root/lib/systemd/system                       # systemd
documents=$root/share/doc/lopsided

remove() {
  rm -f "$binaries/lop" "$pages"/man1/lop{,-*}.1 "$pages/man5/lop-toml.5" "$pages/man7/lopsided.7" "$bash/lop" "$zsh/_lop" "$fish/lop.fish" "$units/lopsided.service"
  rm -rf "$documents"
  echo "install.sh: removed from $root"
}

install_all() {
  [ -x "$lop" ] || scripts/build.sh
  generated=$(mktemp -d)

  trap 'rm -rf "$generated"' EXIT
  "$lop" generate "$generated"
  install -Dm755 "$lop" "$binaries/lop"
  for page in "$generated"/man/*; do install -Dm644 -t "$pages/man${page##*.}" "$page"; done
  install -Dm644 "$generated/completions/lop.bash" "$bash/lop"
  install -Dm644 -t "$zsh" "$generated/completions/_lop"
  install -Dm644 -t "$fish" "$generated/completions/lop.fish"
  install -Dm644 -t "$documents" README.md LICENSE
  sed "s|/usr/bin/lop|$prefix/bin/lop|" packaging/lopsided.service >"$generated/lopsided.service"
  install -Dm644 -t "$units" "$generated/lopsided.service"
  echo "install.sh: installed below $root"
}

case ${1:-} in
  '') install_all ;;
  --remove) remove ;;
  *) echo "install.sh: unknown argument '$1'; known: --remove" >&2; exit 2 ;;
esac
