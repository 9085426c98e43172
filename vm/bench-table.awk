# Tables of vm/bench.sh from its `times` and `callbacks`, and the same as JSON in the file `json`. `schedulers`: their order.

FILENAME ~ /times$/ {
	if (!($3 in unit)) { benchmark[++benchmarks] = $3; unit[$3] = $5 }
	value[$3, $2, ++count[$3, $2]] = $4
}

FILENAME ~ /callbacks$/ {
	if (!($2 in seconds)) counted[++nr_counted] = $2 # in the order of the first round
	if (!(($1, $2) in seen)) { seen[$1, $2] = 1; seconds[$2] += $6; switches[$2] += $7 }
	if (!(($2, $3) in number)) { number[$2, $3] = ++programs[$2]; program[$2, programs[$2]] = $3 }
	calls[$2, number[$2, $3]] += $4; ns[$2, number[$2, $3]] += $5
	all_calls[$2] += $4; all_ns[$2] += $5
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

# Medians of all others over that of the first.
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

function callbacks_table(   i, k, s) {
	print "\nBPF programs for the same work, on a clock that counts instructions (4 ns each, the waiting for other CPUs among them):"
	for (i = 1; i <= nr_counted; i++) {
		s = counted[i]
		printf "%-16s %8.0f ns for each context switch, %8.0f ms in all, %8d calls\n", s, all_ns[s] / switches[s], all_ns[s] / 1e6, all_calls[s]
	}
	for (i = 2; i <= nr_counted; i++) {
		s = counted[i]
		printf "%-16s takes %.3f of %s for each context switch\n", s, all_ns[s] / switches[s] * switches[counted[1]] / all_ns[counted[1]], counted[1]
	}
	for (i = 1; i <= nr_counted; i++) {
		s = counted[i]
		printf "\n%s\n", s
		for (k = 1; k <= programs[s]; k++)
			printf "  %-20s %10.0f ns a call %12.0f calls/s\n", program[s, k], ns[s, k] / calls[s, k], calls[s, k] / seconds[s]
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
			printf "%s{\"scheduler\":\"%s\",\"program\":\"%s\",\"calls\":%s,\"ns\":%s,\"seconds\":%s,\"switches\":%s}", sep, s, program[s, k], calls[s, k], ns[s, k], seconds[s], switches[s] >json
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
