/* SPDX-License-Identifier: GPL-2.0-only */
#include "queues.h"
#include "program.h"
#include <stdarg.h>
#include <stdio.h>

enum { MOST_QUEUES = 2048 };

struct model_cpu cpus[MODEL_CPUS + 1];
struct model_task tasks[MODEL_TASKS];
unsigned nr_cpus, nr_tasks;
struct task_struct idle_task = { .flags = PF_IDLE, .prio = 120 };
static struct queue queues[MOST_QUEUES];
static u64 stays;
bool has_ext_server, has_immed;

static unsigned here_at(void) { return running_fibre() < MODEL_CPUS ? running_fibre() : MODEL_CPUS; }
static struct model_cpu *here(void) { return &cpus[here_at()]; }

u32 task_number(const struct task_struct *p) { return p->model ? p->model->number : MODEL_TASKS; }

void fails(const char *why, ...)
{
	va_list list;
	va_start(list, why);
	printf("step %llu, CPU %u: ", (unsigned long long)steps_done(), running_fibre());
	vprintf(why, list);
	puts("");
	va_end(list);
	exit(1);
}

void notes(const char *what, ...)
{
	static s32 wanted = -1;
	va_list list;
	if (wanted < 0)
		wanted = getenv("LOP_INTERLEAVE_LOG") != NULL;
	if (!wanted)
		return;
	va_start(list, what);
	printf("%llu ns, CPU %u: ", (unsigned long long)clock_ns(), running_fibre());
	vprintf(what, list);
	puts("");
	va_end(list);
}

/* Kfuncs and helpers that the program calls */

u64 bpf_ktime_get_ns(void) { return clock_ns(); }
u32 bpf_get_smp_processor_id(void) { return here_at(); }
struct task_struct *bpf_get_current_task_btf(void) { return here()->rq.curr ? here()->rq.curr : &idle_task; }
struct task_struct *no_task(s32 number) { return (void)number, NULL; }
s32 scx_bpf_task_cpu(const struct task_struct *p) { return p->model->cpu; }
bool scx_bpf_task_running(const struct task_struct *p) { return cpus[p->model->cpu].rq.curr == p; }
void scx_bpf_task_set_slice(struct task_struct *p, u64 slice_ns) { p->scx.slice = slice_ns; }

/* Includes the entry of the timer, which is no CPU. */
const struct cpumask *scx_bpf_get_online_cpumask(void)
{
	static struct cpumask online;
	unsigned n;
	for (n = 0; n <= MODEL_CPUS; n++)
		online.bits[n / 64] = (online.bits[n / 64] & ~(1ULL << n % 64)) | (u64)!cpus[n].off << n % 64;
	return &online;
}

struct rq *rq_of(s32 cpu)
{
	step();
	return &cpus[cpu].rq;
}

void resched(struct model_cpu *c)
{
	c->resched = true;
	wake_fibre((unsigned)(c - cpus));
}

bool is_idle(const struct model_cpu *c) { return c->rq.curr == &idle_task; }
bool runs_ours(const struct model_cpu *c) { return !is_idle(c) && !c->rq.curr->model->higher; }

bool interrupts_itself(void)
{
	here()->deaf |= here()->off;
	return !here()->deaf;
}

/* It will pass through the scheduler before it is idle. */
static bool looks_anyway(const struct model_cpu *c) { return !is_idle(c) && !c->in_balance; }

/*
 * Kicks are carried out by an interrupt that the CPU sends to itself, once interrupts are on again. A SCX_KICK_IDLE is
 * dropped if the target is seen to be busy.
 */
void scx_bpf_kick_cpu(s32 cpu, u64 flags)
{
	struct model_cpu *target = &cpus[cpu];
	full_barrier();
	if (!interrupts_itself())
		return;
	if (flags & SCX_KICK_PREEMPT) {
		here()->kicks_preempt |= 1ULL << cpu;
		return;
	}
	if (try_lock(&target->lock)) {
		bool skipped = looks_anyway(target);
		unlock(&target->lock);
		if (skipped)
			return;
	}
	here()->kicks_idle |= 1ULL << cpu;
}

