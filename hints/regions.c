/* SPDX-License-Identifier: MIT OR Apache-2.0 */
#include "regions.h"
#include "lopsided.h"

static unsigned int in_regions;
static unsigned int initial_threads;

struct self {
	bool is_initial, spins, is_sequential;
	unsigned int regions; /* that it started and that have not ended, nested in one another */
};
static _Thread_local struct self self;

bool set_spins(bool spins)
{
	bool before = self.spins;

	if (spins != before)
		spins ? lop_spinning_begin() : lop_spinning_end();
	self.spins = spins;
	return before;
}

/* With several initial threads none is waited for by all others. One that was alone when it said so learns that late. */
static void follow_sequential(void)
{
	bool is = self.is_initial && !self.regions && __atomic_load_n(&initial_threads, __ATOMIC_RELAXED) == 1;

	if (is != self.is_sequential)
		is ? lop_sequential_begin() : lop_sequential_end();
	self.is_sequential = is;
}

void begin_initial_thread(void)
{
	self.is_initial = true;
	__atomic_add_fetch(&initial_threads, 1, __ATOMIC_RELAXED);
	follow_sequential();
}

void end_initial_thread(void)
{
	if (self.is_initial)
		__atomic_sub_fetch(&initial_threads, 1, __ATOMIC_RELAXED);
	self.is_initial = false;
	follow_sequential();
}

bool is_initial_thread(void)
{
	return self.is_initial;
}

/* How many threads a region of this size adds: who starts it is in a region already, unless it comes from outside. */
static unsigned int added(unsigned int team)
{
	return self.is_initial && !self.regions ? team : team - 1;
}

void begin_region(unsigned int team)
{
	unsigned int more = added(team);

	self.regions++;
	follow_sequential();
	lop_parallelism(__atomic_add_fetch(&in_regions, more, __ATOMIC_RELAXED));
}

/* What a thread outside said last would stand, and seem newer than what others say meanwhile. */
void end_region(unsigned int team)
{
	unsigned int left;

	self.regions--;
	left = __atomic_sub_fetch(&in_regions, added(team), __ATOMIC_RELAXED);
	lop_parallelism(self.regions ? left : 0);
	follow_sequential();
}

void after_fork_in_child(void)
{
	/* The program has not used OpenMP. */
	if (!initial_threads)
		return;
	in_regions = 0;
	initial_threads = 1;
	self = (struct self){ .is_initial = true };
	follow_sequential();
}
