/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * The entry points that a compiler calls with -fsanitize=thread, and the fibres that they switch between. The
 * sanitizer's own library is not linked.
 *
 * Weak order: a store waits in a buffer of its CPU, and so does an atomic whose result is not used, since the kernel
 * makes it relaxed when it compiles BPF on arm64. Memory always shows the view of the running CPU: its buffer is
 * applied when it is switched in and undone when it is switched out.
 */
#define _GNU_SOURCE
#include "steps.h"
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <ucontext.h>

enum { MOST_REGIONS = 8, MOST_LATE = 6, STACK_BYTES = 256 * 1024, STEP_NS = 1 };
enum operation { STORE, OR, AND, ADD };

/* A store or atomic that other CPUs do not see yet. */
struct late {
	unsigned char *at;
	unsigned size;
	enum operation operation;
	uint64_t operand, before;
};

struct fibre {
	ucontext_t context;
	void (*body)(unsigned number);
	uint64_t wakes_ns;
	uint64_t stalled_until_ns;
	struct lock *waits_for;
	struct late late[MOST_LATE];
	unsigned nr_late;
	unsigned char *writes; /* the program is about to write here */
	unsigned writes_size;
	uint64_t writes_before;
};

static struct { uintptr_t begin, size; } regions[MOST_REGIONS];
static unsigned nr_regions, nr_fibres, now_runs = MOST_FIBRES;
static struct fibre fibres[MOST_FIBRES];
static ucontext_t outside;
static uint64_t state, steps, now_ns, most_steps, rests_at_ns;
static bool is_weak, rests;
static unsigned last_atomic_late; /* 1 + index in the buffer of the last atomic called; 0: it is not in the buffer */

static uint64_t next_random(void)
{
	uint64_t z = (state += 0x9e3779b97f4a7c15ULL);
	z = (z ^ z >> 30) * 0xbf58476d1ce4e5b9ULL;
	z = (z ^ z >> 27) * 0x94d049bb133111ebULL;
	return z ^ z >> 31;
}

uint64_t draw(uint64_t of) { return next_random() % of; }
unsigned running_fibre(void) { return now_runs; }
uint64_t steps_done(void) { return steps; }
uint64_t clock_ns(void) { return now_ns; }

void share(const void *memory, size_t size)
{
	regions[nr_regions].begin = (uintptr_t)memory;
	regions[nr_regions++].size = size;
}

static bool is_shared(const void *at)
{
	for (unsigned n = 0; n < nr_regions; n++)
		if ((uintptr_t)at - regions[n].begin < regions[n].size)
			return true;
	return false;
}

void begin_steps(uint64_t seed, bool weak)
{
	state = seed;
	is_weak = weak;
	now_ns = 1000000000;
}

/* Late stores */

static uint64_t value_at(const unsigned char *at, unsigned size)
{
	uint64_t value = 0;
	memcpy(&value, at, size);
	return value;
}

static void set(unsigned char *at, unsigned size, uint64_t value) { memcpy(at, &value, size); }

static uint64_t applied(const struct late *late, uint64_t value)
{
	switch (late->operation) {
	case OR: return value | late->operand;
	case AND: return value & late->operand;
	case ADD: return value + late->operand;
	default: return late->operand;
	}
}

/* Switch memory to this CPU's view, and back to that of the others. */
static void show_late(struct fibre *f)
{
	for (unsigned n = 0; n < f->nr_late; n++) {
		struct late *late = &f->late[n];
		late->before = value_at(late->at, late->size);
		set(late->at, late->size, applied(late, late->before));
	}
}

static void hide_late(struct fibre *f)
{
	for (unsigned n = f->nr_late; n-- > 0;)
		set(f->late[n].at, f->late[n].size, f->late[n].before);
}

static bool overlap(const struct late *a, const struct late *b)
{
	return a->at < b->at + b->size && b->at < a->at + a->size;
}

/*
 * Makes one entry visible to all CPUs: entry `n`, or the first earlier one that overlaps it. Called with the view
 * hidden.
 */
