/* SPDX-License-Identifier: GPL-2.0-only */
#pragma once
/* CPUs that go offline and come online. */

/* What the speeds of a CPU can be set by is only known of CPUs that are online. */
const volatile bool sets_speeds;
struct lop_cpus known_cpus;

/* Nowhere that is online may it run, as far as it is known by now. */
static __always_inline bool is_stranded(const struct lop_task_state *t)
{
	return !lop_cpus_meet(&t->task.allowed, &lopsided.online);
}

/*
 * What waits in a queue while a CPU goes. A task that counted on it finds another member. One that may run nowhere else, as far as the policy knows, is given to
 * the CPU: the kernel asks no scheduler on behalf of a CPU that is going, but what it finds there it runs and so pushes away, to where it decides by its own
 * rules. Left in the queue it would keep the CPU from going. So is what waits at an isolated CPU, whose queue no other serves.
 */
static __noinline void leave_cpu(u32 queue, u32 cpu)
{
	struct task_struct *p;
	bpf_for_each(scx_dsq, p, queue, 0) {
		struct lop_task_state *t = state_of(p);
		unsigned long flags = 0;
		bool locked;
		if (!t || (t->task.anchor != (s32)cpu && !(is_stranded(t) && lop_cpus_has(&t->task.allowed, cpu))))
			continue;
		if (is_stranded(t) || lop_is_isolated(&lopsided, cpu)) {
			scx_bpf_dsq_move(BPF_FOR_EACH_ITER, p, SCX_DSQ_LOCAL_ON | cpu, 0);
			continue;
		}
		locked = log_begin_open(&flags);
		tell(LOP_RECORD_ANCHOR, hotplug_context.now_ns, (u64)p, (s32)cpu, 0);
		lop_anchor_anew(&lopsided, &hotplug_context, &t->task, hotplug_context.now_ns);
		log_end_open(locked, &flags);
	}
}

void BPF_STRUCT_OPS(lopsided_cpu_offline, s32 cpu)
{
	struct lop_world *c = begin(&hotplug_context);
	unsigned long flags = 0;
	s32 queue = LOP_NONE;
	bool locked = log_begin_open(&flags);
	int n;
	tell(LOP_RECORD_OFFLINE, c->now_ns, 0, cpu, 0);
	lop_cpu_offline(&lopsided, c, (u32)cpu, c->now_ns);
	log_end_open(locked, &flags);
	resting[lop_cpu_index((u32)cpu)] = false;
	leave_cpu(lop_cpu_queue((u32)cpu), (u32)cpu);
	bpf_for(n, 0, 2 * LOP_MAX_MEMORY_DOMAINS) {
		queue = lop_cpus_next(&lopsided.queues.domain_waiting, (u32)(queue + 1));
		if (queue < 0)
			break;
		leave_cpu(LOP_MAX_CPUS + (u32)queue, (u32)cpu);
	}
	look_around_open(c);
	tell_given_up(c);
	list_anew();
}

/* A CPU whose place in the machine, or how its speed is set, was not known at the start: the loader reads the machine again. */
void BPF_STRUCT_OPS(lopsided_cpu_online, s32 cpu)
{
	struct lop_world *c = begin(&hotplug_context);
	unsigned long flags = 0;
	bool locked;
	if (!lop_cpus_has(&known_cpus, lop_cpu_index((u32)cpu))) {
		scx_bpf_exit(SCX_ECODE_ACT_RESTART | SCX_ECODE_RSN_HOTPLUG, "CPU %d is new", cpu);
		return;
	}
	locked = log_begin_open(&flags);
	tell(LOP_RECORD_ONLINE, c->now_ns, 0, cpu, 0);
	lop_cpu_online(&lopsided, c, (u32)cpu, c->now_ns);
	log_end_open(locked, &flags);
	lop_cpus_add(&unsure, lop_cpu_index((u32)cpu));
	look_around_open(c);
	list_anew();
}
