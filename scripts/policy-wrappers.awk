# SPDX-License-Identifier: GPL-2.0-only
# Prints a function that calls each rule of the headers: rules are always inlined, so without a call they would vanish unchecked.
# Arguments and result are passed in a struct: BPF functions have at most five arguments and return no structs, inlined rules may.
#
#     lop_rule u64 lop_min(u64 a, u64 b) ...   ->   struct call_of_lop_min { u64 a; u64 b; u64 result; };
#                                                   void check_lop_min(struct call_of_lop_min *p) { p->result = lop_min(p->a, p->b); }

function wrap(signature,    head, open, name, type, members, passed, assigned, count, list, i, last) {
	sub(/^lop_rule[ \t]+/, "", signature)
	open = index(signature, "(")
	head = substr(signature, 1, open - 1)
	match(head, /[A-Za-z_][A-Za-z0-9_]*[ \t]*$/)
	name = substr(head, RSTART)
	type = substr(head, 1, RSTART - 1)
	signature = substr(signature, open + 1)
	sub(/\).*/, "", signature)
	members = passed = ""
	count = signature ~ /^[ \t]*void[ \t]*$/ ? 0 : split(signature, list, ",")
	for (i = 1; i <= count; i++) {
		last = list[i]
		sub(/\[.*/, "", last)
		match(last, /[A-Za-z_][A-Za-z0-9_]*[ \t]*$/)
		members = members list[i] ";"
		passed = passed (i > 1 ? ", " : "") "p->" substr(last, RSTART)
	}
	assigned = ""
	if (type !~ /^[ \t]*void[ \t]*$/) {
		members = members type " result;"
		assigned = "p->result = "
	}
	printf "struct call_of_%s {%s };\n", name, members
	printf "void check_%s(struct call_of_%s *p);\n", name, name
	printf "void check_%s(struct call_of_%s *p) { (void)p; %s%s(%s); }\n", name, name, assigned, name, passed
}

/^lop_rule[ \t]/ { open_signature = ""; reading = 1 }
reading {
	open_signature = open_signature " " $0
	if (open_signature ~ /\)/) {
		sub(/^ /, "", open_signature)
		wrap(open_signature)
		reading = 0
	}
}
