/* SPDX-License-Identifier: GPL-2.0-only */
#pragma once
/* CPU hotplug. */

/* How the speed of a CPU can be set is known only for CPUs that were online at the start. */
const volatile bool sets_speeds;
struct lop_cpus known_cpus;

/* No CPU that the task may use, as far as the policy knows its affinity, is online. */
static __always_inline bool is_stranded(const struct lop_task_state *t)
{
	return !lop_cpus_meet(&t->task.allowed, &lopsided.online);
}

/*
 * Empties a DSQ of tasks that wait for a CPU that goes offline. A task anchored to this CPU gets another member as its
 * anchor. A task that may run on no other CPU, as far as the policy knows, is moved to this CPU's local DSQ: the kernel
 * does not call dispatch for a CPU that is going offline, but it does run tasks in the local DSQ, and then pushes them
 * away to a CPU of its own choice. Left in the DSQ, the task would keep the CPU from going offline. The same goes for a
 * task that waits at an isolated CPU, whose DSQ no other CPU serves.
 */
static __noinline void leave_cpu(u64 dsq, u32 cpu)
{
	struct task_struct *p;
	bpf_for_each(scx_dsq, p, dsq, 0) {
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

static __always_inline void leave_queue(u32 queue, u32 cpu)
{
	leave_cpu(dsq_of(queue, 0), cpu);
	leave_cpu(dsq_of(queue, 1), cpu);
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
	leave_queue(lop_cpu_queue((u32)cpu), (u32)cpu);
	bpf_for(n, 0, 2 * LOP_MAX_MEMORY_DOMAINS) {
		queue = lop_cpus_next(&lopsided.queues.domain_waiting, (u32)(queue + 1));
		if (queue < 0)
			break;
		leave_queue(LOP_MAX_CPUS + (u32)queue, (u32)cpu);
	}
	look_around_open(c);
	tell_given_up(c);
}

/*
 * If the CPU's place in the topology, or how its speed is set, was unknown at the start, the scheduler restarts and the
 * loader reads the machine again.
 */
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
}
