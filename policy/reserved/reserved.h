/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
#pragma once
#include "domain_power.h"
#include "timer.h"
/*
 * One CPU runs the operating system's own work and nothing else; applications run on all others.
 * The reserved CPU has a speed of its own, the lowest at which it is not full. It is in the low set, so it is never the
 * spare, and no member of another set.
 * Tested in: reserved, random, largest. Studied in: reserved-core, everything.
 */

/* An adapter that never reserves a core defines this as false, so the verifier drops the rules. */
#ifndef lop_can_reserve
#define lop_can_reserve true
#endif

lop_rule bool lop_has_reserved(const struct lop_sched *s) { return lop_can_reserve && s->reserved.exists; }

/* Cores with an open CPU: of SMT siblings only the lowest open one counts. */
lop_subprog u32 lop_open_cores(const struct lop_sched *s lop_nonnull)
{
	s32 cpu = LOP_NONE;
	u32 cores = 0;
	int n, m;
	lop_for(n, 0, LOP_MAX_CPUS) {
		u32 sibling, first;
		cpu = lop_cpus_next(&s->open, (u32)(cpu + 1));
		if (cpu < 0)
			break;
		sibling = first = (u32)cpu;
		lop_for(m, 0, LOP_MAX_SMT) {
			sibling = lop_cpu_index(s->topology.next_sibling[lop_cpu_index(sibling)]);
			if (lop_cpus_has(&s->open, sibling))
				first = (u32)lop_min(first, sibling);
		}
		cores += first == (u32)cpu;
	}
	return cores;
}

/* Whether a core is reserved: by size from four cores on; if asked for, where a CPU is left for everything else. */
lop_rule bool lop_should_reserve(enum lop_reserve reserve, u32 nr_cpus, u32 nr_cores)
{
	if (reserve == LOP_RESERVE_BY_SIZE)
		return nr_cores >= 4;
	return reserve == LOP_RESERVE_ASKED && nr_cpus >= 2;
}

/*
 * The CPU of `within` to reserve: one of the slowest kind; of these one without an SMT sibling, which would share its
 * clock; of these the lowest number, where most machines take their interrupts. LOP_NONE: `within` is empty.
 */
lop_subprog s32 lop_reserve_choice(const struct lop_sched *s lop_nonnull, const struct lop_cpus *within lop_nonnull)
{
	const struct lop_topology *top = &s->topology;
	s32 cpu = LOP_NONE, best = LOP_NONE;
	u32 best_rank = 0;
	int n;
	lop_for(n, 0, LOP_MAX_CPUS) {
		u32 c, rank;
		cpu = lop_cpus_next(within, (u32)(cpu + 1));
		if (cpu < 0)
			break;
		c = lop_cpu_index((u32)cpu);
		rank = (u32)top->tier[c] << 1 | (top->next_sibling[c] == c);
		if (best >= 0 && rank <= best_rank)
			continue;
		best = cpu;
		best_rank = rank;
	}
	return best;
}

/* Whether a task runs on the reserved CPU: the system's own work if it may, and any task that may run nowhere else. */
lop_subprog bool lop_uses_reserved(const struct lop_sched *s lop_nonnull, const struct lop_task *t lop_nonnull)
{
	if (!t->restricted)
		return t->system;
	if (!lop_cpus_has(&t->allowed, s->reserved.cpu))
		return false;
	return t->system || lop_cpus_first(&t->allowed, &s->online, &s->reserved.cpus) < 0;
}

lop_rule bool lop_for_reserved(const struct lop_sched *s, const struct lop_task *t)
{
	return lop_has_reserved(s) && lop_uses_reserved(s, t);
}

lop_rule bool lop_is_reserved(const struct lop_sched *s, u32 cpu) { return lop_has_reserved(s) && cpu == s->reserved.cpu; }

/* lop_nr_on() without the reserved CPU: CPUs that ordinary work may have. */
lop_rule u32 lop_nr_ordinary(const struct lop_sched *s)
{
	u32 nr = lop_nr_on(s);
	bool one_less = lop_has_reserved(s) && !(lop_has_domains(s) && lop_cpus_has(&s->off, s->reserved.cpu));
	return nr - (u32)lop_min(one_less ? 1 : 0, nr);
}

/* `cpu` runs at the reserved core's speed: it is the reserved CPU, or shares its clock as an SMT sibling. */
lop_rule bool lop_on_reserved_core(const struct lop_sched *s, u32 cpu)
{
	return lop_has_reserved(s) && (cpu == s->reserved.cpu || lop_cpus_has(&s->reserved.beside, cpu));
}

