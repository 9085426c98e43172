/* SPDX-License-Identifier: GPL-2.0-only */
#pragma once
/* Which CPUs are idle, as far as callbacks that run anyway can tell. */

/*
 * A CPU that finds nothing to run in dispatch is idle until a task of ours runs there. The callbacks dispatch and
 * running show both. ops.update_idle would add two calls to every short piece of work, one on the way into idle and one
 * out. Each entry is written by its own CPU, and at hotplug.
 */
u8 resting[LOP_MAX_CPUS];
/* CPUs of which it is unknown whether they are idle: all at the start, later a CPU whose claim was not used. */
struct lop_cpus unsure;

/* Makes a CPU that is idle, or soon will be, report that in its next dispatch. */
static __always_inline void find_out(s32 cpu)
{
	lop_cpus_add(&unsure, lop_cpu_index((u32)cpu));
	kick(cpu, SCX_KICK_IDLE);
}

static __always_inline void tell_idle(struct lop_world *c, s32 cpu, bool idle)
{
	bool locked = log_begin();
	tell(LOP_RECORD_IDLE, c->now_ns, 0, cpu, idle);
	lop_cpu_idle(&lopsided, c, (u32)cpu, idle, c->now_ns);
	log_end(locked);
}

/* Dispatch found nothing to run. */
static __always_inline void rests(struct lop_world *c, s32 cpu)
{
	u8 *rests_already = &resting[lop_cpu_index((u32)cpu)];
	bool asked = lop_cpus_take_if(&unsure, lop_cpu_index((u32)cpu));
	if (*rests_already && !asked)
		return;
	*rests_already = true;
	tell_idle(c, cpu, true);
}

static __always_inline void rests_no_more(struct lop_world *c, s32 cpu)
{
	u8 *rests_still = &resting[lop_cpu_index((u32)cpu)];
	if (!*rests_still)
		return;
	*rests_still = false;
	tell_idle(c, cpu, false);
}
