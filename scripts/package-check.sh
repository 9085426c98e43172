#!/usr/bin/env bash
# SPDX-License-Identifier: GPL-2.0-only
# package-check.sh [--deb]: what `make install` brings is complete and well-formed; with --deb, that the Debian package brings the same, for
# which the tool that packs it is compiled. Installs into scratch folders only, and takes the debug build, which is there when tests run.
set -euo pipefail
cd "$(dirname "$0")/.."
case ${1:-} in '' | --deb) ;; *) echo "package-check.sh: unknown argument '$1'; known: --deb" >&2; exit 2 ;; esac
scripts/need.sh systemd-analyze ${1:+dpkg-dev}
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

# Where a checker is not there, its check is not made, which is said; continuous integration must have it.
checker() {
  command -v "$1" >/dev/null && return
  if [ -n "${CI:-}" ]; then finding "$1 is missing"; else echo "package-check: no $1 here: its check is not made"; fi
  return 1
}

# begins SCHED_EXT CGROUP_V2: do the unit's conditions hold on a machine that has these two paths for its own?
begins() {
  local conditions
  mapfile -t conditions < <(grep '^Condition' "$unit" | sed "s|/sys/kernel/sched_ext|$1|; s|/sys/fs/cgroup/cgroup.controllers|$2|")
  systemd-analyze condition "${conditions[@]}" >/dev/null 2>&1
}

files() {
  (cd "$1" && find . -type f | sort)
}

# Paths as both have them: Debian compresses man pages, has a licence file of its own and a changelog.
comparable() {
  files "$1" | sed 's/\.1\.gz$/.1/' | grep -vE '/(copyright|LICENSE|changelog\.Debian\.gz)$'
}

DESTDIR=$installed PREFIX=/usr ZSH_FOLDER=vendor-completions scripts/install.sh
for file in usr/bin/lop usr/share/man/man1/lop.1 usr/share/man/man1/lop-{start,stop,status,restore,run,simulate}.1 \
  usr/share/bash-completion/completions/lop usr/share/zsh/vendor-completions/_lop \
  usr/share/fish/vendor_completions.d/lop.fish usr/lib/systemd/system/lopsided.service usr/share/doc/lopsided/LICENSE; do
  [ -s "$installed/$file" ] || finding "make install brings no /$file"
done
check 'the installed lop runs' "$installed/usr/bin/lop" --version
check 'completions for bash' bash -n "$installed/usr/share/bash-completion/completions/lop"
for page in "$installed"/usr/share/man/man1/*.1; do
  grep -q '^\.TH' "$page" || finding "$page is no man page"
done

elsewhere=$scratch/elsewhere
PREFIX=$elsewhere DESTDIR='' scripts/install.sh
unit=$elsewhere/lib/systemd/system/lopsided.service
grep -q "^ExecStart=$elsewhere/bin/lop " "$unit" || finding 'the unit file does not follow PREFIX'
if checker systemd-analyze; then
  # It succeeds even where it has something to say.
  said=$(systemd-analyze verify --man=no "$unit" 2>&1 | grep lopsided || true)
  [ -z "$said" ] || finding "$said"
  begins /nowhere /proc || finding 'the unit does not begin where there is cgroup v2 and no sched_ext'
  begins /proc /nowhere || finding 'the unit does not begin where there is sched_ext and no cgroup v2'
  systemd-analyze security --offline=yes --threshold=30 "$unit" >/dev/null 2>&1 || finding "the unit is exposed (3.0 or more): see systemd-analyze security --offline=yes $unit"
  ! begins /nowhere /nowhere || finding 'the unit begins where nothing can be enforced'
fi
for setting in ProtectControlGroups ProtectKernelTunables RestrictRealtime; do
  ! grep -q "^$setting=" "$unit" || finding "$setting= would keep the unit from parking CPUs"
done
# ProtectSystem=strict leaves nothing else of /run to write in.
grep -qx 'RuntimeDirectory=lopsided scx/root' "$unit" || finding 'the unit may not serve its status, or its statistics'
PREFIX=$elsewhere DESTDIR='' scripts/install.sh --remove
left=$(files "$elsewhere")
[ -z "$left" ] || finding "make uninstall leaves $left"

if [ "${1:-}" = --deb ] && checker dpkg-deb; then
  deb=$(scripts/deb.sh | tail -n 1)
  dpkg-deb -x "$deb" "$packed"
  dpkg-deb -e "$deb" "$scratch/control"
  diff <(comparable "$installed") <(comparable "$packed") || finding 'the package and make install bring different files'
  check 'the packed lop runs' "$packed/usr/bin/lop" --version
  grep -q '^Depends: .*libc6' "$scratch/control/control" || finding 'the package depends on no libc6'
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