/* Tells the adapter the speed of each CPU of the reserved core. */
lop_subprog bool lop_tell_reserved_speed(const struct lop_sched *s lop_nonnull, struct lop_world *world lop_nonnull)
{
	u32 cpu = s->reserved.cpu;
	int n;
	lop_assert(s->reserved.raised <= s->config.reserve_raises);
	lop_for(n, 0, LOP_MAX_SMT) {
		cpu = lop_cpu_index(cpu);
		if (lop_cpus_has(&s->online, cpu))
			lop_env_reserved_speed(world, cpu, s->reserved.raised);
		cpu = s->topology.next_sibling[cpu];
		if (cpu == s->reserved.cpu)
			break;
	}
	return true;
}

/* Reserves a CPU that is in no set and runs nothing. */
lop_rule void lop_reserve_cpu(struct lop_sched *s, struct lop_world *world, u32 cpu, u64 now_ns)
{
	u32 sibling = s->reserved.cpu = lop_cpu_index(cpu);
	int n;
	lop_assert(!s->reserved.exists && !lop_cpus_has(&s->set[LOP_HIGH].cpus, cpu) && !lop_cpus_has(&s->set[LOP_GREEN].cpus, cpu));
	lop_cpus_add(&s->reserved.cpus, sibling);
	lop_for(n, 0, LOP_MAX_SMT) {
		sibling = lop_cpu_index(s->topology.next_sibling[lop_cpu_index(sibling)]);
		if (sibling == s->reserved.cpu)
			break;
		lop_cpus_add(&s->reserved.beside, sibling);
	}
	s->reserved.since_ns = s->reserved.calm_since_ns = s->reserved.rests_since_ns = now_ns;
	s->reserved.exists = true;
	lop_tell_reserved_speed(s, world);
}

/* Called once, before any set has members. */
lop_rule void lop_reserve(struct lop_sched *s, struct lop_world *world, u64 now_ns)
{
	s32 cpu;
	if (!lop_can_reserve || s->config.reserve == LOP_RESERVE_NEVER ||
	    !lop_should_reserve(s->config.reserve, s->nr_open, lop_open_cores(s)))
		return;
	cpu = lop_reserve_choice(s, &s->open);
	if (cpu >= 0)
		lop_reserve_cpu(s, world, (u32)cpu, now_ns);
}

/* Idle time in a window that is 90 % busy. */
lop_rule u64 lop_reserve_rest_ns(const struct lop_config *c) { return c->reserve_window_ns / 10; }

/* How long the reserved CPU has been idle since `since_ns`; `rested_ns`: until it last fell idle. */
lop_rule u64 lop_reserve_idle_ns(const struct lop_sched *s, u64 since_ns, u64 rested_ns, u64 now_ns)
{
	since_ns = lop_max(s->reserved.rests_since_ns, since_ns);
	return rested_ns + (!s->reserved.works && now_ns > since_ns ? now_ns - since_ns : 0);
}

/* How long the reserved CPU has been idle since its window began. */
lop_rule u64 lop_reserve_rested_ns(const struct lop_sched *s, u64 now_ns)
{
	return lop_reserve_idle_ns(s, s->reserved.since_ns, s->reserved.rested_ns, now_ns);
}

/*
 * The reserved CPU is more than 90 % busy for 100 ms. Once it has been idle for 10 ms in all it is not, and the next
 * work begins a new window: no timer runs for a core that has little to do.
 *     saturated: 100 ms have passed since the window began, and rested < 10 ms
 * Worked example: work from 0 to 89 ms, idle until 98, work again: at 100 ms it has rested for 9 ms. Idle until 99 ms
 * it would have rested for 10, and the window that begins then ends at 199 ms.
 */
lop_rule bool lop_reserve_saturated(const struct lop_sched *s, u64 now_ns)
{
	return now_ns - s->reserved.since_ns >= s->config.reserve_window_ns &&
	       lop_reserve_rested_ns(s, now_ns) < lop_reserve_rest_ns(&s->config);
}

lop_rule void lop_reserve_window(struct lop_sched *s, struct lop_world *world, u64 now_ns)
{
	s->reserved.since_ns = now_ns;
	s->reserved.rested_ns = 0;
	if (s->reserved.works)
		lop_timer_by(s, world, now_ns + s->config.reserve_window_ns, now_ns);
}

/* The reserved core's speed is `raised` steps above its first one from now on. */
lop_rule void lop_reserve_step(struct lop_sched *s, struct lop_world *world, u32 raised, bool is_lowered, u64 now_ns)
{
	s->reserved.raised = raised;
	s->reserved.is_lowered = is_lowered;
	s->reserved.calm_since_ns = now_ns;
	s->reserved.calm_rested_ns = 0;
	lop_tell_reserved_speed(s, world);
}

/* In how many windows the reserved core has to have little to do. In one it may only pause between two jobs of the system, many of which come once a second. */
#define LOP_RESERVE_CALM_WINDOWS 10
/* Doublings of that time. Work in bursts needs the higher speed again and again: it changes once in 64 s then. */
#define LOP_RESERVE_MOST_BACKOFF 6

