/* SPDX-License-Identifier: GPL-2.0-only */
#pragma once
/* CPUs that a higher class of tasks has: real-time ones, with --partial also those of the kernel's own scheduler. */

#define MAX_RT_PRIO 100
#define SCHED_EXT 7

/*
 * Before Linux 7 a CPU that a higher class never leaves gives our tasks nothing, and nobody tells when such a task comes to an idle CPU. What was
 * just sent there would wait for ever: so on these kernels a task that has claimed a CPU waits in the queue of that one, where others find it.
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

/* Whether a higher class has anything to run on a CPU that is not its own tasks' alone. */
static __always_inline bool higher_class_waits(const struct rq *rq)
{
	return BPF_CORE_READ(rq, nr_running) > BPF_CORE_READ(rq, scx.nr_running);
}

/*
 * Whether `cpu` runs something that goes before our tasks at this moment, or is about to. A guess: it may be over when this returns.
 * With --partial the number of tasks says nothing: the kernel's own scheduler keeps some that sleep.
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
 * A kernel on which a higher class does not share asks for work also where one will run: what is taken would wait there, and for nobody else to see.
 * It is the one moment at which such a kernel tells that an idle CPU is taken.
 */
static __always_inline bool is_for_higher_class(s32 cpu)
{
	struct rq *rq;
	if (partial || higher_classes_share)
		return false;
	rq = bpf_per_cpu_ptr(&runqueues, cpu);
	return rq && higher_class_waits(rq);
}

/* Until one of ours runs there, or it finds out that it is idle. */
static __always_inline void found_taken(struct lop_world *c, s32 cpu)
{
	cpu_taken(c, lop_cpu_index((u32)cpu), true);
	find_out(cpu);
}

/* Tells an idle member of work that waits; `t`: one that this task may use. One that a higher class has come to is not idle. */
static __noinline bool tell_idle_member(struct lop_world *c, const struct lop_task *t)
{
	s32 cpu = LOP_NONE;
	bool told = false;
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
			told = true;
			break;
		}
		tell_idle(c, cpu, false);
		find_out(cpu);
	}
	return told;
}

/* A CPU that is told of work may be taken at that moment, and nobody tells. */
static __always_inline void look_in_a_slice(struct lop_world *c)
{
	lop_look_at(&lopsided, c, c->now_ns + lopsided.config.slice_max_ns);
}

/* Looks which CPUs are taken that something waits for, so that others join; whether any is. */
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
 * Work waits for a member. If none is free although there should be one, those that a higher class has are made up for; who joins may be
 * taken as well, so it goes on until one is free or no more join.
 */
static __noinline void find_member(struct lop_world *c, const struct lop_task *t)
{
	bool told = false;
	int n;
	bpf_for(n, 0, LOP_MAX_CPUS) {
		told = tell_idle_member(c, t);
		if (told || !lop_is_short(&lopsided) || !look_for_taken(c))
			break;
	}
	if (told || lop_waits_while_taken(&lopsided))
		look_in_a_slice(c);
}

/*
 * A higher class has come to a CPU. Most such moments are short, the loader's own among them: it counts as taken only if something waits for this CPU by a
 * rule, or if no other is free for what waits.
 */
static __always_inline void higher_class_came(struct lop_world *c, s32 cpu)
{
	bool given = lop_cpus_has(&lopsided.queues.given, lop_cpu_index((u32)cpu));
	if (!given && lop_cpus_empty(&lopsided.queues.domain_waiting))
		return;
	if (given || (lop_set_of(&lopsided, lop_cpu_index((u32)cpu)) != LOP_LOW && lop_is_short(&lopsided)))
		found_taken(c, cpu);
	find_member(c, 0);
}

/* What waits may have been told of to a CPU that a higher class came to at that moment. As long as something is on its way, it is looked at once in a slice. */
static __always_inline void look_around(struct lop_world *c)
{
	if (look_for_taken(c) || lop_waits_while_taken(&lopsided))
		find_member(c, 0);
	if (!lop_cpus_empty(&lopsided.queues.given))
		look_in_a_slice(c);
}

/* The same where interrupts are on. */
static __noinline void look_around_open(struct lop_world *c)
{
	unsigned long flags = 0;
	if (lop_cpus_empty(&lopsided.queues.domain_waiting) && lop_cpus_empty(&lopsided.queues.given) && !lop_any_stranded(&lopsided))
		return;
	if (tell_decisions)
		bpf_local_irq_save(&flags);
	look_around(c);
	if (tell_decisions)
		bpf_local_irq_restore(&flags);
}
