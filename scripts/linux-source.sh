#!/usr/bin/env bash
# SPDX-License-Identifier: GPL-2.0-only
# linux-source.sh: prints a folder with the device trees and idle tables of Linux: those of Debian's newest package linux-source-VERSION that apt knows.
# They are GPL and not ours, so they are not kept here but fetched, with apt's own client; nothing is installed. An unpacked package stays in the cache.
# LOP_LINUX_SOURCE: a source folder to use instead.
set -euo pipefail
here=$(cd "$(dirname "$0")" && pwd)
cache=${LOP_CACHE:-${XDG_CACHE_HOME:-$HOME/.cache}/lopsided}/linux-source
# What scripts/machines-from-source.py reads, and what the files there include.
parts=('*/arch/arm/boot/dts/*' '*/arch/arm64/boot/dts/*' '*/include/dt-bindings/*' '*/include/uapi/linux/input-event-codes.h'
  '*/scripts/dtc/include-prefixes/*' '*/drivers/idle/intel_idle.c')

fail() { echo "linux-source.sh: $*; or set LOP_LINUX_SOURCE to the folder of a Linux source" >&2; exit 1; }

if [ -n "${LOP_LINUX_SOURCE:-}" ]; then
  [ -d "$LOP_LINUX_SOURCE/arch/arm64/boot/dts" ] || fail "$LOP_LINUX_SOURCE has no arch/arm64/boot/dts"
  realpath "$LOP_LINUX_SOURCE"
  exit
fi

# Prints the newest unpacked source, if there is one.
kept() { [ ! -d "$cache" ] || find "$cache" -mindepth 1 -maxdepth 1 -name "linux-source-*" | sort -V | tail -n 1; }

# Prints the newest package that apt knows with these options.
newest() { apt-cache "$@" pkgnames linux-source- | grep -E '^linux-source-[0-9.]+$' | sort -V | tail -n 1; }

# download FOLDER: downloads it with the present package lists, or else with lists of its own, which needs no root.
download() {
  local options=(-o APT::Sandbox::User="$(id -un)") name
  name=$(newest "${options[@]}") || true
  if [ -z "$name" ]; then
    mkdir -p "$1/lists/partial" "$1/archives/partial"
    options+=(-o Dir::State::lists="$1/lists" -o Dir::Cache="$1/archives")
    apt-get -qq "${options[@]}" update >&2 || fail 'apt-get update failed (see above)'
    name=$(newest "${options[@]}") || fail 'apt knows no package linux-source-VERSION'
  fi
  (cd "$1" && apt-get -qq "${options[@]}" download "$name" >&2) || fail "apt-get cannot download $name (see above)"
}

found=$(kept)
if [ -z "$found" ]; then
  command -v apt-get >/dev/null || fail 'no apt-get here'
  "$here/need.sh" kernel-packages >&2
  mkdir -p "$cache"
  work=$(mktemp -d "$cache/fetch.XXXXXX")
  trap 'rm -rf "$work"' EXIT
  download "$work"
  dpkg-deb -x "$work"/linux-source-*.deb "$work/package"
  mkdir "$work/tree"
  tar -xf "$work"/package/usr/src/linux-source-*.tar.* -C "$work/tree" --wildcards "${parts[@]}" || fail 'the package has not the files that are expected'
  # Moved into place as a whole, so that an incomplete fetch never counts as a good one.
  mv "$work"/tree/linux-source-* "$cache/"
  found=$(kept)
fi
echo "$found"
