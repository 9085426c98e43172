# SPDX-License-Identifier: GPL-2.0-only
# Prints the tables of vm/bench.sh from its `times` and `callbacks`, and writes the same as JSON to the file `json`. `schedulers`: their order.

FILENAME ~ /times$/ {
	if (!($3 in unit)) { benchmark[++benchmarks] = $3; unit[$3] = $5 }
	value[$3, $2, ++count[$3, $2]] = $4
}

FILENAME ~ /callbacks$/ {
	if (!($1 in switches)) { counted[++nr_counted] = $1; switches[$1] = $5 }
	program[$1, ++programs[$1]] = $2
	calls[$1, $2] = $3; instructions[$1, $2] = $4
	all_calls[$1] += $3; all[$1] += $4
	if (!($2 in seen)) { seen[$2] = 1; callback[++callbacks] = $2 }
	of_all[$2] += $4
}

# Sorts value[b, s, 1..n].
function sort(b, s, n,   i, j, held) {
	for (i = 2; i <= n; i++) {
		held = value[b, s, i]
		for (j = i - 1; j > 0 && value[b, s, j] + 0 > held + 0; j--) value[b, s, j + 1] = value[b, s, j]
		value[b, s, j + 1] = held
	}
}

function median(b, s,   n) {
	n = count[b, s]
	return n % 2 ? value[b, s, (n + 1) / 2] : (value[b, s, n / 2] + value[b, s, n / 2 + 1]) / 2
}

function times_table(nr,   i, k, b, s) {
	printf "%-28s", "median (least to most)"
	for (k = 1; k <= nr; k++) printf " %26s", name[k]
	print ""
	for (i = 1; i <= benchmarks; i++) {
		b = benchmark[i]
		printf "%-28s", b ", " unit[b]
		for (k = 1; k <= nr; k++) printf " %26s", cell(b, name[k])
		print ""
	}
}

function cell(b, s,   n) {
	n = count[b, s]
	if (!n) return "-"
	sort(b, s, n)
	return sprintf("%.4g (%.4g to %.4g)", median(b, s), value[b, s, 1], value[b, s, n])
}

# Medians of all others relative to that of the first.
function ratios(nr,   i, k, b) {
	printf "\n%-28s", "ratio to " name[1]
	for (k = 2; k <= nr; k++) printf " %26s", name[k]
	print ""
	for (i = 1; i <= benchmarks; i++) {
		b = benchmark[i]
		printf "%-28s", b
		for (k = 2; k <= nr; k++) printf " %26s", count[b, name[1]] && count[b, name[k]] ? sprintf("%.3f", median(b, name[k]) / median(b, name[1])) : "-"
		print ""
	}
}

# Callbacks in order of their total over all schedulers, largest first.
function callbacks_table(   i, j, k, s, held) {
	print "\nInstructions of callbacks for the same work, including the kernel's work for them and waiting for locks:"
	for (i = 1; i <= nr_counted; i++) {
		s = counted[i]
		printf "%-16s %8.1f million, %8d calls, %8d for each of %d context switches, %.3f of %s\n", s, all[s] / 1e6, all_calls[s], all[s] / switches[s], switches[s], all[s] / switches[s] * switches[counted[1]] / all[counted[1]], counted[1]
	}
	for (i = 2; i <= callbacks; i++) {
		held = callback[i]
		for (j = i - 1; j > 0 && of_all[callback[j]] < of_all[held]; j--) callback[j + 1] = callback[j]
		callback[j + 1] = held
	}
	printf "\n%-28s", "a call (calls)"
	for (i = 1; i <= nr_counted; i++) printf " %18s", counted[i]
	print ""
	for (k = 1; k <= callbacks; k++) {
		printf "%-28s", callback[k]
		for (i = 1; i <= nr_counted; i++) {
			s = counted[i]
			printf " %18s", (s, callback[k]) in calls ? sprintf("%d (%d)", instructions[s, callback[k]] / calls[s, callback[k]], calls[s, callback[k]]) : "-"
		}
		print ""
	}
}

function write_json(nr,   i, k, n, s, b, sep) {
	printf "{\"times\":[" >json
	for (i = 1; i <= benchmarks; i++) for (k = 1; k <= nr; k++) {
		b = benchmark[i]; s = name[k]
		if (!count[b, s]) continue
		printf "%s{\"benchmark\":\"%s\",\"unit\":\"%s\",\"scheduler\":\"%s\",\"median\":%s,\"values\":[", sep, b, unit[b], s, median(b, s) >json
		for (n = 1; n <= count[b, s]; n++) printf "%s%s", (n > 1 ? "," : ""), value[b, s, n] >json
		printf "]}" >json
		sep = ","
	}
	printf "],\"callbacks\":[" >json
	sep = ""
	for (i = 1; i <= nr_counted; i++) {
		s = counted[i]
		for (k = 1; k <= programs[s]; k++) {
			b = program[s, k]
			printf "%s{\"scheduler\":\"%s\",\"callback\":\"%s\",\"calls\":%s,\"instructions\":%s,\"switches\":%s}", sep, s, b, calls[s, b], instructions[s, b], switches[s] >json
			sep = ","
		}
	}
	print "]}" >json
}

END {
	if (!benchmarks && !nr_counted) { print "nothing was measured"; exit 1 }
	nr = split(schedulers, name, " ")
	if (benchmarks) { times_table(nr); ratios(nr) }
	if (nr_counted) callbacks_table()
	write_json(nr)
}
