# SPDX-License-Identifier: GPL-2.0-only
# Combines `symbols`, `switches` and the counts of callbacks.c into a line SCHEDULER CALLBACK CALLS INSTRUCTIONS SWITCHES for each callback.
# `of`: the scheduler.

FILENAME ~ /symbols$/ { symbol[++symbols] = $2; at[symbols] = $1 }

FILENAME ~ /switches$/ { switches = $1 }

# All addresses have 16 digits, so their order as text is their numeric order.
FILENAME ~ /counted$/ {
	best = 0
	for (i = 1; i <= symbols; i++)
		if (at[i] <= $1 && (!best || at[i] > at[best])) best = i
	if (!best) { print "no symbol for " $1 >"/dev/stderr"; lost = 1; exit }
	name = symbol[best]
	sub(/^bpf__sched_ext_ops_/, "", name)
	if (!(name in calls)) names[++nr] = name
	calls[name] += $2
	instructions[name] += $3
}

END {
	if (lost) exit 1
	for (i = 1; i <= nr; i++) print of, names[i], calls[names[i]], instructions[names[i]], switches
}