static void kick(struct model_cpu *target, bool preempts)
{
	notes("%s CPU %u", preempts ? "preempts" : "kicks", (unsigned)(target - cpus));
	lock(&target->lock);
	if (preempts && runs_ours(target))
		target->rq.curr->scx.slice = 0;
	if (preempts ? is_idle(target) || runs_ours(target) : !looks_anyway(target))
		resched(target);
	unlock(&target->lock);
}

void carry_out_kicks(struct model_cpu *c)
{
	while (c->kicks_idle | c->kicks_preempt) {
		u64 *kicks = c->kicks_preempt ? &c->kicks_preempt : &c->kicks_idle;
		unsigned cpu = (unsigned)__builtin_ctzll(*kicks);
		bool preempts = kicks == &c->kicks_preempt;
		*kicks &= *kicks - 1;
		step();
		kick(&cpus[cpu], preempts);
	}
}

/* Queues */

static bool is_local(const struct queue *q) { return q < queues || q >= queues + MOST_QUEUES; }

static bool is_before(const struct model_task *a, const struct model_task *b)
{
	return (s64)(a->task.scx.dsq_vtime - b->task.scx.dsq_vtime) < 0;
}

void append(struct queue *q, struct model_task *t, bool ordered)
{
	struct model_task **at = &q->first;
	while (*at && !(ordered && is_before(t, *at)))
		at = &(*at)->next;
	t->next = *at;
	*at = t;
	t->queue = q;
	notes("task %u waits in queue %ld", t->number, is_local(q) ? -1L : q - queues);
	t->immed = false;
	t->seen = ++stays;
	q->nr++;
}

void unlink_task(struct model_task *t)
{
	struct model_task **at = &t->queue->first;
	while (*at != t)
		at = &(*at)->next;
	*at = t->next;
	t->queue->nr--;
	t->queue = NULL;
}


/*
 * The first task in this CPU's local DSQ is about to run: the CPU is idle or looks for work, and no higher-class task
 * is runnable.
 */
static bool is_open(const struct model_cpu *c)
{
	bool above = c->higher.first || (!is_idle(c) && c->rq.curr->model->higher);
	return !above && (is_idle(c) || c->in_balance);
}

void look_at_immed(struct model_cpu *c)
{
	const struct model_task *t;
	for (t = c->local.first; t; t = t->next)
		c->reenqueues |= t->immed && (t != c->local.first || !is_open(c));
}

static void append_local(struct model_cpu *c, struct model_task *t, u64 flags)
{
	append(&c->local, t, false);
	t->immed = flags & SCX_ENQ_IMMED;
	look_at_immed(c);
}

/* `c` is locked. Puts a task in its local DSQ. */
static void put_local(struct model_cpu *c, struct model_task *t, u64 flags)
{
	bool preempts = (flags & SCX_ENQ_PREEMPT) && runs_ours(c) && c->rq.curr != &t->task;
	append_local(c, t, flags);
	wake_fibre((unsigned)(c - cpus));
	if (preempts)
		c->rq.curr->scx.slice = 0;
	if (preempts || is_idle(c))
		resched(c);
}

static void ask_for(struct task_struct *p, u64 queue, u64 slice_ns, u64 flags)
{
	if (p->model->wants)
		fails("task %u is put in two queues", p->model->number);
	p->scx.slice = slice_ns;
	p->model->wants = queue == SCX_DSQ_LOCAL || queue & SCX_DSQ_LOCAL_ON ? queue : queue + 1;
	p->model->wants_flags = flags;
}

