#!/usr/bin/env bash
# SPDX-License-Identifier: GPL-2.0-only
# kernel.sh [VERSION|PATH]: prints the folder of a kernel: vmlinuz, config (if available), modules/ and release.
# Without argument: the default of kernels.tsv. VERSION may be shortened (6.18: the newest of these). --list prints the table.
# Fetches Debian's package with apt's own client from the mirror that this machine uses, into a private apt directory; nothing
# is installed. LOP_DEBIAN_MIRROR names a mirror if none is configured.
set -euo pipefail
here=$(cd "$(dirname "$0")" && pwd)
cache=${LOP_CACHE:-${XDG_CACHE_HOME:-$HOME/.cache}/lopsided}
table=$here/kernels.tsv
keyring=/usr/share/keyrings/debian-archive-keyring.gpg
modules='acpi-cpufreq cpufreq_ondemand cpufreq_conservative cpufreq_userspace cpufreq_powersave cpufreq_performance pktgen'

fail() { echo "vm/kernel.sh: $*" >&2; exit 1; }

# The cache folder of a version with these modules.
kept() { echo "$cache/kernels/$1.$(echo "$modules" | sha256sum | cut -c1-8)"; }

# The kernels of the table, best first: version, suite, verdict.
rows() { grep -v '^#' "$table"; }

list() {
  printf '%-34s %-18s %-10s %s\n' version suite verdict 'what was seen'
  rows | while IFS=$'\t' read -r version suite verdict seen; do
    printf '%-34s %-18s %-10s %s\n' "$version" "$suite" "$verdict" "$seen"
  done
}

mirror() {
  local found
  found=${LOP_DEBIAN_MIRROR:-}
  [ -n "$found" ] || found=$(apt-get indextargets --format '$(REPO_URI)' 'Created-By: Packages' |
    grep -E '/debian/?$' | sort -u | head -n 1) || true
  [ -n "$found" ] || fail 'apt here knows no Debian mirror; set LOP_DEBIAN_MIRROR to one, or give --kernel PATH'
  echo "$found"
}

# Suites with a working kernel; other suites may be out of date.
suites() { rows | awk -F'\t' '$3 == "loads" { print $2 }' | sort -u; }
suite_of() { rows | awk -F'\t' -v version="$1" '$1 == version { print $2; exit }'; }

# write_apt_directory FOLDER SUITE... A mirror that is no longer updated will do: its packages are still signed, and an old kernel does no
# harm in a guest.
write_apt_directory() {
  local apt=$1 suite from
  shift
  from=$(mirror)
  mkdir -p "$apt/lists/partial" "$apt/cache/archives/partial" "$apt/parts"
  touch "$apt/status"
  for suite in "$@"; do
    echo "deb [arch=amd64 signed-by=$keyring] $from $suite main"
  done >"$apt/sources.list"
  cat >"$apt/apt.conf" <<EOF
Dir::State "$apt";
Dir::State::status "$apt/status";
Dir::Cache "$apt/cache";
Dir::Etc::SourceList "$apt/sources.list";
Dir::Etc::SourceParts "$apt/parts";
Acquire::Languages "none";
Acquire::Check-Valid-Until "false";
Acquire::IndexTargets::deb::DEP-11::DefaultEnabled "false";
Acquire::IndexTargets::deb::CNF::DefaultEnabled "false";
APT::Sandbox::User "root";
EOF
}

update_lists() {
  local apt=$1
  echo 'vm/kernel.sh: fetching package lists of kernels' >&2
  if ! apt-get update -q >"$apt/update.log" 2>&1 || grep -q '^[WE]:.*\(NO_PUBKEY\|not signed\)' "$apt/update.log"; then
    grep -q NO_PUBKEY "$apt/update.log" &&
      fail "$keyring lacks the key that signs a suite; as root: apt-get update && apt-get install debian-archive-keyring"
    fail "apt-get update failed: $(grep '^E:' "$apt/update.log" | head -n 1); log: $apt/update.log"
  fi
}

# Prints the available packages with image, modules and configuration of a version; from 6.19 on they are split.
packages() {
  local name
  if known "linux-binary-$1"; then
    echo "linux-binary-$1"
  elif known "linux-binary-unsigned-$1"; then
    echo "linux-binary-unsigned-$1"
  else
    echo "linux-image-$1"
    return
  fi
  for name in modules base; do
    if known "linux-$name-$1"; then echo "linux-$name-$1"; fi
  done
}

# Whether apt knows where to get that package.
known() {
  [ -n "$(apt-cache madison "$1" 2>/dev/null)" ]
}

download() {
  local version=$1 into=$2 names
  mapfile -t names < <(packages "$version")
  echo "vm/kernel.sh: fetching ${names[*]}" >&2
  (cd "$into" && apt-get download -q "${names[@]}") >"$into/download.log" 2>&1
}

# Prints the image of an unpacked tree; newer packages keep it beside the modules.
image_of() {
  find "$1" -type f '(' -name 'vmlinuz-*' -o -name vmlinuz ')' | head -n 1
}

config_of() {
  find "$1" -type f '(' -path '*/boot/config-*' -o -path '*/modules/*/config' ')' | head -n 1
}

unpack_modules() {
  local tree=$1 into=$2 name file
  mkdir -p "$into"
  for name in $modules; do
    file=$(find "$tree" -type f -name "$name.ko*" | head -n 1)
    case $file in
      '') ;;
      *.xz) xz -dc "$file" >"$into/$name.ko" ;;
      *.zst) zstd -qdc "$file" >"$into/$name.ko" ;;
      *) cp "$file" "$into/$name.ko" ;;
    esac
  done
}

