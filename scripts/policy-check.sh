#!/usr/bin/env bash
# SPDX-License-Identifier: GPL-2.0-only
# policy-check.sh rules|gcc|clang|bpf [FOLDER]: checks that policy/ (or FOLDER) is fit for the kernel.
#   rules  every loop goes through lop_for, nothing is included from outside policy/, no goto, no function pointer
#   gcc    each header alone, then all together, natively with -Wall -Wextra -Werror
#   clang  the same with clang
#   bpf    the same for BPF; then in the generated code: no recursion, no calls out of policy/ except to functions of env.h, no
#          chain of calls with more than 512 bytes of stack (the kernel's limit)
set -euo pipefail
cd "$(dirname "$0")/.."
folder=$(realpath "${2:-policy}")
out=target/policy-check
mkdir -p "$out"
shopt -s nullglob
# Headers and their folders; src/ is the native build.
folders=("$folder" "$folder"/*/)
headers=()
for part in "${folders[@]}"; do
  [[ $part == */src/ ]] || headers+=("${part%/}"/*.h)
done
includes=("${folders[@]/#/-I}")
[ ${#headers[@]} -gt 0 ] || { echo "policy-check.sh: no headers in $folder" >&2; exit 1; }
warnings=(-std=c11 -Wall -Wextra -Werror)
# Writes a C file that includes these headers.
unit() {
  local file=$1 header
  shift
  echo '#include "../../scripts/policy-types.h"' >"$file"
  for header in "$@"; do echo "#include \"$header\"" >>"$file"; done
}

# compile COMMAND...: compiles each header alone, since it must include what it needs, then all of them with a caller for each
# rule, into all.s with all.su.
compile() {
  local header
  for header in "${headers[@]}"; do
    unit "$out/alone.c" "$header"
    "$@" "${includes[@]}" -fsyntax-only "$out/alone.c" || { echo "policy-check.sh: ${header##*/} does not compile alone" >&2; return 1; }
  done
  unit "$out/all.c" "${headers[@]}"
  awk -f scripts/policy-wrappers.awk "${headers[@]}" >>"$out/all.c"
  "$@" "${includes[@]}" -fstack-usage -S "$out/all.c" -o "$out/all.s"
  echo "policy: ${#headers[@]} headers, $(grep -c '^struct call_of' "$out/all.c") rules: $*"
}

case ${1:-} in
  rules) awk -f scripts/policy-rules.awk "${headers[@]}" ;;
  gcc) compile gcc -O2 "${warnings[@]}" ;;
  clang) compile "$(scripts/clang.sh)" -O2 "${warnings[@]}" ;;
  bpf)
    compile "$(scripts/clang.sh)" -target bpf -mcpu=v3 -O2 "${warnings[@]}" -Wframe-larger-than=512
    awk -v limit=512 -f scripts/policy-calls.awk "$out/all.su" "$out/all.s"
    ;;
  *)
    echo 'policy-check.sh: expected rules, gcc, clang or bpf' >&2
    exit 2
    ;;
esac