static void make_seen(struct fibre *f, unsigned n)
{
	for (unsigned earlier = 0; earlier < n; earlier++)
		if (overlap(&f->late[earlier], &f->late[n])) {
			n = earlier;
			break;
		}
	set(f->late[n].at, f->late[n].size, applied(&f->late[n], value_at(f->late[n].at, f->late[n].size)));
	memmove(&f->late[n], &f->late[n + 1], (--f->nr_late - n) * sizeof(f->late[0]));
}

static void one_is_seen(struct fibre *f)
{
	if (!f->nr_late)
		return;
	hide_late(f);
	make_seen(f, (unsigned)draw(f->nr_late));
	show_late(f);
}

static void be_late(struct fibre *f, void *at, unsigned size, enum operation operation, uint64_t operand, uint64_t before)
{
	if (f->nr_late == MOST_LATE)
		one_is_seen(f);
	f->late[f->nr_late++] = (struct late){ .at = at, .size = size, .operation = operation, .operand = operand, .before = before };
}

/* The write that the program announced has happened by now. */
static void note_written(struct fibre *f)
{
	unsigned char *at = f->writes;
	if (!at)
		return;
	f->writes = NULL;
	if (!is_weak)
		return;
	uint64_t written = value_at(at, f->writes_size);
	if (f->nr_late == MOST_LATE) {
		set(at, f->writes_size, f->writes_before);
		one_is_seen(f);
		f->writes_before = value_at(at, f->writes_size);
		set(at, f->writes_size, written);
	}
	be_late(f, at, f->writes_size, STORE, written, f->writes_before);
}

static void all_is_seen(struct fibre *f)
{
	note_written(f);
	hide_late(f);
	while (f->nr_late)
		make_seen(f, (unsigned)draw(f->nr_late));
}

void full_barrier(void)
{
	if (now_runs != MOST_FIBRES)
		all_is_seen(&fibres[now_runs]);
}

/* Fibres */

static bool may_run(unsigned number)
{
	const struct fibre *f = &fibres[number];
	if (now_ns < f->stalled_until_ns)
		return false;
	return f->waits_for ? !f->waits_for->held_by : f->wakes_ns <= now_ns;
}

static uint64_t earlier(uint64_t a, uint64_t b) { return a < b ? a : b; }

/* When it may run by the passing of time alone. */
static uint64_t when_it_may(const struct fibre *f)
{
	if (now_ns < f->stalled_until_ns)
		return f->stalled_until_ns;
	return f->waits_for ? NEVER : f->wakes_ns;
}

/*
 * A fibre that may run, searched from a random one on. If all sleep, time advances. MOST_FIBRES: time has reached the
 * end of the rest.
 */
static unsigned choose(void)
{
	for (;;) {
		unsigned first = (unsigned)draw(nr_fibres);
		uint64_t next_ns = NEVER;
		bool stalls = false;
		for (unsigned n = 0; n < nr_fibres; n++) {
			unsigned number = (first + n) % nr_fibres;
			if (may_run(number))
				return number;
			stalls |= now_ns < fibres[number].stalled_until_ns;
			next_ns = earlier(next_ns, when_it_may(&fibres[number]));
		}
		if (next_ns == NEVER && rests_at_ns == NEVER) {
			printf("step %llu: deadlock, no fibre will ever run\n", (unsigned long long)steps);
			for (unsigned n = 0; n < nr_fibres; n++)
				printf("fibre %u sleeps%s, held by %u\n", n, fibres[n].waits_for ? " for a lock" : "", fibres[n].waits_for ? fibres[n].waits_for->held_by - 1 : 0);
			exit(1);
		}
		if (!stalls && next_ns > rests_at_ns && rests_at_ns != NEVER) {
			if (now_ns < rests_at_ns)
				now_ns = rests_at_ns;
			rests = true;
			return MOST_FIBRES;
		}
		now_ns = next_ns;
	}
}

