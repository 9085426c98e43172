# SPDX-License-Identifier: GPL-2.0-only
# Reads clang's stack usage file and the BPF assembly of the same unit. Fails if functions recurse, if a function outside policy/
# is called that does not begin with lop_, if a call is indirect, or if a chain of calls needs more stack than `limit` bytes. The
# kernel rounds each frame up to 32 bytes (check_max_stack_depth in its verifier).

function finding(reason) {
	print "policy: " reason
	findings++
}

# Stack of the deepest chain that starts at `name`; state: 1 on the way, 2 done.
function depth(name,    list, count, i, below, deepest) {
	if (state[name] == 2) return total[name]
	if (state[name] == 1) { finding("recursion through " name); return 0 }
	state[name] = 1
	deepest = 0
	count = split(callees[name], list, " ")
	for (i = 1; i <= count; i++) {
		if (!(list[i] in frame)) continue
		below = depth(list[i])
		if (below > deepest) deepest = below
	}
	state[name] = 2
	total[name] = frame[name] + deepest
	return total[name]
}

# all.c:LINE:NAME<tab>BYTES<tab>static
FILENAME ~ /\.su$/ {
	name = $1
	sub(/.*:/, "", name)
	frame[name] = int(($2 + 31) / 32) * 32
	next
}

/^[A-Za-z_][A-Za-z0-9_.]*:/ {
	label = $1
	sub(/:.*/, "", label)
	if (label in frame) here = label
}
$1 == "callx" { finding(here " calls through a pointer") }
$1 == "call" {
	callees[here] = callees[here] " " $2
	if (!($2 in frame) && $2 !~ /^lop_/) finding(here " calls " $2 ", which is neither in policy/ nor declared by env.h")
}

END {
	for (name in frame) {
		functions++
		bytes = depth(name)
		if (bytes > deepest_bytes) { deepest_bytes = bytes; deepest_name = name }
		if (bytes > limit) finding(name " needs " bytes " bytes of stack with what it calls; the kernel gives " limit)
	}
	if (!functions) finding("no function was compiled")
	if (findings) exit 1
	printf "policy: %d functions for BPF, deepest stack %d of %d bytes (%s)\n", functions, deepest_bytes, limit, deepest_name
}
