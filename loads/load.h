/* SPDX-License-Identifier: GPL-2.0-only */
#pragma once
#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <lopsided.h>
/*
 * What all loads share: options, work of a known length, threads that record their times, JSON.
 *
 * A load calls load_begin() first, does its work, prints between load_report() and load_end(), and returns the value of
 * load_end(): 0, or 1 if its own check of the result failed. Exit code 2: a wrong option.
 */

/* The largest whole number that every JSON reader keeps exactly. */
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

/* Reads the options. Ends the program after --help, or with a message if an option is wrong. Times count from here. */
void load_begin(const struct load *load, int argc, char **argv);

/* Ends the program with code 2 and a message: option, value, way out. For checks that only the load can make. */
_Noreturn void load_refuse(const char *option, const char *value, const char *way_out);

/* Ends the program with code 1 and "NAME: cannot WHAT: reason; way out". */
_Noreturn void load_fail(const char *what, int error, const char *way_out);

/* --- clock --- */

uint64_t load_now_ns(void);        /* CLOCK_MONOTONIC, the clock of kernel traces that use their monotonic clock */
uint64_t load_thread_cpu_ns(void); /* of the calling thread */
uint64_t load_started_ns(void);    /* the time when load_begin() returned */

/* --- work of a known length --- */

/*
 * One turn is x = M x + A modulo 2^64 in four instructions, on x86-64 and AArch64 alike: multiply, add, decrement,
 * branch. Each turn waits for the result of the one before. So a turn takes the same number of cycles anywhere in the
 * load and needs no memory and no vector unit, and its result after any number of turns is known in advance.
 */
#define LOAD_INSTRUCTIONS_PER_TURN 4

/* x after instructions / 4 turns. */
uint64_t load_compute(uint64_t x, uint64_t instructions);

/* The result of `times` calls of load_compute() in a row, computed by squaring the step instead of repeating it. */
uint64_t load_expected(uint64_t x, uint64_t instructions, uint64_t times);

/* Rounds down to whole turns, in instructions: when work is split, the parts add up to the whole. */
static inline uint64_t load_whole_turns(double instructions)
{
	return (uint64_t)(instructions / LOAD_INSTRUCTIONS_PER_TURN) * LOAD_INSTRUCTIONS_PER_TURN;
}

/* Start value of the computation of thread or job `index`. */
static inline uint64_t load_first(uint64_t index)
{
	return index + 1;
}

/* Splits a whole into `parts` that differ by at most 1, the larger ones first; returns part `index`. */
static inline uint64_t load_part(uint64_t whole, uint64_t parts, uint64_t index)
{
	return whole / parts + (index < whole % parts ? 1 : 0);
}

/* --- threads --- */

struct load_thread {
	_Alignas(64) uint64_t index;
	const struct load_team *team;
	uint32_t length;                     /* relative length of its work, 0: not declared */
	_Atomic bool spinning;               /* it has given the hint SPINNING */
	uint64_t started_ns, ended_ns, cpu_ns;
	uint64_t value;                      /* state of its computation, starts as load_first(index) */
	uint64_t waits, sleeps, flags_raised; /* times it waited, slept for that, set SPINNING */
	uint64_t flags_left;                 /* 1: SPINNING was still set at its end; must be 0 */
	uint64_t detail;                     /* a count that each load defines */
	pthread_t handle;
};

struct load_team {
	uint64_t size;
	struct load_thread *threads;
	void (*work)(struct load_thread *);
	void *shared;               /* for data of the load */
};

/* Zeroed memory that starts on a page and is shared with processes forked later. Ends the program if there is none. */
void *load_shared_memory(size_t bytes);

/*
 * The team must not move, since its threads point to it. Processes forked later see what the threads record, and the
 * parent sees what these processes record.
 */
void load_team_begin(struct load_team *team, uint64_t size, void (*work)(struct load_thread *), void *shared);

/* Call before load_run(): relative length of the work of thread `index`, in any unit that is the same for the team. */
void load_declare_length(struct load_team *team, uint64_t index, uint64_t length);

/* Starts all threads one after another, and waits for all of them. */
void load_run(struct load_team *team);

/* Runs the work of one thread in the calling thread. */
void load_run_here(struct load_thread *thread);

/* Forks a process that dies with its parent. Returns 0 in the child. Ends the program if it cannot fork. */
int load_fork(const char *name);

/* Waits for a child. True: it ended with code 0. */
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
void json_bits(const char *name, uint64_t value); /* 64 bits as text, since JSON readers keep 53 */
void json_flag(const char *name, bool value);

/* Prints name, parameters and times of the whole run. The work ended at `ended_ns`. */
void load_report(uint64_t ended_ns);

/* started_ms, ended_ms (both from the start of the load) and cpu_ms of each thread. `more` may be NULL. */
void load_report_threads(const struct load_team *team, void (*more)(const struct load_thread *));

/* For `more`: waits, sleeps, flags_raised, flags_left. */
void load_report_waits(const struct load_thread *thread);

void load_report_phases(const struct load_phase *phases, size_t count);

/* Ends one phase and begins the next at the same time. */
static inline void load_phase_next(struct load_phase *last, struct load_phase *next)
{
	last->ended_ns = next->started_ns = load_now_ns();
}

/* started_ms and ended_ms of the object that is being printed. */
void load_report_times(uint64_t started_ns, uint64_t ended_ns);

/* Passes a result to its check: unchanged, or changed if --spoil asks to see the check fail. */
uint64_t load_spoil(uint64_t result);

/* True if each thread computed `instructions`, `times` times. */
bool load_team_computed(const struct load_team *team, uint64_t instructions, uint64_t times);

/* Combines what all threads computed into one number that does not depend on their order. */
uint64_t load_team_checksum(const struct load_team *team);

/* Ends the JSON object. Reports on standard error if the result is wrong or could not be printed. */
int load_end(bool correct);
