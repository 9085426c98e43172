# SPDX-License-Identifier: GPL-2.0-only
# Reads the headers of policy/ and reports what BPF cannot handle or what policy/ must not know. Prints each finding as
# file:line: reason, and fails if there is one.

function finding(reason) {
	printf "%s:%d: %s\n", FILENAME, FNR, reason
	findings++
}

# The line without comments and strings; a block comment may span lines.
function code_of(line,    start, end) {
	gsub(/"([^"\\]|\\.)*"/, "\"\"", line)
	for (;;) {
		if (in_comment) {
			end = index(line, "*/")
			if (!end) return ""
			line = substr(line, end + 2)
			in_comment = 0
		}
		start = index(line, "/*")
		if (!start) break
		end = index(substr(line, start + 2), "*/")
		if (!end) {
			in_comment = 1
			line = substr(line, 1, start - 1)
			break
		}
		line = substr(line, 1, start - 1) " " substr(line, start + end + 3)
	}
	sub(/\/\/.*/, "", line)
	return line
}

function has_word(code, word) {
	return (" " code " ") ~ ("[^A-Za-z0-9_]" word "[^A-Za-z0-9_]")
}

FNR == 1 { in_comment = 0; in_loop_macro = 0 }

{
	if ($0 ~ /^[ \t]*#[ \t]*include[ \t]*</) finding("includes from outside policy/: " $0)
	if ($0 ~ /^[ \t]*#[ \t]*include[ \t]*"[^"]*\//) finding("includes from outside policy/: " $0)
	code = code_of($0)
	# Plain loops are only allowed in the definitions of lop_for and of macros based on it.
	if (code ~ /^[ \t]*#[ \t]*define[ \t]+lop_for[a-z_]*[ \t]*\(/) in_loop_macro = 1
	if (!in_loop_macro) {
		if (has_word(code, "for")) finding("a plain for: use lop_for, which the verifier walks once")
		if (has_word(code, "while")) finding("a while: use lop_for, which is bounded")
		if (has_word(code, "do")) finding("a do loop: use lop_for, which is bounded")
	}
	if (has_word(code, "goto")) finding("a goto")
	if (code ~ /\([ \t]*\*[ \t]*[A-Za-z_][A-Za-z0-9_]*[ \t]*\)[ \t]*\(/) finding("a function pointer")
	if (has_word(code, "float") || has_word(code, "double")) finding("floating point, which BPF does not have")
	if (has_word(code, "malloc") || has_word(code, "printf") || has_word(code, "memcpy")) finding("libc")
	if (code ~ /struct[ \t]+(task_struct|rq|cpumask|bpf_[a-z_]+|scx_[a-z_]+)[^A-Za-z0-9_]/) finding("a kernel type")
	if (code !~ /\\[ \t]*$/) in_loop_macro = 0
	lines++
}

END {
	if (findings) { printf "policy: %d findings\n", findings; exit 1 }
	printf "policy: %d lines keep the rules\n", lines
}