void scx_bpf_dsq_insert(struct task_struct *p, u64 queue, u64 slice_ns, u64 flags) { ask_for(p, queue, slice_ns, flags); }
void scx_bpf_dsq_insert_vtime(struct task_struct *p, u64 queue, u64 slice_ns, u64 vtime, u64 flags)
{
	p->scx.dsq_vtime = vtime;
	ask_for(p, queue, slice_ns, flags);
}

s32 scx_bpf_dsq_nr_queued(u64 queue)
{
	step();
	return (s32)queues[queue].nr;
}

void count_in(struct model_cpu *c, struct model_task *t)
{
	t->cpu = (s32)(c - cpus);
	t->task.scx.flags |= SCX_TASK_QUEUED;
	c->rq.nr_running++;
	c->rq.scx.nr_running++;
}

void count_out(struct model_cpu *c, struct model_task *t)
{
	t->task.scx.flags &= ~(u32)SCX_TASK_QUEUED;
	c->rq.nr_running--;
	c->rq.scx.nr_running--;
}

/*
 * Moves a task that this CPU has marked as taken (`moving`) to the local DSQ of `to`. Unlocks `held` (null: none)
 * meanwhile. False: the task was changed in between, and whoever changed it owns it now.
 */
static bool move_to(struct model_task *t, struct model_cpu *to, struct model_cpu *held, u64 flags)
{
	struct model_cpu *from = &cpus[t->cpu];
	bool still;
	if (held)
		unlock(&held->lock);
	lock(&from->lock);
	still = t->moving == (s32)here_at() && from == &cpus[t->cpu];
	if (to->leaves)
		to = from;
	if (still) {
		t->moving = -1;
		if (from != to && !may_use(t, (unsigned)(to - cpus)))
			fails("task %u is put on CPU %ld, which it may not use", t->number, (long)(to - cpus));
		if (from != to) {
			count_out(from, t);
			t->migrating = true;
			unlock(&from->lock);
			lock(&to->lock);
			t->migrating = false;
			count_in(to, t);
		}
		put_local(to, t, flags);
		unlock(&to->lock);
	} else {
		unlock(&from->lock);
	}
	if (held)
		lock(&held->lock);
	return still;
}

static bool may_be_taken(const struct model_task *t, const struct model_cpu *c)
{
	return t->cpu == c - cpus || may_use(t, (unsigned)(c - cpus));
}

/* The queue and `to` are locked. Unlocks the queue. */
static bool take(struct model_task *t, struct queue *q, struct model_cpu *to, struct model_cpu *held, u64 flags)
{
	unlink_task(t);
	if (t->cpu == to - cpus && to == held) {
		append_local(to, t, flags);
		unlock(&q->lock);
		return true;
	}
	t->moving = (s32)here_at();
	unlock(&q->lock);
	return move_to(t, to, held, flags);
}

bool scx_bpf_dsq_move_to_local(u64 queue, u64 flags)
{
	struct queue *q = &queues[queue];
	struct model_cpu *c = here();
	for (;;) {
		struct model_task *t;
		step();
		if (!q->nr)
			return false;
		lock(&q->lock);
		for (t = q->first; t && !may_be_taken(t, c); t = t->next)
			;
		if (!t) {
			unlock(&q->lock);
			return false;
		}
		if (take(t, q, c, c, flags)) {
			c->dispatched = true;
			return true;
		}
	}
}

struct walk walk_begin(u64 queue, u64 flags)
{
	(void)flags;
	return (struct walk){ .queue = queue, .seen = stays };
}

/* Tasks queued after the walk began are not seen. */
struct task_struct *walk_next(struct walk *walk)
{
	struct queue *q = &queues[walk->queue];
	struct model_task *t;
	lock(&q->lock);
	for (t = q->first; t; t = t->next)
		if (t->seen <= walk->seen && (!walk->begun || (s64)(t->task.scx.dsq_vtime - walk->last_vtime) > 0 ||
					      (t->task.scx.dsq_vtime == walk->last_vtime && t->seen > walk->last_seen)))
			break;
	if (t) {
		walk->begun = true;
		walk->last_vtime = t->task.scx.dsq_vtime;
		walk->last_seen = t->seen;
	}
	unlock(&q->lock);
	return t ? &t->task : NULL;
}

