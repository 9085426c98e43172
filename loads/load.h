/* SPDX-License-Identifier: GPL-2.0-only */
#pragma once
#include <pthread.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include "hint.h"
/*
 * Shared by all loads: options, work of a known length, threads that note their times, JSON.
 *
 * A load calls load_begin() first, does its work, prints between load_report() and load_end(), and returns what load_end()
 * returns: 0, or 1 if its own check of the result failed. Exit code 2 is a wrong option.
 */

/* The largest whole number that every reader of JSON keeps exactly. */
#define LOAD_MOST 9007199254740991.0
#define LOAD_MOST_THREADS 4096

/* --- options --- */

enum load_kind { LOAD_COUNT, LOAD_REAL, LOAD_CHOICE, LOAD_TEXT };

struct load_option {
	const char *name;           /* as typed after the dashes, with its unit; in JSON with _ for - */
	const char *help;
	enum load_kind kind;
	union {
		uint64_t *count;
		double *real;
		unsigned *choice;       /* index into `choices` */
		const char **text;
	} value;                    /* holds the default before load_begin() */
	double least, most;
	const char *const *choices; /* ends with NULL */
};

#define LOAD_OPTION_COUNT(NAME, VALUE, LEAST, MOST, HELP) \
	{ .name = (NAME), .help = (HELP), .kind = LOAD_COUNT, .value.count = (VALUE), .least = (LEAST), .most = (MOST) }
#define LOAD_OPTION_REAL(NAME, VALUE, LEAST, MOST, HELP) \
	{ .name = (NAME), .help = (HELP), .kind = LOAD_REAL, .value.real = (VALUE), .least = (LEAST), .most = (MOST) }
#define LOAD_OPTION_CHOICE(NAME, VALUE, CHOICES, HELP) \
	{ .name = (NAME), .help = (HELP), .kind = LOAD_CHOICE, .value.choice = (VALUE), .choices = (CHOICES) }
#define LOAD_OPTION_TEXT(NAME, VALUE, HELP) \
	{ .name = (NAME), .help = (HELP), .kind = LOAD_TEXT, .value.text = (VALUE) }
#define LOAD_OPTION_THREADS(VALUE, HELP) LOAD_OPTION_COUNT("threads", (VALUE), 1, LOAD_MOST_THREADS, (HELP))

struct load {
	const char *name;
	const char *purpose;  /* one sentence */
	const char *example;  /* a command line that ends within seconds */
	const struct load_option *options;
	size_t nr_options;
};

#define LOAD_NR(ARRAY) (sizeof(ARRAY) / sizeof((ARRAY)[0]))

/* Reads the options; ends the program for --help or a wrong option. Times count from here. */
void load_begin(const struct load *load, int argc, char **argv);

/* Ends the program with code 2 and a sentence: option, value, way out. For conditions that only the load itself knows. */
_Noreturn void load_refuse(const char *option, const char *value, const char *way_out);

/* Ends the program with code 1 and "NAME: cannot WHAT: reason; way out". */
_Noreturn void load_fail(const char *what, int error, const char *way_out);

/* --- clock --- */

uint64_t load_now_ns(void);        /* CLOCK_MONOTONIC, which kernel traces can use too */
uint64_t load_thread_cpu_ns(void); /* of the calling thread */
uint64_t load_started_ns(void);    /* when load_begin() was done */

/* --- work of a known length --- */

/*
 * One turn is x = M x + A modulo 2^64 in four instructions that each depend on the previous one, on x86-64 and AArch64 alike: multiply,
 * add, count down, jump back. So a turn takes the same number of cycles everywhere in the load, needs no memory and no vector unit,
 * and the result after any number of turns is known in advance.
 */
#define LOAD_INSTRUCTIONS_PER_TURN 4

/* x after instructions / 4 turns. */
uint64_t load_compute(uint64_t x, uint64_t instructions);

/* The same by squaring the step instead of repeating it: the expected result of `times` consecutive calls of load_compute(). */
uint64_t load_expected(uint64_t x, uint64_t instructions, uint64_t times);

