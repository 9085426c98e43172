/* SPDX-License-Identifier: GPL-2.0-only */
#include "load.h"
#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <sys/resource.h>
#include <sys/wait.h>
/*
 * Imitates make -jN: N slots for many short jobs. A job is a shell that waits for a compiler driver, which waits for a compiler
 * and then for an assembler; make itself computes a little before it starts each job; a serial end follows the last one.
 * Processes are forked and run no other program.
 *
 * All work together is jobs * mean: a share for make, a share for the end, the rest in jobs of lognormal length with coefficient of
 * variation c: exp(sigma z), sigma^2 = ln(1 + c^2), z the normal quantile of one random point in each of `jobs` equal strata.
 */

enum { SINGLE, MAKE };
enum stage { SHELL, DRIVER, COMPILER, ASSEMBLER, STAGES };

static struct {
	uint64_t slots, jobs, mean_instructions, seed;
	double variation, helper_percent, tail_percent;
	unsigned chain;
} asked = {
	.slots = 1, .jobs = 1655, .mean_instructions = 528000000, .seed = 1,
	.variation = 4, .helper_percent = 2, .tail_percent = 3, .chain = MAKE,
};

static const char *const chains[] = { "single", "make", NULL };

static const struct load_option options[] = {
	LOAD_OPTION_COUNT("slots", &asked.slots, 1, 4096, "N, jobs at a time"),
	LOAD_OPTION_COUNT("jobs", &asked.jobs, 1, 1e6, "jobs in all"),
	LOAD_OPTION_COUNT("mean-instructions", &asked.mean_instructions, 400, 1e12, "mean length of a job, 0.22 s at 2.4 GHz by default"),
	LOAD_OPTION_REAL("variation", &asked.variation, 0, 20, "coefficient of variation of lengths, lognormal"),
	LOAD_OPTION_REAL("helper-percent", &asked.helper_percent, 0, 50, "share of all work that make does itself"),
	LOAD_OPTION_REAL("tail-percent", &asked.tail_percent, 0, 50, "share of all work in the serial end"),
	LOAD_OPTION_CHOICE("chain", &asked.chain, chains, "processes of a job: one, or four as make starts them"),
	LOAD_OPTION_COUNT("seed", &asked.seed, 0, LOAD_MOST, "of the lengths"),
};

static const struct load load = {
	.name = "fork-storm",
	.purpose = "many short processes of very different length in N slots, as in make -jN; by default six minutes of a core at 2.4 GHz",
	.example = "fork-storm --slots 2 --jobs 100 --mean-instructions 2e7",
	.options = options,
	.nr_options = LOAD_NR(options),
};

static const char *const stage_names[STAGES] = { "sh", "cc", "cc1", "as" };
static const double stage_shares[STAGES] = { 0.01, 0.02, 0.89, 0.08 };

struct job {
	uint64_t instructions;        /* of all stages */
	uint64_t started_ns, ended_ns;
	uint64_t cpu_ns;              /* of all its processes */
	uint64_t value[STAGES];       /* what each stage computed; written by its process */
};

struct slot {
	int pid; /* 0: free */
	uint64_t job;
};

struct build {
	struct job *jobs;   /* shared with all processes; the last of the jobs + 1 entries is the serial end */
	struct slot *slots; /* private to make */
	uint64_t running, most_running, failed;
	uint64_t helper_instructions, helper_value; /* of make, before each job */
};

/* In (0, 1), from the upper half of the next state. */
static double random_unit(uint64_t *state)
{
	*state = load_compute(*state, LOAD_INSTRUCTIONS_PER_TURN);
	return ((double)(*state >> 32) + 0.5) / 4294967296.0;
}

/* The normal quantile z, P(Z < z) = erfc(-z / sqrt 2) / 2 = p, by bisection. */
static double normal_quantile(double p)
{
	double low = -40, high = 40;

	for (int i = 0; i < 64; i++) {
		double middle = (low + high) / 2;

		if (erfc(-middle / sqrt(2)) / 2 < p)
			low = middle;
		else
			high = middle;
	}
	return low;
}

/* Fills `weights` with lengths in random order, and returns their sum. */
static double draw(double *weights)
{
	uint64_t random = load_first(asked.seed), n = asked.jobs;
	double sum = 0, sigma = sqrt(log1p(asked.variation * asked.variation));

	for (uint64_t i = 0; i < n; i++)
		sum += weights[i] = exp(sigma * normal_quantile(((double)i + random_unit(&random)) / (double)n));
	for (uint64_t i = n - 1; i > 0; i--) {
		uint64_t other = (uint64_t)(random_unit(&random) * (double)(i + 1));
		double weight = weights[i];

		weights[i] = weights[other];
		weights[other] = weight;
	}
	return sum;
}

static void plan(struct build *build)
{
	double all = (double)asked.jobs * (double)asked.mean_instructions;
	double of_jobs = all * (100 - asked.helper_percent - asked.tail_percent) / 100;
	double *weights = malloc(asked.jobs * sizeof(*weights));

	build->slots = calloc(asked.slots, sizeof(*build->slots));
	if (!weights || !build->slots)
		load_fail("get memory", errno, "ask for fewer jobs");
	double sum = draw(weights);

	build->jobs = load_shared_memory((asked.jobs + 1) * sizeof(*build->jobs));
	for (uint64_t i = 0; i < asked.jobs; i++)
		build->jobs[i].instructions = load_whole_turns(of_jobs * weights[i] / sum);
	build->jobs[asked.jobs].instructions = load_whole_turns(all * asked.tail_percent / 100);
	build->helper_instructions = load_whole_turns(all * asked.helper_percent / 100 / (double)asked.jobs);
	build->helper_value = load_first(asked.jobs + 1);
	free(weights);
}

