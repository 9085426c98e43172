# SPDX-License-Identifier: GPL-2.0-only
# Sourced by mutants.sh and policy-faults.sh: a copy of the last commit, with uncommitted changes to files that git knows, that may be altered.
# shellcheck shell=bash

# copy_tree FOLDER: makes the copy, or brings it up to date, and enters it.
copy_tree() {
  local commit
  commit=$(git -c user.name=mutants -c user.email=mutants@localhost stash create || true)
  mkdir -p "${1%/*}"
  [ -d "$1/.git" ] || git clone --quiet --shared . "$1"
  git -C "$1" checkout --quiet --force --detach "${commit:-$(git rev-parse HEAD)}"
  cd "$1" || return
  git clean --quiet -fd
}
