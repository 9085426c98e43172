/* SPDX-License-Identifier: GPL-2.0-only */
#pragma once
/* CPUs taken by a higher scheduling class: real-time tasks, with --partial also those of the fair class. */

#define MAX_RT_PRIO 100
#define SCHED_EXT 7

/*
 * Before Linux 7 (no ext_server) a CPU that a higher class never leaves gives sched_ext tasks no time, and the kernel
 * does not report a higher-class task that comes to an idle CPU. A task just sent to that CPU's local DSQ would wait
 * forever. So on these kernels a task that claimed a CPU waits in the DSQ of that CPU, from which other CPUs can take
 * it.
 */
struct rq___lop {
	struct sched_dl_entity ext_server;
} __attribute__((preserve_access_index));
#define higher_classes_share bpf_core_field_exists(((struct rq___lop *)0)->ext_server)

static __always_inline void cpu_taken(struct lop_world *c, u32 cpu, bool taken)
{
	bool locked = log_begin();
	tell(LOP_RECORD_TAKEN, c->now_ns, 0, (s32)cpu, taken);
	lop_cpu_taken(&lopsided, c, cpu, taken, c->now_ns);
	log_end(locked);
}

/* Whether a higher class has tasks queued or running on this runqueue. The caller excludes --partial. */
static __always_inline bool higher_class_waits(const struct rq *rq)
{
	return BPF_CORE_READ(rq, nr_running) > BPF_CORE_READ(rq, scx.nr_running);
}

/*
 * Whether `cpu` runs a task that goes before ours at this moment, or is about to. It is a guess: it may be over when
 * this returns. With --partial the number of queued tasks says nothing, since the fair class counts some that sleep.
 */
static __always_inline bool runs_higher_class(s32 cpu)
{
	struct rq *rq = bpf_per_cpu_ptr(&runqueues, cpu);
	struct task_struct *current_task;
	if (!rq)
		return false;
	current_task = BPF_CORE_READ(rq, curr);
	if (BPF_CORE_READ(current_task, flags) & PF_IDLE)
		return !partial && higher_class_waits(rq);
	return BPF_CORE_READ(current_task, prio) < MAX_RT_PRIO ||
	       (partial && BPF_CORE_READ(current_task, policy) != SCHED_EXT);
}

/*
 * A kernel without ext_server calls dispatch even where a higher-class task is about to run. A task moved to the local
 * DSQ then would wait there, where no other CPU can take it. This call is also the only one by which such a kernel
 * reveals that an idle CPU is taken.
 */
static __always_inline bool is_for_higher_class(s32 cpu)
{
	struct rq *rq;
	if (partial || higher_classes_share)
		return false;
	rq = bpf_per_cpu_ptr(&runqueues, cpu);
	return rq && higher_class_waits(rq);
}

/* The CPU counts as taken until a task of ours runs there, or it finds itself idle. */
static __always_inline void found_taken(struct lop_world *c, s32 cpu)
{
	cpu_taken(c, lop_cpu_index((u32)cpu), true);
	find_out(cpu);
}

/*
 * Kicks an idle member, since work waits. `t`: a task that the member must be able to run; null: any. An idle CPU to
 * which a higher class has come is marked busy instead.
 */
static __noinline bool kick_idle_member(struct lop_world *c, const struct lop_task *t)
{
	s32 cpu = LOP_NONE;
	bool kicked = false;
	int n;
	lop_cpus_and(&c->others, &lopsided.set[LOP_HIGH].cpus, &lopsided.idle);
	if (t && t->restricted)
		lop_cpus_and(&c->others, &c->others, &t->allowed);
	else if (isolates)
		lop_cpus_and(&c->others, &c->others, &lopsided.open);
	bpf_for(n, 0, LOP_MAX_CPUS) {
		cpu = lop_cpus_next(&c->others, (u32)(cpu + 1));
		if (cpu < 0)
			break;
		if (!runs_higher_class(cpu)) {
			kick(cpu, SCX_KICK_IDLE);
			kicked = true;
			break;
		}
		tell_idle(c, cpu, false);
		find_out(cpu);
	}
	return kicked;
}

/*
 * A kicked CPU may be taken by a higher class at that moment, and the kernel does not report that: the timer looks
 * again after a slice.
 */
static __always_inline void look_in_a_slice(struct lop_world *c)
{
	lop_look_at(&lopsided, c, c->now_ns + lopsided.config.slice_max_ns);
}

/*
 * Marks CPUs as taken that work waits for and that a higher class runs on, so that others join the set. True: there was
 * one.
 */
static __noinline bool look_for_taken(struct lop_world *c)
{
	s32 cpu = LOP_NONE;
	bool found = false;
	int n;
	lop_suspects(&lopsided, &c->others);
	bpf_for(n, 0, LOP_MAX_CPUS) {
		cpu = lop_cpus_next(&c->others, (u32)(cpu + 1));
		if (cpu < 0)
			break;
		if (!runs_higher_class(cpu))
			continue;
		found_taken(c, cpu);
		found = true;
	}
	return found;
}

/*
 * Work waits for a member. If no member is free although the set should have a free one, members taken by a higher
 * class are found and made up for. A CPU that joins may be taken as well, so this goes on until one is free or no more
 * join.
 */
static __noinline void find_member(struct lop_world *c, const struct lop_task *t)
{
	bool kicked = false;
	int n;
	bpf_for(n, 0, LOP_MAX_CPUS) {
		kicked = kick_idle_member(c, t);
		if (kicked || !lop_is_short(&lopsided) || !look_for_taken(c))
			break;
	}
	if (kicked || lop_waits_while_taken(&lopsided))
		look_in_a_slice(c);
}

/*
 * A higher class has come to `cpu`. Most such moments are short, the loader's own among them. So the CPU counts as
 * taken only if a task waits for this CPU alone, or if no other is free for what waits.
 */
static __always_inline void higher_class_came(struct lop_world *c, s32 cpu)
{
	u32 at = lop_cpu_index((u32)cpu);
	bool counted_on = (lop_counted_on_word(&lopsided, at / 64) >> at % 64 & 1) || lop_is_waited_for_in_background(&lopsided, at);
	if (!counted_on && lop_cpus_empty(&lopsided.queues.domain_waiting))
		return;
	if (counted_on || (lop_set_of(&lopsided, lop_cpu_index((u32)cpu)) != LOP_LOW && lop_is_short(&lopsided)))
		found_taken(c, cpu);
	find_member(c, 0);
}

/*
 * A CPU kicked for work that waits may have been taken by a higher class at that moment. While a task waits for
 * one CPU alone, this looks again after each slice.
 */
static __always_inline void look_around(struct lop_world *c)
{
	if (look_for_taken(c) || lop_waits_while_taken(&lopsided))
		find_member(c, 0);
	if (lop_any_counted_on(&lopsided))
		look_in_a_slice(c);
}

/* As look_around(), for callers with interrupts on. */
static __noinline void look_around_open(struct lop_world *c)
{
	unsigned long flags = 0;
	if (lop_cpus_empty(&lopsided.queues.domain_waiting) && !lop_any_counted_on(&lopsided) && !lop_any_stranded(&lopsided))
		return;
	if (tell_decisions)
		bpf_local_irq_save(&flags);
	look_around(c);
	if (tell_decisions)
		bpf_local_irq_restore(&flags);
}
