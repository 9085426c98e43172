# Prints, for each rule of the headers read, a function that calls it: rules are always inlined, and what nothing calls would
# vanish unchecked. The arguments come from a struct, since BPF passes five at most and inlined rules may have more.
#
#     lop_rule u64 lop_min(u64 a, u64 b) ...   ->   struct arguments_of_lop_min { u64 a; u64 b; };
#                                                   u64 check_lop_min(struct arguments_of_lop_min *p) { return lop_min(p->a, p->b); }

function wrap(signature,    head, open, name, type, members, passed, count, list, i, last) {
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
	printf "struct arguments_of_%s {%s };\n", name, members
	printf "%s check_%s(struct arguments_of_%s *p);\n", type, name, name
	printf "%s check_%s(struct arguments_of_%s *p) { (void)p; %s%s(%s); }\n", type, name, name,
		type ~ /^[ \t]*void[ \t]*$/ ? "" : "return ", name, passed
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
