#!/usr/bin/env bash
# SPDX-License-Identifier: GPL-2.0-only
# accel.sh: prints kvm if a guest really boots under KVM within 5 minutes, else tcg. The answer is cached for this host kernel and
# this QEMU. /dev/kvm alone says little: inside other virtual machines it may exist but not run a stock guest.
set -euo pipefail
here=$(cd "$(dirname "$0")" && pwd)
cache=${LOP_CACHE:-${XDG_CACHE_HOME:-$HOME/.cache}/lopsided}

probe() {
  local code=0
  LOP_VM_ACCEL=kvm LOP_BIN=$(type -P true) "$here/run" --cpus 2 --timeout 300 -- 'exit 42' >/dev/null 2>&1 || code=$?
  [ "$code" = 42 ]
}

# A machine without usable /dev/kvm today may have it tomorrow, so this answer is not cached.
if [ ! -w /dev/kvm ]; then
  echo tcg
  exit
fi
key=$({ uname -r; qemu-system-x86_64 --version; cat "$here/kernels.tsv"; } | sha256sum | cut -c1-16)
answer=$cache/vm/accel-$key
if [ ! -e "$answer" ]; then
  mkdir -p "$cache/vm"
  found=tcg
  if probe; then found=kvm; fi
  echo "$found" >"$answer.$$"
  mv "$answer.$$" "$answer"
fi
cat "$answer"
