# SPDX-License-Identifier: GPL-2.0-only
# Derives faults from the headers of policy/. Prints one a line, tab-separated: name, file, line, the text there, the faulty text.
#     NAME, NAME-half    a named constant is doubled, or halved. One that declarations need too, as the size of an array, is halved in functions alone.
#     FUNCTION-N         the N-th fault of a function with a formula, a numbered list, a share or a time in the comment above it, or that a formula
#                        names: an operator is another one, a comparison excludes or includes equality, an operand of a condition is left out, or a
#                        number is doubled
# Fails if a formula has no fault.
# -v out=FOLDER: also writes the headers to FOLDER with all faults in them. The variable `lop_fault` selects one by the number of its line, from 1 on.

BEGIN {
	# A right operand is left out by `a && 1 | b`, which is a.
	operators = split(" + ; - ; - ; + ; * ; + ; / ; * ; += ; -= ; -= ; += ; < ; <= ; <= ; < ; > ; >= ; >= ; > ; == ; != ; != ; == ; && ; && 1 | !!; || ; || 0 & !!;" \
		" & ; | ; | ; & ; &= ; |= ; |= ; &= ;lop_cpus_drop(;lop_cpus_prefer(;lop_cpus_prefer(;lop_cpus_avoid(;lop_cpus_avoid(;lop_cpus_prefer(;" \
		"lop_min(;lop_max(;lop_max(;lop_min(;lop_earlier(;lop_later(;lop_later(;lop_earlier(;lop_before(;lop_not_after(", operator, ";")
}

FNR == 1 { file[++files] = FILENAME }
{ source[FILENAME, FNR] = $0; last[FILENAME] = FNR }

END {
	for (f = 1; f <= files; f++) find_constants(file[f])
	for (f = 1; f <= files; f++) find_sizes(file[f])
	for (f = 1; f <= files; f++) find_named(file[f])
	for (f = 1; f <= files; f++) read_header(file[f])
	for (name in is_named) gap(name " is named by a formula, and is no function")
	exit gaps > 0
}

function gap(text) { print "policy-faults.awk: " header ": " text >"/dev/stderr"; gaps++ }

function trimmed(s) { sub(/^[ \t]+/, "", s); sub(/[ \t]+$/, "", s); return s }

# A line without its comment.
function code_of(s) { sub(/[ \t]*\/\*.*/, "", s); return s }

function emit(s) { if (out) print s >(out "/" header) }

# Prints a fault and returns its number.
function add(name, line, before, after) {
	print name "\t" header "\t" line "\t" trimmed(before) "\t" trimmed(after)
	return ++faults
}

