/* SPDX-License-Identifier: GPL-2.0-only */
#include "load.h"
#include <unistd.h>
/*
 * Two applications at the same time, each in its own process: a sequential one, and one with n threads. Both only
 * compute.
 */

static struct {
	uint64_t threads, one_instructions, many_instructions;
} asked = { .threads = 7, .one_instructions = 2000000000, .many_instructions = 2000000000 };

static const struct load_option options[] = {
	LOAD_OPTION_THREADS(&asked.threads, "n, threads of the parallel application"),
	LOAD_OPTION_COUNT("one-instructions", &asked.one_instructions, 4, 1e15, "length of the sequential application"),
	LOAD_OPTION_COUNT("many-instructions", &asked.many_instructions, 4, 1e15, "length of each thread of the parallel one"),
};

static const struct load load = {
	.name = "one-and-many",
	.purpose = "a sequential application beside one of several threads, in two processes",
	.example = "one-and-many --threads 3 --one-instructions 1e9 --many-instructions 5e8",
	.options = options,
	.nr_options = LOAD_NR(options),
};

struct application {
	const char *name;
	uint64_t instructions;
	struct load_team team;
	int pid;
};

static void compute(struct load_thread *thread)
{
	const struct application *application = thread->team->shared;

	thread->value = load_compute(thread->value, application->instructions);
}

static void begin(struct application *application, uint64_t threads)
{
	load_team_begin(&application->team, threads, compute, application);
}

/* A single thread is the process itself, so that a sequential application has no other thread. */
static void start(struct application *application)
{
	application->pid = load_fork(application->name);
	if (application->pid)
		return;
	if (application->team.size == 1)
		load_run_here(&application->team.threads[0]);
	else
		load_run(&application->team);
	_exit(0);
}

static void report(const struct application *application)
{
	const struct load_team *team = &application->team;
	uint64_t started_ns = team->threads[0].started_ns, ended_ns = 0, cpu_ns = 0;

	for (uint64_t i = 0; i < team->size; i++) {
		if (team->threads[i].started_ns < started_ns)
			started_ns = team->threads[i].started_ns;
		if (team->threads[i].ended_ns > ended_ns)
			ended_ns = team->threads[i].ended_ns;
		cpu_ns += team->threads[i].cpu_ns;
	}
	json_object(NULL);
	json_text("name", application->name);
	json_count("process", (uint64_t)application->pid);
	load_report_times(started_ns, ended_ns);
	json_ms("cpu_ms", cpu_ns);
	load_report_threads(team, NULL);
	json_close();
}

int main(int argc, char **argv)
{
	static struct application both[2] = { { .name = "one" }, { .name = "many" } };
	bool correct = true;

	load_begin(&load, argc, argv);
	both[0].instructions = asked.one_instructions;
	both[1].instructions = asked.many_instructions;
	begin(&both[0], 1);
	begin(&both[1], asked.threads);
	for (int i = 0; i < 2; i++)
		start(&both[i]);
	for (int i = 0; i < 2; i++)
		correct &= load_wait_for(both[i].pid);
	load_report(load_now_ns());
	json_array("applications");
	for (int i = 0; i < 2; i++) {
		report(&both[i]);
		correct &= load_team_computed(&both[i].team, both[i].instructions, 1);
	}
	json_close();
	json_bits("checksum", load_team_checksum(&both[0].team) + load_team_checksum(&both[1].team));
	return load_end(correct);
}