static bool is_chain(uint64_t index)
{
	return asked.chain == MAKE && index < asked.jobs;
}

/* The compiler gets what the other stages leave; a job without a chain has one stage. */
static uint64_t stage_instructions(const struct build *build, uint64_t index, enum stage stage)
{
	uint64_t all = build->jobs[index].instructions, others = 0;

	if (!is_chain(index))
		return stage == SHELL ? all : 0;
	if (stage != COMPILER)
		return load_whole_turns((double)all * stage_shares[stage]);
	for (int other = 0; other < STAGES; other++)
		others += other == COMPILER ? 0 : stage_instructions(build, index, (enum stage)other);
	return all - others;
}

static uint64_t stage_first(uint64_t index, enum stage stage)
{
	return load_first(index * STAGES + stage);
}

static void run_stage(struct build *build, uint64_t index, enum stage stage);

/* Starts a process for the stage; its parent waits for it. */
static void run_child(struct build *build, uint64_t index, enum stage stage)
{
	int pid = load_fork(stage_names[stage]);

	if (!pid) {
		run_stage(build, index, stage);
		_exit(0);
	}
	if (!load_wait_for(pid))
		_exit(1);
}

static void run_stage(struct build *build, uint64_t index, enum stage stage)
{
	build->jobs[index].value[stage] = load_compute(stage_first(index, stage), stage_instructions(build, index, stage));
	if (is_chain(index) && stage == SHELL)
		run_child(build, index, DRIVER);
	if (is_chain(index) && stage == DRIVER) {
		run_child(build, index, COMPILER);
		run_child(build, index, ASSEMBLER);
	}
}

static struct slot *slot_of(struct build *build, int pid)
{
	for (uint64_t i = 0; i < asked.slots; i++)
		if (build->slots[i].pid == pid)
			return &build->slots[i];
	return NULL;
}

static void start(struct build *build, uint64_t index)
{
	struct slot *slot = slot_of(build, 0);

	slot->job = index;
	build->jobs[index].started_ns = load_now_ns();
	slot->pid = load_fork(index < asked.jobs ? stage_names[SHELL] : "ld");
	if (!slot->pid) {
		run_stage(build, index, SHELL);
		_exit(0);
	}
	if (++build->running > build->most_running)
		build->most_running = build->running;
}

/* Waits until one of the jobs has ended. Its usage includes all processes it waited for. */
static void reap(struct build *build)
{
	struct rusage usage;
	int status, pid;

	while ((pid = wait4(-1, &status, 0, &usage)) < 0)
		if (errno != EINTR)
			load_fail("wait for a job", errno, "do not let its parent ignore SIGCHLD");
	struct slot *slot = slot_of(build, pid);

	if (!slot)
		return;
	struct job *job = &build->jobs[slot->job];

	job->ended_ns = load_now_ns();
	job->cpu_ns = (uint64_t)(usage.ru_utime.tv_sec + usage.ru_stime.tv_sec) * 1000000000 +
		(uint64_t)(usage.ru_utime.tv_usec + usage.ru_stime.tv_usec) * 1000;
	build->failed += !WIFEXITED(status) || WEXITSTATUS(status) != 0;
	build->running--;
	slot->pid = 0;
}

static void reap_all(struct build *build)
{
	while (build->running)
		reap(build);
}

static void run(struct build *build, struct load_phase *phases)
{
	phases[0].started_ns = load_now_ns();
	for (uint64_t i = 0; i < asked.jobs; i++) {
		if (build->running == asked.slots)
			reap(build);
		build->helper_value = load_compute(build->helper_value, build->helper_instructions);
		start(build, i);
	}
	reap_all(build);
	load_phase_next(&phases[0], &phases[1]);
	start(build, asked.jobs);
	reap_all(build);
	phases[1].ended_ns = load_now_ns();
}

static bool stage_is_right(const struct build *build, uint64_t index, enum stage stage)
{
	uint64_t found = load_spoil(build->jobs[index].value[stage]);

	if (!is_chain(index) && stage != SHELL)
		return true;
	return found == load_expected(stage_first(index, stage), stage_instructions(build, index, stage), 1);
}

/* Whether each stage of each job was computed, and make's own work. */
static bool computed(const struct build *build)
{
	bool right = build->failed == 0 &&
		build->helper_value == load_expected(load_first(asked.jobs + 1), build->helper_instructions, asked.jobs);

	for (uint64_t i = 0; i <= asked.jobs; i++)
		for (int stage = 0; stage < STAGES; stage++)
			right &= stage_is_right(build, i, (enum stage)stage);
	return right;
}

static void report_jobs(const struct build *build)
{
	json_array("jobs");
	for (uint64_t i = 0; i <= asked.jobs; i++) {
		const struct job *job = &build->jobs[i];

		json_object(NULL);
		json_count("job", i);
		json_count("instructions", job->instructions);
		load_report_times(job->started_ns, job->ended_ns);
		json_ms("cpu_ms", job->cpu_ns);
		json_close();
	}
	json_close();
}

int main(int argc, char **argv)
{
	struct build build = { 0 };
	struct load_phase phases[2] = { { .name = "jobs" }, { .name = "tail" } };

	load_begin(&load, argc, argv);
	plan(&build);
	run(&build, phases);
	load_report(phases[1].ended_ns);
	load_report_phases(phases, LOAD_NR(phases));
	report_jobs(&build);
	json_count("most_running", build.most_running);
	json_count("helper_instructions", build.helper_instructions * asked.jobs);
	json_count("failed_jobs", build.failed);
	free(build.slots);
	return load_end(computed(&build));
}