static void go_on(unsigned number)
{
	unsigned before = now_runs;
	if (number == before)
		return;
	if (before != MOST_FIBRES)
		hide_late(&fibres[before]);
	now_runs = number;
	if (number != MOST_FIBRES)
		show_late(&fibres[number]);
	swapcontext(before == MOST_FIBRES ? &outside : &fibres[before].context, number == MOST_FIBRES ? &outside : &fibres[number].context);
}

bool run_steps(uint64_t most, uint64_t rest_ns)
{
	most_steps = steps + most;
	rests_at_ns = rest_ns;
	rests = false;
	while (steps < most_steps && !rests)
		go_on(choose());
	return rests;
}

static void stall(uint64_t longest_ns)
{
	if (longest_ns > 64)
		full_barrier();
	fibres[now_runs].stalled_until_ns = now_ns + 1 + draw(longest_ns);
}

void step(void)
{
	struct fibre *f = &fibres[now_runs];
	if (now_runs == MOST_FIBRES)
		return;
	note_written(f);
	last_atomic_late = 0;
	steps++;
	now_ns += STEP_NS;
	if (once_in(4))
		one_is_seen(f);
	if (once_in(256))
		stall(1ULL << draw(13));
	if (steps >= most_steps)
		go_on(MOST_FIBRES);
	else if (now_ns < f->stalled_until_ns || once_in(4))
		go_on(choose());
}

static void first_call(unsigned number)
{
	fibres[number].body(number);
	abort();
}

void add_fibre(unsigned number, void (*body)(unsigned number))
{
	struct fibre *f = &fibres[number];
	*f = (struct fibre){ .body = body };
	getcontext(&f->context);
	f->context.uc_stack.ss_sp = malloc(STACK_BYTES);
	f->context.uc_stack.ss_size = STACK_BYTES;
	makecontext(&f->context, (void (*)(void))first_call, 1, number);
	if (number >= nr_fibres)
		nr_fibres = number + 1;
}

void sleep_until(uint64_t at_ns)
{
	full_barrier();
	fibres[now_runs].wakes_ns = at_ns;
	go_on(choose());
}

void wake_fibre(unsigned number) { fibres[number].wakes_ns = 0; }

bool try_lock(struct lock *lock)
{
	step();
	if (lock->held_by)
		return false;
	lock->held_by = now_runs + 1;
	return true;
}

void lock(struct lock *lock)
{
	while (!try_lock(lock)) {
		if (lock->held_by == now_runs + 1)
			abort();
		fibres[now_runs].waits_for = lock;
		go_on(choose());
		fibres[now_runs].waits_for = NULL;
	}
}

void unlock(struct lock *lock)
{
	full_barrier();
	if (lock->held_by != now_runs + 1)
		abort();
	lock->held_by = 0;
	step();
}

/* What the compiler calls */

static void before_read(const void *at)
{
	if (now_runs != MOST_FIBRES && is_shared(at))
		step();
	else if (now_runs != MOST_FIBRES)
		note_written(&fibres[now_runs]);
}

static void before_write(void *at, unsigned size)
{
	before_read(at);
	if (now_runs == MOST_FIBRES || !is_weak || !is_shared(at))
		return;
	fibres[now_runs].writes = at;
	fibres[now_runs].writes_size = size;
	fibres[now_runs].writes_before = value_at(at, size);
}

/* A copy of more than a word is seen at once, after everything before it. */
static void before_long_write(void *at)
{
	before_read(at);
	if (is_shared(at))
		full_barrier();
}

/* A fibre that may have just taken a lock of the program stalls more often, so that more of the others meet the lock. */
static void may_hold_lock(void)
{
	if (now_runs != MOST_FIBRES && once_in(4))
		stall(4096);
}

