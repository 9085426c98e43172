#!/usr/bin/env bash
# SPDX-License-Identifier: GPL-2.0-only
# package-check.sh [--deb]: checks that `make install` installs complete and well-formed files; with --deb, also that the Debian package has the same
# ones, for which it compiles the packing tool. Only installs into scratch folders. Uses the debug build, which exists when tests run.
set -euo pipefail
cd "$(dirname "$0")/.."
case ${1:-} in '' | --deb) ;; *) echo "package-check.sh: unknown argument '$1'; known: --deb" >&2; exit 2 ;; esac
scripts/need.sh cc bpf make openmp clang-openmp python3 systemd-analyze ${1:+dpkg-dev}
scratch=$(mktemp -d)
trap 'rm -rf "$scratch"' EXIT
cp "$(scripts/built.sh)/lop" "$scratch/lop"
export LOP=$scratch/lop
installed=$scratch/installed packed=$scratch/packed
. scripts/findings.sh

# check WHAT COMMAND...: the command must succeed.
check() {
  local what=$1 said
  shift
  said=$("$@" 2>&1) || finding "$what: $said"
}

# A check whose tool is missing is skipped with a note; continuous integration must have the tool.
checker() {
  command -v "$1" >/dev/null && return
  if [ -n "${CI:-}" ]; then finding "$1 is missing"; else echo "package-check: no $1 here: its check is skipped"; fi
  return 1
}

# begins SCHED_EXT CGROUP_V2: whether the unit's conditions hold with these two paths in place of the machine's own.
begins() {
  local conditions
  mapfile -t conditions < <(grep '^Condition' "$unit" | sed "s|/sys/kernel/sched_ext|$1|; s|/sys/fs/cgroup/cgroup.controllers|$2|")
  systemd-analyze condition "${conditions[@]}" >/dev/null 2>&1
}

files() {
  (cd "$1" && find . -type f -o -type l | sort)
}

# Comparable paths: Debian compresses man pages, and has its own licence file and a changelog.
comparable() {
  files "$1" | sed -E 's/\.([157])\.gz$/.\1/' | grep -vE '/(copyright|LICENSE|changelog\.Debian\.gz)$'
}

DESTDIR=$installed PREFIX=/usr ZSH_FOLDER=vendor-completions PYTHON_FOLDER=lib/python3/dist-packages scripts/install.sh
for file in usr/bin/lop usr/share/man/man1/lop.1 usr/share/man/man1/lop-{start,stop,status,restore,run,simulate}.1 \
  usr/share/man/man5/lop-toml.5 usr/share/man/man7/lopsided.7 \
  usr/share/bash-completion/completions/lop usr/share/zsh/vendor-completions/_lop \
  usr/share/fish/vendor_completions.d/lop.fish usr/lib/systemd/system/lopsided.service usr/share/doc/lopsided/LICENSE \
  usr/lib/liblopsided{.a,.so,.so.0,-gomp.so,-ompt.so,-preload.so} usr/include/lopsided.h usr/lib/pkgconfig/lopsided.pc usr/lib/python3/dist-packages/lopsided.py; do
  [ -s "$installed/$file" ] || finding "make install does not install /$file"
done
check 'the installed lop runs' "$installed/usr/bin/lop" --version
check 'completions for bash' bash -n "$installed/usr/share/bash-completion/completions/lop"
for page in "$installed"/usr/share/man/man?/*; do
  grep -q '^\.TH' "$page" || finding "$page is not a man page"
done

elsewhere=$scratch/elsewhere
PREFIX=$elsewhere DESTDIR='' scripts/install.sh
# A program finds the installed library by pkg-config alone, and Python finds it by the module.
built_with_library() {
  local flags
  flags=$(PKG_CONFIG_PATH=$elsewhere/lib/pkgconfig pkg-config --cflags --libs "$@" lopsided) || return
  printf '#include <lopsided.h>\nint main(void) { lop_length(1); return lop_version() != LOP_VERSION; }\n' >"$scratch/says.c"
  # Word by word.
  # shellcheck disable=SC2086
  cc -Wall -Werror "$scratch/says.c" -o "$scratch/says" $flags && "$scratch/says"
}
export LD_LIBRARY_PATH=$elsewhere/lib
check 'a program with the installed library' built_with_library
rm "$elsewhere/lib/liblopsided.so"
check 'a program with the installed static library' built_with_library --static
check 'the installed Python module' env PYTHONDONTWRITEBYTECODE=1 PYTHONPATH="$elsewhere/share/lopsided/python" python3 -c 'import lopsided; lopsided.length(1)'
unset LD_LIBRARY_PATH
for name in gomp ompt preload; do
  check "liblopsided-$name.so finds the library beside it" python3 -c 'import ctypes, sys; ctypes.CDLL(sys.argv[1])' "$elsewhere/lib/liblopsided-$name.so"
done
unit=$elsewhere/lib/systemd/system/lopsided.service
grep -q "^ExecStart=$elsewhere/bin/lop " "$unit" || finding 'the unit file does not follow PREFIX'
if checker systemd-analyze; then
  # It succeeds even if it prints warnings.
  said=$(systemd-analyze verify --man=no "$unit" 2>&1 | grep lopsided || true)
  [ -z "$said" ] || finding "$said"
  begins /nowhere /proc || finding 'the unit does not start with cgroup v2 and without sched_ext'
  begins /proc /nowhere || finding 'the unit does not start with sched_ext and without cgroup v2'
  systemd-analyze security --offline=yes --threshold=30 "$unit" >/dev/null 2>&1 || finding "the unit is exposed (3.0 or more): see systemd-analyze security --offline=yes $unit"
  ! begins /nowhere /nowhere || finding 'the unit starts although nothing can be enforced'
fi
for setting in ProtectControlGroups ProtectKernelTunables RestrictRealtime; do
  ! grep -q "^$setting=" "$unit" || finding "$setting= would keep the unit from parking CPUs"
done
# ProtectSystem=strict makes the rest of /run read-only.
grep -qx 'RuntimeDirectory=lopsided scx/root' "$unit" || finding 'the unit cannot serve its status or its statistics'
PREFIX=$elsewhere DESTDIR='' scripts/install.sh --remove
left=$(files "$elsewhere")
[ -z "$left" ] || finding "make uninstall leaves $left"

if [ "${1:-}" = --deb ] && checker dpkg-deb; then
  deb=$(scripts/deb.sh | tail -n 1)
  dpkg-deb -x "$deb" "$packed"
  dpkg-deb -e "$deb" "$scratch/control"
  diff <(comparable "$installed") <(comparable "$packed") || finding 'the package and make install have different files'
  check 'the packed lop runs' "$packed/usr/bin/lop" --version
  grep -q '^Depends: .*libc6' "$scratch/control/control" || finding 'the package does not depend on libc6'
  for script in postinst prerm postrm; do check "$script" sh -n "$scratch/control/$script"; done
  ! grep -qE 'deb-systemd-invoke (start|\$_dh_action)' "$scratch/control/postinst" ||
    finding 'installing the package starts the scheduler'
  if command -v lintian >/dev/null; then check 'lintian' lintian --allow-root --fail-on error "$deb"; fi
fi

end_of_findings 'package-check'
case ${1:-} in
  --deb) echo 'package-check: installed and packed files are complete and the same' ;;
  *) echo 'package-check: installed files are complete' ;;
esac