# keep TREE RELEASE FOLDER: moves what a guest needs of a tree into the folder, all or nothing.
keep() {
  local tree=$1 release=$2 folder=$3 new image config
  image=$(image_of "$tree")
  [ -n "$image" ] || fail "no kernel image in the packages of $release"
  new=$(mktemp -d "$cache/kernels/new.XXXXXX")
  cp "$image" "$new/vmlinuz"
  config=$(config_of "$tree")
  [ -z "$config" ] || cp "$config" "$new/config"
  unpack_modules "$tree" "$new/modules"
  echo "$release" >"$new/release"
  mv -T "$new" "$folder"
}

# Fetches a version into the cache; fails if it is not available.
fetch() {
  local version=$1 folder work deb
  folder=$(kept "$version")
  work=$(mktemp -d "$cache/kernels/get.XXXXXX")
  # shellcheck disable=SC2064  # expands now
  trap "rm -rf '$work'" EXIT
  download "$version" "$work" || { tail -n 1 "$work/download.log" >&2; return 1; }
  for deb in "$work"/*.deb; do dpkg-deb -x "$deb" "$work/tree"; done
  keep "$work/tree" "$version" "$folder"
  rm -rf "$work"
}

check_tools() {
  [ "$(uname -m)" = x86_64 ] || fail "kernels here are for x86_64, this machine is $(uname -m); give --kernel PATH of a kernel of your own"
  command -v apt-get >/dev/null || fail 'no apt-get here to fetch a Debian kernel; give --kernel PATH (a bzImage with sched_ext)'
  "$here/../scripts/need.sh" kernel-packages archive-keyring >&2
}

# One fetch at a time: a second caller waits and finds it done.
fetch_locked() {
  local version=$1 suite apt
  suite=$(suite_of "$version")
  apt=$cache/apt/${suite:-all}
  mkdir -p "$cache/kernels"
  exec {lock}>"$cache/kernels/lock"
  flock "$lock"
  [ ! -d "$(kept "$version")" ] || return 0
  check_tools
  # shellcheck disable=SC2046  # words
  write_apt_directory "$apt" ${suite:-$(suites)}
  export APT_CONFIG=$apt/apt.conf
  if ! known "$(packages "$version" | head -n 1)"; then update_lists "$apt"; fi
  fetch "$version"
}

# The versions to try for a request, best first.
candidates() {
  case $1 in
    '') rows | awk -F'\t' '$3 == "loads" { print $1 }' ;;
    oldest) rows | awk -F'\t' '$3 == "loads" { print $1 }' | sort -V | head -n 1 ;;
    *-amd64) echo "$1" ;;
    *) rows | cut -f1 | awk -v asked="$1" 'index($1 "+", asked "+") == 1 || index($1, asked ".") == 1' | sort -rV | head -n 1 ;;
  esac
}

# The default is remembered for this table, so that versions missing from the mirror are not requested on each run.
default_folder() {
  local memo folder
  memo=$cache/kernels/default-$(cat "$table" "$0" | sha256sum | cut -c1-16)
  if [ ! -e "$memo" ]; then
    by_version '' >"$memo.$$"
    mv "$memo.$$" "$memo"
  fi
  folder=$(cat "$memo")
  if [ -d "$folder" ]; then echo "$folder"; else rm "$memo" && default_folder; fi
}

by_version() {
  local version tried=''
  for version in $(candidates "$1"); do
    # In a separate process, since in a condition this shell would not stop at an error.
    [ -d "$(kept "$version")" ] || "$0" --fetch "$version" || { tried+=" $version"; continue; }
    [ -z "$tried" ] || echo "vm/kernel.sh: not available:$tried; using $version" >&2
    kept "$version"
    return
  done
  [ -n "$tried" ] || fail "no kernel '$1' in the table; vm/run --list-kernels names them"
  fail "cannot fetch$tried; other kernels: vm/run --list-kernels; your own: --kernel PATH"
}

# A bzImage contains its release as text, at an offset given at 0x20e.
release_of() {
  local offset
  offset=$(od -An -tu2 -j 526 -N 2 "$1" | tr -d ' ')
  dd if="$1" bs=1 skip="$((offset + 512))" count=128 status=none | tr '\0 ' '\n\n' | sed -n 1p
}

# A kernel of the user: configuration and modules are searched for where distributions keep them.
by_path() {
  local image=$1 release folder beside
  [ "$(od -An -c -j 514 -N 4 "$image" | tr -d ' ')" = HdrS ] || fail "$image is not a bzImage; give the vmlinuz of an x86_64 kernel"
  release=$(release_of "$image")
  folder=$cache/kernels/path-$(sha256sum "$image" | cut -c1-16)
  if [ ! -d "$folder" ]; then
    mkdir -p "$cache/kernels"
    work=$(mktemp -d "$cache/kernels/get.XXXXXX")
    trap 'rm -rf "$work"' EXIT
    mkdir -p "$work/boot"
    cp "$image" "$work/boot/vmlinuz-$release"
    beside=$(dirname "$image")/config-$release
    [ ! -e "$beside" ] || cp "$beside" "$work/boot/"
    [ ! -d "/lib/modules/$release" ] || cp -r --parents "/lib/modules/$release/kernel/drivers/cpufreq" "$work/"
    keep "$work" "$release" "$folder"
  fi
  echo "$folder"
}

case ${1:-} in
  --list) list ;;
  --fetch) fetch_locked "$2" ;;
  */*) by_path "$1" ;;
  '') mkdir -p "$cache/kernels" && default_folder ;;
  *) by_version "$1" ;;
esac