function is_constant(s) { return s ~ /^#[ \t]*define[ \t]+LOP_[A-Z0-9_]+[ \t]+[^ \t\/]/ }
function name_of_constant(s) { sub(/^#[ \t]*define[ \t]+/, "", s); sub(/[ \t].*/, "", s); return s }
function value_of_constant(s) { sub(/^#[ \t]*define[ \t]+LOP_[A-Z0-9_]+[ \t]+/, "", s); return code_of(s) }

# `s` with each whole word `word` replaced.
function reworded(s, word, by,    done, at, around) {
	while ((at = index(s, word))) {
		around = substr(" " s, at, 1) substr(s " ", at + length(word), 1)
		done = done substr(s, 1, at - 1) (around ~ /[A-Za-z0-9_]/ ? word : by)
		s = substr(s, at + length(word))
	}
	return done s
}
function has_word(s, word) { return reworded(s, word, "") != s }

# Constants: by #define, or of an enum without a name.
function find_constants(path,    n, s, parts, pair, count, i) {
	for (n = 1; n <= last[path]; n++) {
		s = source[path, n]
		if (is_constant(s)) value[name_of_constant(s)] = value_of_constant(s)
		if (s !~ /^enum \{ /) continue
		count = split(s, parts, /[{},]/)
		for (i = 1; i <= count; i++)
			if (split(trimmed(parts[i]), pair, " = ") == 2) { value[pair[1]] = pair[2]; is_size[pair[1]] = 1 }
	}
}

# Marks the constants that declarations need.
function find_sizes(path,    n, s, name, changed) {
	for (n = 1; n <= last[path]; n++) {
		s = code_of(source[path, n])
		if (s !~ /^(\t| *struct )[^()=]*\[[^]]*LOP_[^]]*\];/) continue
		sub(/^[^[]*/, "", s)
		for (name in value) if (has_word(s, name)) is_size[name] = 1
	}
	do {
		changed = 0
		for (s in is_size) for (name in value) if (!(name in is_size) && has_word(value[s], name)) changed = is_size[name] = 1
	} while (changed)
}

function add_constant(name, line, before,    double, half) {
	if (name in is_size) {
		half = add(name "-half", line, before, name " / 2 in functions")
		emit("#define " name "_USED (lop_fault == " half " ? " name " / 2 : " name ")")
		return
	}
	double = add(name, line, before, "2 * (" value[name] ")")
	half = add(name "-half", line, before, "(" value[name] ") / 2")
	emit("#ifndef __clang__\n#undef " name)
	emit("#define " name " (lop_fault == " double " ? 2 * (" value[name] ") : lop_fault == " half " ? (" value[name] ") / 2 : (" value[name] "))\n#endif")
}

function add_enum(line, s,    parts, count, i) {
	count = split(s, parts, /[{},]/)
	for (i = 1; i <= count; i++)
		if (sub(/ = .*/, "", parts[i])) add_constant(trimmed(parts[i]), line, s)
}

# The comment that begins in line n, without its stars.
function comment_at(path, n,    s, comment) {
	do { s = source[path, n++]; comment = comment "\n" s } while (s !~ /\*\//)
	gsub(/\n \*( |$)/, "\n", comment)
	return comment
}

# A line of a formula may name the function that computes it. In the comment at the head of a file, which describes no one function, it has to.
function find_named(path,    n, i, count, s, line) {
	header = path
	for (n = 1; n <= last[path]; n++) {
		if (source[path, n] !~ /^\/\*/) continue
		s = comment_at(path, n)
		count = split(s, line, "\n")
		for (i = 1; i <= count; i++) {
			if (line[i] !~ /^    [^ 0-9]/) continue
			if (match(line[i], /lop_[a-z0-9_]+\(\)/)) is_named[substr(line[i], RSTART, RLENGTH - 2)] = 1
			else if (is_head(s)) gap("names no function: " line[i])
		}
	}
}

function is_head(comment) { return comment ~ /\nTested in: / }

function read_header(path,    n, s, comment, table) {
	header = path
	for (n = 1; n <= last[path]; n++) {
		s = source[path, n]
		if (s ~ /^\/\*/) {
			comment = comment_at(path, n)
			if (is_head(comment)) comment = ""
			for (emit(s); s !~ /\*\//; emit(s)) s = source[path, ++n]
		} else if (s ~ /^(lop_rule|lop_subprog) /) {
			n = read_function(path, n, comment)
			comment = ""
		} else {
			emit(s)
			if (is_constant(s)) add_constant(name_of_constant(s), n, s)
			else if (s ~ /^enum \{ /) add_enum(n, s)
			# A comment describes what follows without a gap: constants or a table, and the function that uses these.
			if (s ~ /^($|struct |enum |\/\/)/) comment = ""
		}
	}
	if (out) close(out "/" header)
}

function has_formula(comment) {
	return comment ~ /\n    [^ 0-9]/ || comment ~ / (=|<|>|<=|>=|\/|\*|\+=|-=) | x [0-9]|[0-9]\^|argm(in|ax)|root of/
}

# A comment with a formula, a numbered list, a share, a time or constants.
function is_precise(comment) {
	return has_formula(comment) || comment ~ /\n    +[^ ]/ || comment ~ /[Ss]ums? of|twice|constant/ ||
		comment ~ /[0-9] (%|ms|us|s|MPKI)|(half|third|fourth|fifth|tenth|quarter)s?[^a-z]/ ||
		comment ~ /(^|[^a-z])(a|an|one|two|three|four|five|ten)[ \n](second|minute|hour)s?([^a-z]|$)/
}

# Reads the function that begins in line n; returns its last line.
function read_function(path, n, comment,    name, s, i, k, found) {
	s = source[path, n]
	name = s; sub(/\(.*/, "", name); sub(/.*[ *]/, "", name)
	lines = variants = 0
	if (s ~ /\}$/) {
		match(s, / \{ /)
		emit(substr(s, 1, RSTART))
		body[++lines] = "\t" substr(s, RSTART + 3, length(s) - RSTART - 4)
		at[lines] = n
	} else {
		for (; source[path, n] != "{"; n++) emit(source[path, n])
		for (n++; source[path, n] != "}"; n++) { body[++lines] = source[path, n]; at[lines] = n }
	}
	if (is_precise(comment) || name in is_named) for (i = 1; i <= lines; i++) find_variants(i)
	if (!variants && (has_formula(comment) || name in is_named)) gap(name " has a formula and no fault")
	delete is_named[name]
	emit("{")
	for (k = 1; k <= variants; k++) {
		found = add(name "-" k, at[varied[k]], body[varied[k]], variant[k])
		emit((k > 1 ? "else " : "") "if (lop_fault == " found ") {")
		for (i = 1; i <= lines; i++) emit(used(i == varied[k] ? variant[k] : body[i]))
		emit("}")
	}
	if (variants) emit("else {")
	for (i = 1; i <= lines; i++) emit(used(body[i]))
	emit(variants ? "}\n}" : "}")
	return n
}

# Constants that declarations need are altered where functions use them.
function used(s,    name) {
	if (s ~ /LOP_/) for (name in is_size) s = reworded(s, name, name "_USED")
	return s
}

function vary(i, s) { varied[++variants] = i; variant[variants] = s }

function find_variants(i,    s, code, rest, o, from, to, p, hit, before, after, digits, skipped) {
	s = body[i]
	code = code_of(s) " "
	rest = substr(s, length(code))
	# Loops and their ends are bounds; what a loop of one line does is none.
	if (code ~ /^#|lop_assert|lop_cpus_next\(/ || trimmed(body[i + 1]) == "break;" && i < lines) return
	skipped = match(code, /lop_for[a-z_]*\([^()]*(\([^()]*\)[^()]*)*\)/) ? RSTART + RLENGTH : 1
	for (o = 1; o < operators; o += 2) {
		from = operator[o]; to = operator[o + 1]
		for (p = skipped; (hit = index(substr(code, p), from)); p = hit + 1) {
			hit += p - 1
			before = substr(code, 1, hit - 1); after = substr(code, hit + length(from))
			if (before ~ /[a-z_]$/ && from ~ /^lop_/) continue
			if (before ~ /LOP_[A-Z_]+$/ && from == " - " && after ~ /^1\)/) continue
			if (from == " & " && after ~ /^\([A-Z_0-9* ]+ - 1\)/) continue
			vary(i, before to after rest)
		}
	}
	# The first operand of a condition.
	if (match(code, / (&&|\|\|) /)) {
		to = substr(code, RSTART + 1, 1) == "&" ? "1 | !!" : "0 & !!"
		if (match(code, /return |if \(| = /)) vary(i, substr(code, 1, RSTART + RLENGTH - 1) to substr(code, RSTART + RLENGTH) rest)
	}
	for (p = skipped; match(substr(code, p), /[^A-Za-z0-9_.][0-9]+(ULL|U)?[^A-Za-z0-9_.]/); p += RSTART) {
		hit = p + RSTART; digits = substr(code, hit, RLENGTH - 2)
		before = substr(code, 1, hit - 1)
		if (digits + 0 < 2 || before ~ /(<<|>>|%) $/) continue
		vary(i, before "(2 * " digits ")" substr(code, hit + length(digits)) rest)
	}
}
