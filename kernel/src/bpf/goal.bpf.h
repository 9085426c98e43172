/* SPDX-License-Identifier: GPL-2.0-only */
#pragma once
/* The loader changes the goal of the running program. */

static __always_inline void tell_goal(u64 at_ns, const struct lop_goal_config *goal)
{
	struct lop_record_of_goal *record;
	if (!tell_decisions)
		return;
	record = new_record(sizeof(*record));
	if (!record)
		return;
	fill_record(&record->record, LOP_RECORD_GOAL, at_ns, 0, 0, 0);
	record->goal = *goal;
	submit(record);
}

/*
 * Asks for the speed of the CPU's set again. A CPU that changes its set, its rung or its step meanwhile does so before it asks for
 * its new speed: either the second look here sees the change, or the request of that CPU is the later one.
 */
#define LOP_GOAL_TRIES 8
static __always_inline void want_speed_again(u32 cpu)
{
	enum lop_set set = speed_set_of(cpu), former_set;
	u32 perf = green_perf(cpu), former_perf;
	int n;
	if (set == LOP_LOW)
		return;
	bpf_for(n, 0, LOP_GOAL_TRIES) {
		want_speed(cpu, set);
		former_set = set;
		former_perf = perf;
		set = speed_set_of(cpu);
		perf = green_perf(cpu);
		if (set == former_set && perf == former_perf)
			break;
	}
}

SEC("syscall")
int lop_goal(struct lop_goal_config *args)
{
	struct lop_goal_config goal = { args->spare, args->last_hold_ns, args->keeps_kind, args->domains };
	unsigned long flags;
	struct lop_world *c;
	bool locked;
	u32 cpu;
	bpf_local_irq_save(&flags);
	c = begin(&order_context);
	locked = log_begin();
	tell_goal(c->now_ns, &goal);
	lop_set_goal(&lopsided, c, &goal, c->now_ns);
	log_end(locked);
	bpf_local_irq_restore(&flags);
	bpf_for(cpu, 0, LOP_MAX_CPUS) {
		if (lop_cpus_has(&lopsided.online, cpu))
			want_speed_again(cpu);
	}
	/* No timer may be armed for a long time. */
	ask_for_sleepers();
	return 0;
}