static uint64_t atomic(void *at, unsigned size, enum operation operation, uint64_t operand, bool orders)
{
	const struct late now = { .operation = operation, .operand = operand };
	uint64_t before;
	bool late = now_runs != MOST_FIBRES && is_weak && !orders && is_shared(at);
	before_read(at);
	if (now_runs != MOST_FIBRES && !late)
		full_barrier();
	before = value_at(at, size);
	if (late) {
		be_late(&fibres[now_runs], at, size, operation, operand, before);
		before = value_at(at, size);
		fibres[now_runs].late[fibres[now_runs].nr_late - 1].before = before;
		last_atomic_late = fibres[now_runs].nr_late;
	}
	set(at, size, applied(&now, before));
	return before;
}

/*
 * The result of an atomic is used, so the compiler for BPF emits the form that fetches, which orders. Where the result
 * is not used, the native compiler drops this call, since the function is declared pure; a compiler for BPF emits the
 * other form there.
 */
uint64_t result_used(uint64_t result)
{
	if (last_atomic_late)
		full_barrier();
	last_atomic_late = 0;
	return result;
}

void __tsan_init(void) {}
void __tsan_func_entry(void *caller) { (void)caller; }
void __tsan_func_exit(void) {}

#define ACCESS(size)                                                            \
	void __tsan_read##size(void *at) { before_read(at); }                   \
	void __tsan_write##size(void *at) { before_write(at, size); }           \
	void __tsan_unaligned_read##size(void *at) { before_read(at); }         \
	void __tsan_unaligned_write##size(void *at) { before_long_write(at); }
ACCESS(1)
ACCESS(2)
ACCESS(4)
ACCESS(8)
void __tsan_read16(void *at) { before_read(at); }
void __tsan_write16(void *at) { before_long_write(at); }
void __tsan_read_range(void *at, uintptr_t size) { (void)size; before_read(at); }
void __tsan_write_range(void *at, uintptr_t size) { (void)size; before_long_write(at); }

#define ATOMIC(bits)                                                                                                   \
	uint##bits##_t __tsan_atomic##bits##_fetch_add(volatile uint##bits##_t *at, uint##bits##_t by, int order)      \
	{ (void)order; return (uint##bits##_t)atomic((void *)at, bits / 8, ADD, by, false); }                          \
	uint##bits##_t __tsan_atomic##bits##_fetch_sub(volatile uint##bits##_t *at, uint##bits##_t by, int order)      \
	{ (void)order; return (uint##bits##_t)atomic((void *)at, bits / 8, ADD, (uint##bits##_t)-by, false); }         \
	uint##bits##_t __tsan_atomic##bits##_fetch_or(volatile uint##bits##_t *at, uint##bits##_t with, int order)     \
	{ (void)order; return (uint##bits##_t)atomic((void *)at, bits / 8, OR, with, false); }                         \
	uint##bits##_t __tsan_atomic##bits##_fetch_and(volatile uint##bits##_t *at, uint##bits##_t with, int order)    \
	{ (void)order; return (uint##bits##_t)atomic((void *)at, bits / 8, AND, with, false); }                        \
	uint##bits##_t __tsan_atomic##bits##_exchange(volatile uint##bits##_t *at, uint##bits##_t value, int order)    \
	{ (void)order; return (uint##bits##_t)atomic((void *)at, bits / 8, STORE, value, true); }                      \
	bool __tsan_atomic##bits##_compare_exchange_strong(volatile uint##bits##_t *at, uint##bits##_t *old,           \
							   uint##bits##_t value, int order, int failed)                \
	{                                                                                                              \
		uint##bits##_t before;                                                                                 \
		bool same;                                                                                             \
		(void)order, (void)failed;                                                                             \
		before_read((void *)at);                                                                               \
		full_barrier();                                                                                        \
		before = *at;                                                                                          \
		same = before == *old;                                                                                 \
		if (same) {                                                                                            \
			*at = value;                                                                                   \
			may_hold_lock();                                                                               \
		}                                                                                                      \
		*old = before;                                                                                         \
		return same;                                                                                           \
	}
ATOMIC(8)
ATOMIC(32)
ATOMIC(64)
