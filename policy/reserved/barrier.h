/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
#pragma once
#include "phase.h"
#include "sets.h"
/*
 * A core is reserved while a barrier-bound load runs, where that takes nothing from the load.
 * Threads of such a load meet again and again, at a barrier or at a lock that serves them one by one before it. One
 * core fewer takes nothing from them (our choice) if the thread that waits for a CPU is done before the last of the
 * others is.
 *     round: the active threads of an application become more than one, all of them, and one or none again
 * Tested in: barrier. Studied in: everything.
 */
#define LOP_ROUND_MOST_NS 100000000ULL
#define LOP_ROUNDS_END_NS 1000000000ULL
#define LOP_FIRST_ROUNDS 4
#define LOP_BARRIER_CORES 8

/* An adapter that never reserves by load defines this as false, so the verifier drops these rules. */
#ifndef lop_sees_barriers
#define lop_sees_barriers(s) ((s)->config.reserve == LOP_RESERVE_BY_LOAD)
#endif

/*
 * One thread or none is active: a round that had begun is over. If it had another number of threads than the last one,
 * the means start again.
 */
lop_rule bool lop_end_round(struct lop_rounds *r, u64 now_ns)
{
	u64 lasted_ns = now_ns - lop_min(r->began_ns, now_ns);
	if (!r->most)
		return false;
	if (r->most != r->threads)
		r->length.count = r->full.count = 0;
	r->threads = r->most;
	lop_note_phase(&r->length, lasted_ns);
	lop_note_phase(&r->full, r->all_active ? lasted_ns : r->full_ns);
	r->most = 0;
	return true;
}

/* The number of active threads of an application becomes `active`. True: a round is over. */
lop_rule bool lop_follow_round(struct lop_rounds *r, u32 active, u64 now_ns)
{
	if (active <= 1)
		return lop_end_round(r, now_ns);
	if (!r->most)
		r->began_ns = now_ns;
	if (active >= r->most) {
		r->most = active;
		r->all_active = true;
	} else if (r->all_active) {
		r->full_ns = now_ns - r->began_ns;
		r->all_active = false;
	}
	return false;
}

/*
 * The application's rounds, the last four or more of them with the same number of threads, last less than 100 ms on
 * average, and it has a thread for at least half of the cores.
 * Worked example: on 8 cores, 4 threads in rounds of 99 ms qualify. 3 threads do not, nor do rounds of 100 ms, nor do
 * three rounds.
 */
lop_rule bool lop_in_rounds(const struct lop_rounds *r, u32 nr_cores)
{
	return r->length.count >= LOP_FIRST_ROUNDS && r->length.ns < LOP_ROUND_MOST_NS && 2 * r->threads >= nr_cores;
}

/*
 * One core fewer takes nothing from the threads: as many CPUs are left as there are threads, on cores that share no
 * clock with the reserved CPU. Or one CPU fewer is left, and the waiting thread, which gets the CPU of the first thread
 * that blocks, still finishes within the round:
 *     threads <= left,  or  threads = left + 1 and 2 * full <= length        full: all of them were active
 * Worked example: 8 threads compute 1.05 ms each side by side, then 0.26 ms one after the other. The first is done
 * after 1.3 of 3.1 ms, so 7 CPUs suffice. Of 8 threads that are done after 0.9 to 1.1 ms, one would begin when the
 * round should be over.
 */
lop_rule bool lop_leaves_enough(const struct lop_rounds *r, u32 nr_left, bool smt)
{
	return r->threads <= nr_left || (!smt && r->threads == nr_left + 1 && 2 * r->full.ns <= r->length.ns);
}

/* CPUs of a core. All cores are alike here: on several kinds no core is reserved by load (auto.h). */
lop_rule u32 lop_smt_width(const struct lop_sched *s, u32 cpu)
{
	u32 sibling = cpu, width = 1;
	int n;
	lop_for(n, 1, LOP_MAX_SMT) {
		sibling = lop_cpu_index(s->topology.next_sibling[lop_cpu_index(sibling)]);
		width += sibling != cpu;
		if (sibling == cpu)
			break;
	}
	return width;
}

/* CPUs that a reservation leaves at full speed. */
lop_rule u32 lop_nr_left(const struct lop_sched *s) { return s->nr_open - (u32)lop_min(lop_smt_width(s, 0), s->nr_open); }

