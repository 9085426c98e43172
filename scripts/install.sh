#!/usr/bin/env bash
# SPDX-License-Identifier: GPL-2.0-only
# install.sh [--remove]: installs lop, its man pages, completions, unit file, licence, and the libraries of hints/ below $DESTDIR$PREFIX
# (/usr/local), or removes them. It does not build what is built already, so `make build` and then `sudo make install` works without Rust for
# root. LOP: a binary other than the release build.
set -euo pipefail
cd "$(dirname "$0")/.."
target=${CARGO_TARGET_DIR:-target}
lop=${LOP:-$target/release/lop}
library=$(realpath -m "$target")/hints
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
libraries=$root/lib                                  # the linker
headers=$root/include                                # compilers
configs=$root/lib/pkgconfig                          # pkg-config
python=$root/${PYTHON_FOLDER:-share/lopsided/python} # python3, if PYTHONPATH names it; Debian's packages use lib/python3/dist-packages

remove() {
  rm -f "$binaries/lop" "$pages"/man1/lop{,-*}.1 "$pages/man5/lop-toml.5" "$pages/man7/lopsided.7" "$bash/lop" "$zsh/_lop" "$fish/lop.fish" "$units/lopsided.service"
  rm -f "$libraries"/liblopsided{.a,.so,.so.0,-gomp.so,-ompt.so,-preload.so} "$headers/lopsided.h" "$configs/lopsided.pc" "$python/lopsided.py"
  rm -rf "$documents" "$root/share/lopsided"
  tell_linker
  echo "install.sh: removed from $root"
}

# The linker keeps a list of libraries. A package brings its own way to renew it.
tell_linker() {
  [ -n "${DESTDIR:-}" ] || [ "$(id -u)" != 0 ] || ldconfig
}

install_library() {
  make --no-print-directory --quiet -C hints OUT="$library" CLANG="$(scripts/clang.sh)" all ompt
  install -Dm644 -t "$libraries" "$library"/liblopsided{.a,.so.0,-gomp.so,-ompt.so,-preload.so}
  ln -sf liblopsided.so.0 "$libraries/liblopsided.so"
  install -Dm644 -t "$headers" hints/lopsided.h
  install -Dm644 -t "$python" hints/lopsided.py
  sed "s|@prefix@|$prefix|; s|@version@|$(sed -n 's/^version = "\(.*\)"/\1/p' Cargo.toml)|" hints/lopsided.pc.in >"$generated/lopsided.pc"
  install -Dm644 -t "$configs" "$generated/lopsided.pc"
  tell_linker
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
  install_library
  echo "install.sh: installed below $root"
}

case ${1:-} in
  '') install_all ;;
  --remove) remove ;;
  *) echo "install.sh: unknown argument '$1'; known: --remove" >&2; exit 2 ;;
esac
