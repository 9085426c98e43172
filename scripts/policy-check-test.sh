#!/usr/bin/env bash
# SPDX-License-Identifier: GPL-2.0-only
# Tests policy-check.sh: each small header below breaks one rule and must be refused for that reason; the last one breaks none
# and must pass.
set -euo pipefail
cd "$(dirname "$0")/.."
trial=$(mktemp -d)
trap 'rm -rf "$trial"' EXIT
# Rules begin a line, as in policy/.
rule='
lop_rule'
env='u64 lop_env_now_ns(void *world);'
failures=0
bad=0

# verdict CHECK TEXT: prints refused or accepted; the log has the messages.
verdict() {
  printf '#define lop_rule static inline __attribute__((always_inline, unused))\n%s\n' "$2" >"$trial/sample.h"
  if scripts/policy-check.sh "$1" "$trial" >"$trial/log" 2>&1; then echo accepted; else echo refused; fi
}

complain() {
  echo "policy-check-test.sh: $1"
  cat "$trial/log"
  failures=$((failures + 1))
}

# refused CHECK REASON TEXT: the check must fail with REASON.
refused() {
  bad=$((bad + 1))
  [ "$(verdict "$1" "$3")" = refused ] || complain "'$1' accepts: $3"
  grep -q -e "$2" "$trial/log" || complain "'$1' does not say '$2' of: $3"
}

refused rules 'plain for' "$rule u32 f(u32 n) { u32 i, s = 0; for (i = 0; i < n; i++) s += i; return s; }"
refused rules 'a while' "$rule u32 f(u32 n) { while (n > 1) n /= 2; return n; }"
refused rules 'a goto' "$rule u32 f(u32 n) { again: if (n > 1) { n /= 2; goto again; } return n; }"
refused rules 'outside policy/' '#include <string.h>'
refused rules 'outside policy/' '#include "../kernel/map.h"'
refused rules 'kernel type' "$rule u32 f(struct task_struct *p) { return p != 0; }"
refused rules 'function pointer' "$rule u32 f(u32 (*g)(u32)) { return g(1); }"
refused rules 'floating point' "$rule u32 f(u32 n) { return (u32)(n * (double)2); }"
refused gcc 'unused variable' "$rule u32 f(u32 n) { u32 left; return n; }"
refused clang 'different signs' "$rule bool f(u32 n, s32 m) { return n < m; }"
many='u64 b[70]; u32 i; for (i = 0; i < 70; i++) b[i] = lop_env_now_ns(w); return b[n % 70];'
refused bpf 'stack frame size' "$env $rule u64 f(void *w, u32 n) { $many }"
kept='static __attribute__((noinline, used))'
refused bpf 'recursion' "$env $kept u64 f(void *w, u32 n) { return n < 2 ? lop_env_now_ns(w) : f(w, n / 2) * f(w, n / 3); }"
half=${many//70/40}
refused bpf 'bytes of stack' "$env $kept u64 g(void *w, u32 n) { $half } $kept u64 f(void *w, u32 n) { ${half//lop_env_now_ns(w)/g(w, i)} }"
refused bpf 'built-in' "void *memmove(void *a, const void *b, unsigned long n); $rule void f(u8 *a, u32 n) { memmove(a, a + 1, n); }"
refused bpf 'neither in policy/' "u64 other(u64 n); $rule u64 f(u64 n) { return other(n); }"
refused bpf 'signed division' "$rule s32 f(s32 a, s32 b) { return a / b; }"

good="$env
/* for all: while this is a comment, it is no loop */
#define lop_for(i, from, to) for ((i) = (from); (i) < (to); (i)++)
$rule u64 f(void *w) { u64 s = 0; int i; lop_for(i, 0, 4) s += lop_env_now_ns(w); return s; }"
for check in rules gcc clang bpf; do
  [ "$(verdict "$check" "$good")" = accepted ] || complain "'$check' refuses a good header"
done

[ "$failures" = 0 ] || exit 1
echo "policy-check.sh: refuses $bad bad headers, accepts a good one"
