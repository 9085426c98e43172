#!/usr/bin/env bash
# SPDX-License-Identifier: GPL-2.0-only
# need.sh TOOL...: makes sure that each tool is installed; installs missing ones with apt-get, and says which and why.
# Tools: rust, cc, c++, clang, bpf (everything that builds kernel/), openmp and clang-openmp (cc and clang with OpenMP), sanitizers (of cc),
# go (any since 1.19, which fetches what go.sh asks), etcd, curl, openssl, dbus-daemon, make, time, python3, dpkg-dev, systemd-analyze, and those of vm/: qemu, busybox, iasl, cpio, setpriv, uclampset, chrt, unshare, script, hackbench, perf, stress-ng,
# kernel-packages (to unpack Debian's kernels), archive-keyring. On systems without apt-get it names the packages and stops.
# need.sh --listed PACKAGE...: only makes sure that apt-get knows the packages.
set -euo pipefail
here=$(cd "$(dirname "$0")" && pwd)

# Whether a tool is present.
present() {
  case $1 in
    rust) command -v cargo && command -v rustc ;;
    cc) compiles cc c '#include <stdio.h>' ;;
    c++) compiles c++ c++ '#include <vector>' ;;
    clang) "$here/clang.sh" ;;
    bpf) "$here/clang.sh" && command -v pkg-config && command -v make && has_libclang &&
      compiles cc c '#include <libelf.h>' && compiles cc c '#include <zlib.h>' ;;
    openmp) links cc -fopenmp omp.h ;;
    clang-openmp) links "$("$here/clang.sh")" -fopenmp omp.h ;;
    sanitizers) links cc -fsanitize=address,undefined stdio.h && links cc -fsanitize=thread stdio.h ;;
    dpkg-dev) command -v dpkg-shlibdeps ;;
    systemd-analyze) command -v systemd-analyze ;;
    go | etcd | curl | openssl) command -v "$1" ;;
    dbus-daemon) command -v dbus-daemon ;;
    make) command -v make ;;
    time) [ -x /usr/bin/time ] ;;
    python3) command -v python3 ;;
    hackbench | stress-ng) command -v "$1" ;;
    perf) perf --version ;;
    qemu) command -v qemu-system-x86_64 ;;
    busybox | iasl | cpio | setpriv | uclampset | chrt | unshare | script) command -v "$1" ;;
    kernel-packages) command -v dpkg-deb && command -v xz && command -v zstd ;;
    archive-keyring) [ -e /usr/share/keyrings/debian-archive-keyring.gpg ] ;;
    *) echo "need.sh: unknown tool '$1'; the first lines of need.sh name them" >&2; exit 2 ;;
  esac >/dev/null 2>&1
}

# A compiler without its headers is useless, so try one.
compiles() {
  command -v "$1" >/dev/null && echo "$3" | "$1" -x "$2" -fsyntax-only - 2>/dev/null
}

# links COMPILER FLAG HEADER: whether it can build a program with that flag, including the runtime library.
links() {
  printf '#include <%s>\nint main(void) { return 0; }\n' "$3" | "$1" "$2" -x c -o /dev/null -
}

# Whether libclang, which reads C declarations for Rust, is present.
has_libclang() {
  compgen -G '/usr/lib/*/libclang*.so*' || compgen -G '/usr/lib/llvm-*/lib/libclang*.so*' || compgen -G '/usr/lib*/libclang*.so*'
}