bool scx_bpf_dsq_move(struct walk *walk, struct task_struct *p, u64 queue, u64 flags)
{
	struct queue *q = &queues[walk->queue];
	struct model_cpu *to = &cpus[(u32)queue];
	lock(&q->lock);
	if (p->model->queue != q || p->model->seen != walk->last_seen) {
		unlock(&q->lock);
		return false;
	}
	here()->dispatched = true;
	return take(p->model, q, to, here()->in_balance ? here() : NULL, flags);
}

/*
 * Puts the task in the DSQ that the program asked for. Its CPU `c` is locked. A task for another CPU is deferred until
 * `c` is unlocked.
 */
static void put_where_asked(struct model_cpu *c, struct model_task *t)
{
	u64 wants = t->wants;
	struct model_cpu *to = wants == SCX_DSQ_LOCAL ? c : &cpus[(u32)wants % (MODEL_CPUS + 1)];
	t->wants = 0;
	step();
	if (!wants)
		fails("task %u is put in no queue", t->number);
	if (wants == SCX_DSQ_LOCAL || (wants & SCX_DSQ_LOCAL_ON && to == c)) {
		put_local(c, t, t->wants_flags);
	} else if (wants & SCX_DSQ_LOCAL_ON) {
		t->moving = MODEL_CPUS + to - cpus;
		t->next = c->deferred;
		c->deferred = t;
	} else {
		struct queue *q = &queues[wants - 1];
		lock(&q->lock);
		append(q, t, true);
		unlock(&q->lock);
	}
}

void put_deferred(struct model_cpu *c)
{
	while (c->deferred) {
		struct model_task *t = c->deferred;
		struct model_cpu *to = &cpus[t->moving - MODEL_CPUS];
		c->deferred = t->next;
		t->moving = (s32)here_at();
		move_to(t, to, c, t->wants_flags);
	}
}

void enqueue(struct model_cpu *c, struct model_task *t, u64 flags)
{
	if (!t->wants)
		lopsided_enqueue(&t->task, flags);
	put_where_asked(c, t);
}

static void take_deferred_out(struct model_cpu *c, struct model_task *t)
{
	struct model_task **at = &c->deferred;
	while (*at && *at != t)
		at = &(*at)->next;
	if (*at)
		*at = t->next;
}

void dequeue(struct model_cpu *c, struct model_task *t)
{
	for (;;) {
		struct queue *q = t->queue;
		if (!q)
			break;
		if (is_local(q)) {
			unlink_task(t);
			break;
		}
		lock(&q->lock);
		if (t->queue == q)
			unlink_task(t);
		unlock(&q->lock);
	}
	take_deferred_out(c, t);
	t->moving = -1;
	count_out(c, t);
}

u32 scx_bpf_reenqueue_local(void)
{
	struct model_cpu *c = here();
	struct model_task *again[MODEL_TASKS];
	u32 nr = 0, n;
	while (c->local.first) {
		again[nr++] = c->local.first;
		unlink_task(c->local.first);
	}
	for (n = 0; n < nr; n++)
		enqueue(c, again[n], SCX_ENQ_REENQ);
	return nr;
}

void reenqueue_immed(struct model_cpu *c)
{
	struct model_task *again[MODEL_TASKS], *t, *next;
	u32 nr = 0, n;
	lock(&c->lock);
	c->reenqueues = false;
	for (t = c->local.first; t; t = next) {
		next = t->next;
		if (!t->immed || (t == c->local.first && is_open(c)))
			continue;
		again[nr++] = t;
	}
	for (n = 0; n < nr; n++)
		unlink_task(again[n]);
	for (n = 0; n < nr; n++)
		enqueue(c, again[n], SCX_ENQ_REENQ);
	put_deferred(c);
	unlock(&c->lock);
}