lop_subprog bool lop_is_barrier_bound(const struct lop_sched *s lop_nonnull, const struct lop_rounds *r lop_nonnull)
{
	u32 width = lop_smt_width(s, 0);
	return s->nr_open / width >= LOP_BARRIER_CORES && lop_in_rounds(r, s->nr_open / width) &&
	       lop_leaves_enough(r, lop_nr_left(s), width > 1);
}

/*
 * Ends the reservation for a barrier-bound load, and allows no other for a second: tasks may want the core as often as
 * they wake.
 */
lop_rule void lop_end_barriers(struct lop_sched *s, struct lop_world *world, u64 now_ns)
{
	s->barrier.again_ns = now_ns + LOP_ROUNDS_END_NS;
	lop_give_up_reserved(s, world, now_ns);
}

/*
 * Reserves an idle CPU, preferably one in no set, so that no running task has to move. Requests that found the lock
 * taken meanwhile are served by lop_settle(), which follows.
 */
lop_subprog bool lop_reserve_idle(struct lop_sched *s lop_nonnull, struct lop_world *world lop_nonnull, u64 now_ns)
{
	struct lop_cpus *candidates = &world->candidates;
	s32 chosen;
	u32 cpu;
	lop_cpus_and(candidates, &s->open, &s->idle);
	lop_cpus_avoid(candidates, &s->set[LOP_HIGH].cpus);
	chosen = lop_reserve_choice(s, candidates);
	cpu = lop_cpu_index((u32)chosen);
	if (chosen < 0 || s->membership.anchored[cpu] || (lop_has_rank(s) && lop_is_claimed(s, cpu)) || !lop_lock(s))
		return false;
	if (lop_cpus_take(&s->idle, cpu)) {
		lop_leave(s, world, cpu, lop_set_of(s, cpu), now_ns);
		lop_reserve_cpu(s, world, cpu, now_ns);
		lop_cpus_add(&s->idle, cpu);
	}
	lop_unlock(s);
	return lop_has_reserved(s);
}

/*
 * A round is over. A core is reserved for an application that is barrier-bound if nothing runs beside it that would
 * want the core, and stays reserved until no round has ended for a second. If the reservation takes something from the
 * application by now, it ends at once.
 */
lop_rule void lop_round_over(struct lop_sched *s, struct lop_world *world, const struct lop_app *app, u64 now_ns)
{
	const struct lop_rounds *r = &app->rounds;
	u32 others = lop_active(s, LOP_HIGH) - (u32)lop_min(lop_app_active(app->demand), lop_active(s, LOP_HIGH));
	u32 most = (u32)lop_max(lop_nr_left(s), r->threads);
	bool barrier_bound = lop_is_barrier_bound(s, r);
	if (!barrier_bound && lop_has_reserved(s) && r->threads > lop_nr_left(s))
		lop_end_barriers(s, world, now_ns);
	if (!barrier_bound || s->reserved.failed)
		return;
	if (!lop_has_reserved(s) && (now_ns < s->barrier.again_ns || others + r->threads > most || !lop_reserve_idle(s, world, now_ns)))
		return;
	s->barrier.most = most;
	s->barrier.ends_ns = now_ns + LOP_ROUNDS_END_NS;
	lop_timer_by(s, world, s->barrier.ends_ns, now_ns);
}

/*
 * The number of active threads of an application changed. The reservation ends when more tasks are active than it
 * leaves CPUs for, and more than the barrier-bound application has threads.
 */
lop_rule void lop_rounds_change(struct lop_sched *s, struct lop_world *world, struct lop_app *app, u64 now_ns)
{
	if (!lop_sees_barriers(s))
		return;
	if (lop_has_reserved(s) && lop_active(s, LOP_HIGH) > s->barrier.most)
		lop_end_barriers(s, world, now_ns);
	if (app && lop_follow_round(&app->rounds, lop_app_active(app->demand), now_ns))
		lop_round_over(s, world, app, now_ns);
}

/* The timer: ends the reservation if no round has ended for a second. */
lop_rule void lop_look_for_rounds(struct lop_sched *s, struct lop_world *world, u64 now_ns)
{
	if (!lop_sees_barriers(s) || !lop_has_reserved(s))
		return;
	if (now_ns >= s->barrier.ends_ns)
		lop_end_barriers(s, world, now_ns);
	else
		lop_timer_by(s, world, s->barrier.ends_ns, now_ns);
}