reason() {
  case $1 in
    cc) echo 'compiles policy/ natively' ;;
    c++) echo 'compiles the fuzzing engine' ;;
    clang) echo 'checks that policy/ compiles for BPF' ;;
    bpf) echo 'builds the scheduler for the kernel, and describes the headers of policy/ to Rust' ;;
    openmp) echo 'builds the loads that use OpenMP, and what hints/ has for them' ;;
    clang-openmp) echo 'builds the loads that use OpenMP, and what hints/ has for them' ;;
    sanitizers) echo 'checks the loads while they run' ;;
    dpkg-dev) echo 'finds out what the Debian package depends on' ;;
    systemd-analyze) echo 'checks the unit file' ;;
    go) echo 'builds fleet/' ;;
    etcd) echo 'keeps what the API server of Kubernetes knows' ;;
    curl) echo 'talks to that API server' ;;
    openssl) echo 'makes its keys' ;;
    dbus-daemon) echo 'tests follow a power profile over a bus of their own' ;;
    make) echo 'tests record a build' ;;
    time) echo 'measures peak memory' ;;
    python3) echo 'tests the Python module of hints/, and reads what lop compare found' ;;
    qemu) echo 'runs the guest' ;;
    busybox) echo "is the guest's system" ;;
    iasl) echo "compiles the guest's table of frequencies" ;;
    cpio) echo "packs the guest's files" ;;
    hackbench | perf) echo 'measures schedulers' ;;
    stress-ng) echo 'stresses a scheduler' ;;
    script) echo 'tests type at a terminal' ;;
    chrt) echo 'runs a program in a real-time class' ;;
    uclampset) echo 'says by uclamp what speed a program needs' ;;
    unshare) echo 'tests make a PID namespace' ;;
    setpriv) echo 'ends the guest with the script that started it' ;;
    kernel-packages) echo 'unpacks the package of a kernel' ;;
    archive-keyring) echo 'checks who signed the package of a kernel' ;;
  esac
}

# Packages of a tool on Debian, Fedora and Arch.
packages() {
  case $1 in
    cc) echo 'gcc libc6-dev|gcc glibc-devel|gcc' ;;
    c++) echo 'g++|gcc-c++|gcc' ;;
    clang) echo 'clang-19|clang|clang' ;;
    bpf) echo 'clang-19 libclang1-19 libelf-dev zlib1g-dev pkg-config make|clang clang-libs elfutils-libelf-devel zlib-devel pkgconf make|clang libelf zlib pkgconf make' ;;
    openmp) echo 'gcc libc6-dev|gcc libgomp|gcc' ;;
    clang-openmp) echo 'libomp-19-dev|libomp-devel|openmp' ;;
    sanitizers) echo 'gcc libc6-dev|gcc libasan libubsan libtsan|gcc' ;;
    hackbench) echo 'rt-tests|realtime-tests|rt-tests' ;;
    perf) echo 'linux-perf|perf|perf' ;;
    go) echo 'golang-go|golang|go' ;;
    etcd) echo 'etcd-server|etcd|etcd' ;;
    dbus-daemon) echo 'dbus-daemon|dbus-daemon|dbus' ;;
    curl | openssl | make | time | python3 | cpio | stress-ng) echo "$1|$1|$1" ;;
    dpkg-dev) echo 'dpkg-dev|dpkg-dev|dpkg' ;;
    systemd-analyze) echo 'systemd|systemd|systemd' ;;
    qemu) echo 'qemu-system-x86|qemu-system-x86-core|qemu-system-x86' ;;
    busybox) echo 'busybox-static|busybox|busybox' ;;
    iasl) echo 'acpica-tools|acpica-tools|acpica' ;;
    script) echo 'bsdutils|util-linux|util-linux' ;;
    setpriv | uclampset | chrt | unshare) echo 'util-linux|util-linux|util-linux' ;;
    kernel-packages) echo 'dpkg xz-utils zstd|dpkg xz zstd|dpkg xz zstd' ;;
    archive-keyring) echo 'debian-archive-keyring|debian-keyring|debian-archive-keyring' ;;
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
    as_root env DEBIAN_FRONTEND=noninteractive apt-get -o DPkg::Lock::Timeout=600 update -q
    return
  done
}

# Another group of guest tests may be installing, or the user.
install_with_apt() {
  make_listed "$@"
  as_root env DEBIAN_FRONTEND=noninteractive apt-get -o DPkg::Lock::Timeout=600 install -q -y --no-install-recommends "$@"
}

explain_and_stop() {
  local tool
  echo 'need.sh: this system has no apt-get; please install:' >&2
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
    echo 'need.sh: cargo and rustc are not on PATH; those of distributions are too old: see https://rustup.rs' >&2
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
