#!/usr/bin/env bash
# need.sh TOOL...: makes sure that each tool is there; installs what is missing with apt-get, and says what and why.
# Tools: rust, cc, c++, clang, make, time. Elsewhere than on Debian and its kin it names the packages and stops.
# need.sh --listed PACKAGE...: only makes sure that apt-get knows where to find the packages.
set -euo pipefail
here=$(cd "$(dirname "$0")" && pwd)

# Each of these: is it there?
present() {
  case $1 in
    rust) command -v cargo && command -v rustc ;;
    cc) compiles cc c '#include <stdio.h>' ;;
    c++) compiles c++ c++ '#include <vector>' ;;
    clang) "$here/clang.sh" ;;
    make) command -v make ;;
    time) [ -x /usr/bin/time ] ;;
    *) echo "need.sh: unknown tool '$1'; known: rust, cc, c++, clang, make, time" >&2; exit 2 ;;
  esac >/dev/null 2>&1
}

# A compiler without its headers is no compiler: try one.
compiles() {
  command -v "$1" >/dev/null && echo "$3" | "$1" -x "$2" -fsyntax-only - 2>/dev/null
}

reason() {
  case $1 in
    cc) echo 'compiles policy/ for the simulator' ;;
    c++) echo 'compiles the fuzzing engine' ;;
    clang) echo 'checks that policy/ compiles for BPF' ;;
    make) echo 'tests record a build' ;;
    time) echo 'measures peak memory' ;;
  esac
}

# Packages of a tool on: Debian, Fedora, Arch.
packages() {
  case $1 in
    cc) echo 'gcc libc6-dev|gcc glibc-devel|gcc' ;;
    c++) echo 'g++|gcc-c++|gcc' ;;
    clang) echo 'clang-19|clang|clang' ;;
    make | time) echo "$1|$1|$1" ;;
  esac
}

as_root() {
  if [ "$(id -u)" = 0 ]; then
    "$@"
  elif command -v sudo >/dev/null; then
    sudo "$@"
  else
    echo "need.sh: not root and no sudo here; as root, run: $*" >&2
    exit 1
  fi
}

make_listed() {
  local package
  for package in "$@"; do
    apt-cache show "$package" >/dev/null 2>&1 && continue
    echo "need.sh: no package list knows $package: apt-get update"
    as_root env DEBIAN_FRONTEND=noninteractive apt-get update -q
    return
  done
}

install_with_apt() {
  make_listed "$@"
  as_root env DEBIAN_FRONTEND=noninteractive apt-get install -q -y --no-install-recommends "$@"
}

explain_and_stop() {
  local tool
  echo 'need.sh: this is no system with apt-get; please install:' >&2
  for tool in "$@"; do
    IFS='|' read -r debian fedora arch < <(packages "$tool")
    echo "  $tool ($(reason "$tool")): Debian $debian; Fedora $fedora; Arch $arch" >&2
  done
  exit 1
}

if [ "${1:-}" = --listed ]; then
  shift
  ! command -v apt-get >/dev/null || make_listed "$@"
  exit
fi

missing=()
for tool in "$@"; do
  present "$tool" || missing+=("$tool")
done
[ ${#missing[@]} -gt 0 ] || exit 0

to_install=()
for tool in "${missing[@]}"; do
  if [ "$tool" = rust ]; then
    echo 'need.sh: cargo and rustc are not on PATH; distributions carry older ones than this needs: see https://rustup.rs' >&2
    exit 1
  fi
  echo "need.sh: missing: $tool, which $(reason "$tool")"
  IFS='|' read -r debian _ < <(packages "$tool")
  read -r -a names <<<"$debian"
  to_install+=("${names[@]}")
done

command -v apt-get >/dev/null || explain_and_stop "${missing[@]}"
echo "need.sh: installing ${to_install[*]}"
install_with_apt "${to_install[@]}"
for tool in "${missing[@]}"; do
  present "$tool" || { echo "need.sh: $tool is still missing after installing ${to_install[*]}" >&2; exit 1; }
done