/* `instructions` rounded down to whole turns, so that the parts of split work add up to the whole. */
static inline uint64_t load_whole_turns(double instructions)
{
	return (uint64_t)(instructions / LOAD_INSTRUCTIONS_PER_TURN) * LOAD_INSTRUCTIONS_PER_TURN;
}

/* The initial value of the computation of thread or job `index`. */
static inline uint64_t load_first(uint64_t index)
{
	return index + 1;
}

/* One of `parts` parts of a whole, which differ by at most 1; the larger ones come first. */
static inline uint64_t load_part(uint64_t whole, uint64_t parts, uint64_t index)
{
	return whole / parts + (index < whole % parts ? 1 : 0);
}

/* --- threads --- */

struct load_thread {
	_Alignas(64) uint64_t index;
	const struct load_team *team;
	struct lop_hint_record *hint;
	uint64_t started_ns, ended_ns, cpu_ns;
	uint64_t value;                      /* state of its computation, initially load_first(index) */
	uint64_t waits, sleeps, flags_raised; /* how often it waited, slept to wait, raised SPINNING */
	uint64_t flags_left;                 /* flags still up at its end; there should be none */
	uint64_t detail;                     /* whatever the load counts for each thread */
	pthread_t handle;
};

struct load_team {
	uint64_t size;
	struct load_thread *threads;
	struct lop_hint_record *hints; /* of each thread; starts on a page */
	void (*work)(struct load_thread *);
	void *shared;                  /* whatever the threads work on */
};

/* Zeroed memory that starts on a page and is shared with processes that are forked later. Ends the program if none is available. */
void *load_shared_memory(size_t bytes);

/* A team must not move, since its threads point to it. It is shared with processes that are forked later. */
void load_team_begin(struct load_team *team, uint64_t size, void (*work)(struct load_thread *), void *shared);

/* Before load_run(): relative length of the work of thread `index`, in a unit that is the same for the whole team. */
void load_declare_length(struct load_team *team, uint64_t index, uint64_t length);

/* Starts all threads, one after another, and waits for all. */
void load_run(struct load_team *team);

/* Runs the work of one thread in the calling one. */
void load_run_here(struct load_thread *thread);

/* Forks a process that dies with its parent. Returns 0 in the child. Ends the program if it cannot fork. */
int load_fork(const char *name);

/* Waits for a child; true if it ended with code 0. */
bool load_wait_for(int pid);

/* --- report --- */

struct load_phase {
	const char *name;
	uint64_t started_ns, ended_ns;
};

void json_object(const char *name); /* name: NULL in arrays */
void json_array(const char *name);
void json_close(void);
void json_count(const char *name, uint64_t value);
void json_real(const char *name, double value);
void json_ms(const char *name, uint64_t ns);
void json_text(const char *name, const char *value);
void json_bits(const char *name, uint64_t value); /* 64 bits as text, since JSON numbers have 53 */
void json_flag(const char *name, bool value);

/* Prints name, parameters and times of the whole; the work ended at `ended_ns`. */
void load_report(uint64_t ended_ns);

/* Prints started_ms, ended_ms (both since the start of the load) and cpu_ms of each thread; `more` may be NULL. */
void load_report_threads(const struct load_team *team, void (*more)(const struct load_thread *));

/* For `more`: prints waits, sleeps, flags_raised, flags_left. */
void load_report_waits(const struct load_thread *thread);

void load_report_phases(const struct load_phase *phases, size_t count);

/* Begins the next phase at the end of the last one. */
static inline void load_phase_next(struct load_phase *last, struct load_phase *next)
{
	last->ended_ns = next->started_ns = load_now_ns();
}

/* Prints started_ms and ended_ms of the present object. */
void load_report_times(uint64_t started_ns, uint64_t ended_ns);

/* Passes on a result that is to be checked, or a wrong one with --spoil. */
uint64_t load_spoil(uint64_t result);

/* Whether each thread computed `instructions`, `times` times. */
bool load_team_computed(const struct load_team *team, uint64_t instructions, uint64_t times);

/* The results of all threads in one number that does not depend on their order. */
uint64_t load_team_checksum(const struct load_team *team);

/* Prints the end, and reports on standard error if the result is wrong or could not be printed. */
int load_end(bool correct);