/*
 * How long the reserved core has to have little to do before its speed goes a step down.
 *     calm = 10 x window x 2^backoff
 * `backoff` grows by one each time that the speed had to be raised again after a step down, up to 6, and never
 * shrinks: what the system did once it may do again.
 * Worked example: with a window of 100 ms 1 s, after one such raise 2 s, after six or more 64 s.
 */
lop_rule u64 lop_reserve_calm_ns(const struct lop_sched *s)
{
	return LOP_RESERVE_CALM_WINDOWS * s->config.reserve_window_ns << s->reserved.backoff;
}

/*
 * The work of the reserved core takes at most 75 % of the time at the speed one step below `raised`. Between that and the
 * 90 % at which it is raised lies room for a fifth more work, so that two neighbouring steps do not take turns.
 *     fits: busy x speed <= 75 % x passed x speed below
 * Work that waits for memory gains less from speed, so it takes less time there than this says.
 * Worked example: speeds of 500 and 1000 permille. Busy for 375 ms of 1 s at the higher one is 750 ms at the lower one: it
 * fits. 376 ms are 752 ms, which do not.
 */
lop_rule bool lop_reserve_fits_below(const struct lop_config *c, u32 raised, u64 busy_ns, u64 passed_ns)
{
	u64 speed = c->reserve_permille[raised & (LOP_RESERVE_SPEEDS - 1)];
	u64 below = c->reserve_permille[(raised - 1) & (LOP_RESERVE_SPEEDS - 1)];
	return 4 * busy_ns * speed <= 3 * passed_ns * below;
}

/*
 * Lowers the speed of a reserved core that has had little to do. Decided only when the core falls idle, so that no timer
 * wakes it: its speed falls before it sleeps, and a core that sleeps for long keeps its speed until after its next work.
 */
lop_subprog bool lop_lower_reserved(struct lop_sched *s lop_nonnull, struct lop_world *world lop_nonnull, u64 now_ns)
{
	u32 raised = s->reserved.raised;
	u64 passed_ns = now_ns - lop_min(s->reserved.calm_since_ns, now_ns);
	u64 busy_ns = passed_ns - lop_min(s->reserved.calm_rested_ns, passed_ns);
	if (!raised || passed_ns < lop_reserve_calm_ns(s))
		return false;
	if (lop_reserve_fits_below(&s->config, raised, busy_ns, passed_ns)) {
		lop_reserve_step(s, world, raised - 1, true, now_ns);
		return true;
	}
	s->reserved.calm_since_ns = now_ns;
	s->reserved.calm_rested_ns = 0;
	return false;
}

/* The reserved CPU becomes idle (`rests`) or busy. */
lop_rule void lop_reserve_rests(struct lop_sched *s, struct lop_world *world, bool rests, u64 now_ns)
{
	if (rests != s->reserved.works || !s->config.reserve_window_ns)
		return;
	if (rests) {
		s->reserved.rests_since_ns = now_ns;
		s->reserved.works = false;
		lop_lower_reserved(s, world, now_ns);
		return;
	}
	s->reserved.rested_ns = lop_reserve_rested_ns(s, now_ns);
	s->reserved.calm_rested_ns = lop_reserve_idle_ns(s, s->reserved.calm_since_ns, s->reserved.calm_rested_ns, now_ns);
	s->reserved.works = true;
	if (s->reserved.rested_ns >= lop_reserve_rest_ns(&s->config))
		lop_reserve_window(s, world, now_ns);
	else
		lop_timer_by(s, world, lop_max(s->reserved.since_ns + s->config.reserve_window_ns, now_ns), now_ns);
}

/*
 * The timer has expired. The speed of a saturated core is raised by a step; at full speed the core does not suffice,
 * and the reservation is to be given up (true). That is not undone: what the system needed once it may need again.
 */
lop_subprog bool lop_watch_reserved(struct lop_sched *s lop_nonnull, struct lop_world *world lop_nonnull, u64 now_ns)
{
	u32 raised = s->reserved.raised;
	if (!lop_reserve_saturated(s, now_ns)) {
		if (s->reserved.works)
			lop_timer_by(s, world, lop_max(s->reserved.since_ns + s->config.reserve_window_ns, now_ns), now_ns);
		return false;
	}
	if (raised >= s->config.reserve_raises)
		return true;
	if (s->reserved.is_lowered)
		s->reserved.backoff = (u32)lop_min(s->reserved.backoff + 1, LOP_RESERVE_MOST_BACKOFF);
	lop_reserve_window(s, world, now_ns);
	lop_reserve_step(s, world, raised + 1, false, now_ns);
	return false;
}
