/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * A plugin for QEMU that counts the instructions of a sched_ext scheduler's callbacks, including the kernel's work for them, but without what other CPUs
 * do meanwhile. Argument marks=FILE: lines ADDRESS SYMBOL of the guest's kernel, for __bpf_prog_enter*, __bpf_prog_exit* and bpf_stats_handler.
 * out=FILE: written at the end, lines ADDRESS CALLS INSTRUCTIONS, with an address in the trampoline of the callback. Counts from the first call of
 * bpf_stats_handler to the second.
 * Waiting for a lock counts, and so do interrupts in the few callbacks that have them enabled (exit_task, programs at functions of the kernel), up to the
 * first callback in them. Callbacks that may sleep (init_task) do not count, nor do timers and tracepoints of the program, which have no trampoline.
 */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* The used part of QEMU's interface, from its documentation. PLUGIN_VERSION: the version that this QEMU requires. */
typedef uint64_t qemu_plugin_id_t;
struct qemu_plugin_tb;
int qemu_plugin_version = PLUGIN_VERSION;
void qemu_plugin_register_vcpu_tb_trans_cb(qemu_plugin_id_t, void (*)(qemu_plugin_id_t, struct qemu_plugin_tb *));
void qemu_plugin_register_vcpu_tb_exec_cb(struct qemu_plugin_tb *, void (*)(unsigned, void *), int flags, void *);
void qemu_plugin_register_atexit_cb(qemu_plugin_id_t, void (*)(qemu_plugin_id_t, void *), void *);
uint64_t qemu_plugin_tb_vaddr(const struct qemu_plugin_tb *);
size_t qemu_plugin_tb_n_insns(const struct qemu_plugin_tb *);

enum { MOST_CPUS = 128, MOST_MARKS = 64, MOST_CALLBACKS = 1024 };
/* The kernel's code for programs and modules is above this address. */
#define LOADED_CODE UINT64_C(0xffffffffc0000000)
#define KERNEL (UINT64_C(1) << 63)

enum kind { OTHER, ENTER, EXIT, SWITCH };
struct block { uint64_t address; size_t instructions; enum kind kind; };
static struct { uint64_t address; enum kind kind; } marks[MOST_MARKS];
static struct callback { uint64_t address, calls, instructions; } callbacks[MOST_CALLBACKS], before_any;
static unsigned nr_marks, nr_callbacks, switched;
static struct callback *runs[MOST_CPUS]; /* none: not in a callback; before_any: in one that is not known yet */
static const char *out;

static void fail(const char *what, const char *about)
{
	fprintf(stderr, "callbacks: %s %s\n", what, about);
	exit(1);
}

static struct callback *callback_at(uint64_t address)
{
	unsigned n = 0;
	while (n < nr_callbacks && callbacks[n].address != address)
		n++;
	if (n == MOST_CALLBACKS)
		fail("too many callbacks", "");
	if (n == nr_callbacks)
		callbacks[nr_callbacks++].address = address;
	return &callbacks[n];
}

static void block_runs(unsigned cpu, void *of)
{
	const struct block *block = of;
	struct callback **callback = &runs[cpu % MOST_CPUS];
	if (block->kind == SWITCH)
		switched++;
	else if (block->kind == ENTER)
		*callback = switched == 1 ? &before_any : NULL;
	else if (block->kind == EXIT)
		*callback = NULL;
	if (!*callback || block->kind != OTHER)
		return;
	if (*callback == &before_any && block->address >= LOADED_CODE) {
		*callback = callback_at(block->address);
		(*callback)->calls++;
	}
	(*callback)->instructions += block->instructions;
}

static void block_is_translated(qemu_plugin_id_t id, struct qemu_plugin_tb *tb)
{
	uint64_t address = qemu_plugin_tb_vaddr(tb);
	struct block *block;
	unsigned n;
	if (!(address & KERNEL))
		return;
	block = malloc(sizeof(*block)); /* never freed: QEMU does not tell when it drops a block */
	if (!block)
		fail("no memory", "");
	*block = (struct block){ .address = address, .instructions = qemu_plugin_tb_n_insns(tb) };
	for (n = 0; n < nr_marks; n++)
		if (marks[n].address == address)
			block->kind = marks[n].kind;
	qemu_plugin_register_vcpu_tb_exec_cb(tb, block_runs, 0, block);
	(void)id;
}

static void write_counts(qemu_plugin_id_t id, void *unused)
{
	FILE *file = fopen(out, "w");
	unsigned n;
	if (!file)
		fail("cannot write", out);
	for (n = 0; n < nr_callbacks; n++)
		fprintf(file, "%" PRIx64 " %" PRIu64 " %" PRIu64 "\n", callbacks[n].address, callbacks[n].calls, callbacks[n].instructions);
	if (fclose(file))
		fail("cannot write", out);
	(void)id, (void)unused;
}

static void read_marks(const char *name)
{
	FILE *file = fopen(name, "r");
	unsigned of_kind[SWITCH + 1] = { 0 };
	char symbol[128];
	uint64_t address;
	if (!file)
		fail("cannot read", name);
	while (nr_marks < MOST_MARKS && fscanf(file, "%" SCNx64 " %127s", &address, symbol) == 2) {
		enum kind kind = strstr(symbol, "_enter") ? ENTER : strstr(symbol, "_exit") ? EXIT : SWITCH;
		marks[nr_marks].address = address;
		marks[nr_marks++].kind = kind;
		of_kind[kind]++;
	}
	fclose(file);
	if (!of_kind[ENTER] || !of_kind[EXIT] || of_kind[SWITCH] != 1)
		fail("too few marks in", name);
}

int qemu_plugin_install(qemu_plugin_id_t id, const void *about, int nr, char **arguments)
{
	int n;
	for (n = 0; n < nr; n++) {
		if (!strncmp(arguments[n], "out=", 4))
			out = arguments[n] + 4;
		else if (!strncmp(arguments[n], "marks=", 6))
			read_marks(arguments[n] + 6);
		else
			fail("unknown argument", arguments[n]);
	}
	if (!out || !nr_marks)
		fail("wants", "marks=FILE and out=FILE");
	out = strdup(out);
	qemu_plugin_register_vcpu_tb_trans_cb(id, block_is_translated);
	qemu_plugin_register_atexit_cb(id, write_counts, NULL);
	(void)about;
	return 0;
}
