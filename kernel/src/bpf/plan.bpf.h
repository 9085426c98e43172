/* SPDX-License-Identifier: GPL-2.0-only */
#pragma once
/*
 * Plans of the loader: in which memory domain a thread runs, what it gains from speed. While there is something to plan
 * by, the loader reads the threads once a second (lop_look) and sends its decisions (lop_order). A thread that has to
 * leave its CPU does so at its next tick.
 */

/*
 * Set if the loader measures memory intensity. Then any thread is worth a look, else only one with a declared memory
 * class.
 */
const volatile bool measures;
/* 1: the loader is looking. It stops when no such thread has run for a second; then ticks report the next one. */
u32 looking;
/* The policy's handle for orders and changes of the goal. The loader sends one at a time. */
struct lop_world order_context;

/* Plans leave out kernel threads, which as a rule are no demand, and tasks of other scheduling classes. */
static __always_inline bool is_planned(const struct task_struct *p)
{
	return !(p->flags & PF_KTHREAD) && p->prio >= MAX_RT_PRIO && (!partial || p->policy == SCHED_EXT);
}

static __always_inline bool is_worth_a_look(struct task_struct *p, struct lop_task_state *t)
{
	const struct lop_hint_record *hint;
	if (!is_planned(p))
		return false;
	if (measures)
		return true;
	hint = hint_of(p, t);
	return hint && hint->memory;
}

/* At each tick of a running thread. */
static __always_inline void follow_plan(struct task_struct *p, struct lop_task_state *t)
{
	if (!plans)
		return;
	if (t->leaves)
		scx_bpf_task_set_slice(p, 0);
	if (!looking && is_worth_a_look(p, t) && !lop_atomic_cas(&looking, 0, 1))
		tell_loader(LOP_RECORD_LOOK, bpf_ktime_get_ns(), 0, 0, 0);
}

/*
 * The loader's own threads are no load. If they were the only threads of unknown intensity, a plan would be about the
 * planning.
 */
static __always_inline bool looks_itself(const struct task_struct *p) { return p->tgid == (s32)(bpf_get_current_pid_tgid() >> 32); }

/* Writes what the loader has to know about a thread. */
SEC("iter/task")
int lop_look(struct bpf_iter__task *about)
{
	struct task_struct *p = about->task;
	const struct lop_hint_record *hint;
	struct lop_task_state *t;
	struct lop_look look = {};
	if (!p || !is_planned(p) || looks_itself(p))
		return 0;
	t = state_of(p);
	if (!t)
		return 0;
	hint = hint_of(p, t);
	look.thread = p->pid;
	look.cpu = scx_bpf_task_cpu(p);
	look.memory = hint ? hint->memory : 0;
	look.ran_ns = p->se.sum_exec_runtime;
	look.waited_ns = p->sched_info.run_delay;
	look.restricted = t->task.restricted;
	look.system = t->task.system;
	look.home = lop_home_of(&lopsided, &t->task);
	bpf_seq_write(about->meta->seq, &look, sizeof(look));
	return 0;
}

static __always_inline void send_to_domain(struct task_struct *p, struct lop_task_state *t, s32 domain)
{
	u32 cpu = lop_cpu_index((u32)scx_bpf_task_cpu(p));
	u64 now_ns = bpf_ktime_get_ns();
	unsigned long flags = 0;
	bool locked = log_begin_open(&flags);
	if (!t->gone) {
		tell(LOP_RECORD_DOMAIN, now_ns, (u64)p, (s32)cpu, (u32)domain);
		if (lop_set_domain(&lopsided, &t->task, domain, cpu)) {
			tell(LOP_RECORD_LEAVES, now_ns, (u64)p, 0, 0);
			t->leaves = true;
		}
	}
	log_end_open(locked, &flags);
}

/* The gain counts from the next start of the thread, which is soon. */
static __always_inline void tell_speedup(struct lop_task_state *t, u32 permille)
{
	t->speedup_permille = permille;
	t->leaves = true;
}

static __always_inline void switch_domain(s32 domain, bool on)
{
	unsigned long flags;
	struct lop_world *c;
	bool locked;
	bpf_local_irq_save(&flags);
	c = begin(&order_context);
	locked = log_begin();
	tell(on ? LOP_RECORD_DOMAIN_ON : LOP_RECORD_DOMAIN_OFF, c->now_ns, 0, 0, (u32)domain);
	lop_set_domain_on(&lopsided, c, domain, on, c->now_ns);
	log_end(locked);
	bpf_local_irq_restore(&flags);
}

static __always_inline void rest_plans(void)
{
	unsigned long flags = 0;
	bool locked = log_begin_open(&flags);
	tell(LOP_RECORD_REST, bpf_ktime_get_ns(), 0, 0, 0);
	lop_end_plans(&lopsided);
	log_end_open(locked, &flags);
}

SEC("syscall")
int lop_order(struct lop_order *order)
{
	struct task_struct *p;
	struct lop_task_state *t;
	s32 place = order->place;
	u32 kind = order->kind;
	if (kind == LOP_ORDER_ON || kind == LOP_ORDER_OFF) {
		switch_domain(place, kind == LOP_ORDER_ON);
		return 0;
	}
	if (kind == LOP_ORDER_REST) {
		rest_plans();
		return 0;
	}
	p = bpf_task_from_pid(order->thread);
	if (!p)
		return 0;
	t = state_of(p);
	if (t && kind == LOP_ORDER_DOMAIN)
		send_to_domain(p, t, place);
	else if (t)
		tell_speedup(t, (u32)place);
	bpf_task_release(p);
	return 0;
}
