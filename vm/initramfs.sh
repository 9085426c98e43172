#!/usr/bin/env bash
# SPDX-License-Identifier: GPL-2.0-only
# initramfs.sh base KERNEL-FOLDER: prints the cached base archive for that kernel, creating it if necessary.
# initramfs.sh extra FOLDER BINARY...: writes to standard output an archive of FOLDER's content and, in /usr/local/bin, of
# the binaries with their libraries. Archives may be concatenated: the kernel unpacks one after the other.
set -euo pipefail
here=$(cd "$(dirname "$0")" && pwd)
cache=${LOP_CACHE:-${XDG_CACHE_HOME:-$HOME/.cache}/lopsided}

fail() { echo "vm/initramfs.sh: $*" >&2; exit 1; }

# archive FOLDER [OPTION...]: with -L it follows links, so a tree of links is enough for an archive of big files.
archive() {
  (cd "$1" && find "${@:2}" . -mindepth 1 | LC_ALL=C sort | cpio --quiet -o -H newc -R 0:0 "${@:2}")
}

# Paths of a binary's libraries, including the loader; empty for a script or a static binary.
libraries() {
  local listing
  listing=$(ldd "$1" 2>/dev/null) || return 0
  if grep -q 'not found' <<<"$listing"; then fail "$1 lacks a library here: $(grep 'not found' <<<"$listing" | head -n 1)"; fi
  grep -oE '/[^ ]+' <<<"$listing" | sort -u
}

# link_binary FILE TREE FOLDER: links the binary into a folder of the tree, and its libraries to where it looks for them.
link_binary() {
  local file=$1 tree=$2 folder=$3 library
  mkdir -p "$tree/$folder"
  ln -sf "$(realpath "$file")" "$tree/$folder/$(basename "$file")"
  for library in $(libraries "$file"); do
    mkdir -p "$tree$(dirname "$library")"
    ln -sf "$(realpath "$library")" "$tree$library"
  done
}

# Binaries that every guest has. bash runs the scripts, since busybox's shell prefers its own applets to programs on PATH.
base_binaries() {
  command -v busybox || fail 'busybox is missing; Debian: busybox-static'
  command -v bash
}

base_files() {
  local kernel=$1 tree=$2 release binary
  release=$(cat "$kernel/release")
  mkdir -p "$tree/boot" "$tree/etc" "$tree/vm"
  for binary in $(base_binaries); do link_binary "$binary" "$tree" bin; done
  ln -s "$here/guest-init" "$tree/init"
  ln -s "$kernel/modules" "$tree/vm/modules"
  [ ! -e "$kernel/config" ] || ln -s "$kernel/config" "$tree/boot/config-$release"
  echo 'root:x:0:0:root:/root:/bin/bash' >"$tree/etc/passwd"
  echo 'root:x:0:' >"$tree/etc/group"
  echo '127.0.0.1 localhost' >"$tree/etc/hosts"
}

base_links() {
  local tree=$1 applet
  mkdir -p "$tree"/{bin,sbin,usr/bin,usr/sbin,proc,sys,dev,run,tmp,root,out}
  for applet in $(busybox --list-full | grep -vx bin/busybox); do ln -s /bin/busybox "$tree/$applet"; done
}

# A hash of everything in a base: a new busybox, kernel or init leads to a new base.
base_hash() {
  local kernel=$1
  { cat "$0" "$here/guest-init"
    find "$kernel" -type f -exec sha256sum {} +
    base_binaries | xargs sha256sum; } | sha256sum | cut -c1-16
}

base() {
  local kernel=$1 file work
  mkdir -p "$cache/vm"
  file=$cache/vm/base-$(base_hash "$kernel").cpio
  if [ ! -e "$file" ]; then
    work=$(mktemp -d "$cache/vm/new.XXXXXX")
    # shellcheck disable=SC2064  # expands now
    trap "rm -rf '$work'" EXIT
    base_files "$kernel" "$work/files"
    base_links "$work/links"
    { archive "$work/files" -L; archive "$work/links"; } >"$work/base.cpio"
    mv "$work/base.cpio" "$file"
  fi
  echo "$file"
}

extra() {
  local folder=$1 binary
  for binary in "${@:2}"; do link_binary "$binary" "$folder" usr/local/bin; done
  archive "$folder" -L
}

case ${1:-} in
  base | extra) "$@" ;;
  *) fail 'usage: initramfs.sh base KERNEL-FOLDER | extra FOLDER BINARY...' ;;
esac
