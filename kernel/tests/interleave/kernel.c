/* SPDX-License-Identifier: GPL-2.0-only */
#include "queues.h"
#include "program.h"

enum { DISPATCHES = 32 };

u64 tick_ns;
static u64 timer_at_ns = NEVER;
int (*timer_callback)(void *map, int *key, struct bpf_timer *timer);
void (*acts)(unsigned cpu, struct model_task *t);
void (*starts)(const struct model_task *t);
void (*interrupted)(unsigned cpu);
u64 (*next_interrupt_ns)(unsigned cpu);
bool (*goes)(void);
void (*wakes_at_its_end)(void);
static bool one_goes;

void timer_start(u64 delay_ns)
{
	full_barrier();
	if (has_ext_server && !interrupts_itself())
		return;
	timer_at_ns = clock_ns() + delay_ns;
	wake_fibre(nr_cpus);
	step();
}

bool timer_is_set(void) { return timer_at_ns != NEVER; }

/* Locks the CPU that a task belongs to. */
static struct model_cpu *lock_cpu_of(struct model_task *t)
{
	for (;;) {
		struct model_cpu *c = &cpus[t->cpu];
		lock(&c->lock);
		if (c == &cpus[t->cpu] && !t->migrating)
			return c;
		unlock(&c->lock);
	}
}

static void wake_higher(struct model_task *t)
{
	struct model_cpu *c = &cpus[t->cpu];
	lock(&c->lock);
	t->doing = RUNNABLE;
	append(&c->higher, t, false);
	c->rq.nr_running++;
	look_at_immed(c);
	resched(c);
	unlock(&c->lock);
}

static s32 first_usable(const struct model_task *t)
{
	s32 cpu = 0;
	while (!may_use(t, (unsigned)cpu))
		cpu++;
	return cpu;
}

bool wake(struct model_task *t)
{
	struct model_cpu *c;
	s32 cpu = t->cpu;
	lock(&t->waking);
	if (t->doing != ASLEEP) {
		unlock(&t->waking);
		return false;
	}
	t->doing = WAKING;
	notes("wakes task %u", t->number);
	while (t->on_cpu)
		step();
	if (t->higher) {
		wake_higher(t);
		unlock(&t->waking);
		return true;
	}
	t->task.__state = 0;
	if (t->task.nr_cpus_allowed > 1 && !t->task.migration_disabled)
		cpu = lopsided_select_cpu(&t->task, t->cpu, SCX_ENQ_WAKEUP);
	for (;;) {
		if (!may_use(t, (unsigned)cpu))
			cpu = first_usable(t);
		t->cpu = cpu;
		c = &cpus[cpu];
		lock(&c->lock);
		if (!c->leaves)
			break;
		unlock(&c->lock);
	}
	t->doing = RUNNABLE;
	t->waits_since_ns = clock_ns();
	count_in(c, t);
	enqueue(c, t, SCX_ENQ_WAKEUP);
	if (is_idle(c))
		resched(c);
	put_deferred(c);
	unlock(&c->lock);
	unlock(&t->waking);
	return true;
}

/* Scheduling */

static struct model_task *task_of(const struct task_struct *p) { return p == &idle_task ? NULL : p->model; }
static bool is_ours(const struct model_task *t) { return t && !t->higher; }
static bool is_queued(const struct model_task *t) { return is_ours(t) && t->task.scx.flags & SCX_TASK_QUEUED; }

static void use_slice(struct model_cpu *c, struct model_task *t)
{
	u64 ran_ns = clock_ns() - c->ran_since_ns;
	c->ran_since_ns += ran_ns;
	t->task.scx.slice -= ran_ns < t->task.scx.slice ? ran_ns : t->task.scx.slice;
}

static void put_to_sleep(struct model_cpu *c, struct model_task *t)
{
	t->sleeps = false;
	if (t->higher) {
		c->rq.nr_running--;
	} else {
		t->task.__state = t->state_asleep;
		use_slice(c, t);
		lopsided_stopping(&t->task, false);
		count_out(c, t);
	}
	t->doing = ASLEEP;
	wake_fibre(t->woken_by);
}

/* `c` is locked. Has its stopper push away a running task that may not stay there. */
static void have_pushed(struct model_cpu *c, struct model_task *t)
{
	c->movers[c->nr_movers++] = t;
	if (c->stopper.doing == ASLEEP) {
		c->stopper.doing = RUNNABLE;
		append(&c->higher, &c->stopper, false);
		c->rq.nr_running++;
	}
	resched(c);
}

/* Looks for a task of our class. True: `prev` goes on. */
static bool balance(struct model_cpu *c, struct model_task *prev)
{
	bool goes_on = false;
	unsigned n;
	c->in_balance = true;
	c->released = false;
	if (is_queued(prev))
		use_slice(c, prev);
	for (n = 0;; n++) {
		goes_on = is_queued(prev) && prev->task.scx.slice;
		if (goes_on || c->local.first || (n && !c->dispatched) || c->leaves)
			break;
		if (n == DISPATCHES) {
			scx_bpf_kick_cpu((s32)(c - cpus), 0);
			break;
		}
		c->dispatched = false;
		lopsided_dispatch((s32)(c - cpus), is_ours(prev) ? &prev->task : NULL);
	}
	c->in_balance = false;
	return goes_on;
}

static bool goes_on_higher(const struct model_task *prev) { return prev && prev->higher && prev->doing == RUNNABLE; }

/* Kernels without ext_server call dispatch even where a higher-class task is about to run. Null: nothing to run. */
static struct model_task *pick(struct model_cpu *c, struct model_task *prev)
{
	bool goes_on = false, above = goes_on_higher(prev) || (c->higher.first && prev && prev->higher);
	if (!above && !(has_ext_server && c->higher.first))
		goes_on = balance(c, prev);
	if (c->stopper.queue)
		return &c->stopper;
	if (goes_on_higher(prev))
		return prev;
	if (c->higher.first)
		return c->higher.first;
	return goes_on ? prev : c->local.first;
}

/* `prev` could go on and does not. */
static void put_back(struct model_cpu *c, struct model_task *prev, const struct model_task *next)
{
	use_slice(c, prev);
	lopsided_stopping(&prev->task, true);
	prev->waits_since_ns = clock_ns();
	if (prev->task.scx.slice) {
		append(&c->local, prev, false);
		unlink_task(prev);
		prev->next = c->local.first;
		c->local.first = prev;
		prev->queue = &c->local;
		c->local.nr++;
	} else {
		enqueue(c, prev, next ? 0 : SCX_ENQ_LAST);
	}
}

/*
 * migrate_disable_switch(): a task that is switched out with migration disabled may use only its CPU. `prev` has been
 * put where the program wanted it, and for the change it is taken out and put back.
 */
static void pin(struct model_cpu *c, struct model_task *t)
{
	bool queued = is_queued(t);
	if (queued)
		dequeue(c, t);
	t->pinned = true;
	t->only = (struct cpumask){ { 1ULL << t->cpu } };
	t->task.cpus_ptr = &t->only;
	lopsided_set_cpumask(&t->task, &t->only);
	if (!queued)
		return;
	count_in(c, t);
	enqueue(c, t, 0);
}

static void change(struct model_cpu *c, struct model_task *prev, struct model_task *next)
{
	struct scx_cpu_release_args args = {};
	if (is_queued(prev))
		put_back(c, prev, next);
	else if (goes_on_higher(prev))
		append(&c->higher, prev, false);
	if (is_ours(prev) && next && next->higher && !c->released) {
		c->released = true;
		lopsided_cpu_release((s32)(c - cpus), &args);
	}
	if (next)
		unlink_task(next);
	c->ran_since_ns = clock_ns();
	if (is_ours(next)) {
		if (starts)
			starts(next);
		lopsided_running(&next->task);
	}
	if (next)
		next->on_cpu = true;
	c->rq.curr = next ? &next->task : &idle_task;
	if (is_ours(prev) && prev->task.migration_disabled && !prev->pinned)
		pin(c, prev);
	notes("ran task %d, runs %d", prev ? (int)prev->number : -1, next ? (int)next->number : -1);
	look_at_immed(c);
	if (c->leaves && is_ours(next))
		have_pushed(c, next);
}

static void schedule(struct model_cpu *c)
{
	struct model_task *prev, *next;
	lock(&c->lock);
	full_barrier();
	c->resched = false;
	prev = task_of(c->rq.curr);
	if (prev && prev->sleeps)
		put_to_sleep(c, prev);
	next = pick(c, prev);
	if (next != prev) {
		change(c, prev, next);
		if (prev)
			prev->on_cpu = false;
	}
	put_deferred(c);
	unlock(&c->lock);
}

static void tick(struct model_cpu *c)
{
	struct model_task *t;
	lock(&c->lock);
	t = task_of(c->rq.curr);
	c->ticks_at_ns = clock_ns() + tick_ns;
	if (is_ours(t)) {
		use_slice(c, t);
		lopsided_tick(&t->task);
		if (!t->task.scx.slice)
			c->resched = true;
	}
	unlock(&c->lock);
}

/* `c` is locked. Moves a task that waits there to another CPU. */
static void push_away(struct model_cpu *c, struct model_task *t)
{
	struct model_cpu *to = &cpus[first_usable(t)];
	dequeue(c, t);
	t->migrating = true;
	unlock(&c->lock);
	lock(&to->lock);
	t->migrating = false;
	count_in(to, t);
	enqueue(to, t, 0);
	if (is_idle(to))
		resched(to);
	put_deferred(to);
	unlock(&to->lock);
	lock(&c->lock);
}

static void move_away(struct model_cpu *c)
{
	lock(&c->lock);
	while (c->nr_movers) {
		struct model_task *t = c->movers[--c->nr_movers];
		if (t->cpu == c - cpus && is_queued(t) && !t->migrating && !may_use(t, (unsigned)(c - cpus)))
			push_away(c, t);
	}
	c->stopper.sleeps = true;
	c->resched = true;
	unlock(&c->lock);
}

/* `c`, to which the task belongs, is locked. The task is taken out, `changes` its affinity, and it is put back. */
static void change_affinity(struct model_cpu *c, struct model_task *t, void (*changes)(struct model_task *t))
{
	bool queued = is_queued(t), runs = c->rq.curr == &t->task && queued;
	if (runs) {
		use_slice(c, t);
		lopsided_stopping(&t->task, false);
		count_out(c, t);
	} else if (queued) {
		dequeue(c, t);
	}
	changes(t);
	lopsided_set_cpumask(&t->task, t->task.cpus_ptr);
	if (queued)
		count_in(c, t);
	if (runs)
		lopsided_running(&t->task);
	else if (queued)
		enqueue(c, t, 0);
	if (runs && !may_use(t, (unsigned)t->cpu))
		have_pushed(c, t);
	else if (queued && !may_use(t, (unsigned)t->cpu))
		push_away(c, t);
}

static void take_new_mask(struct model_task *t)
{
	t->task.mask = t->new_mask;
	t->task.nr_cpus_allowed = __builtin_popcountll(t->new_mask.bits[0]);
}

void set_mask(struct model_task *t, u64 mask)
{
	struct model_cpu *c;
	lock(&t->waking);
	c = lock_cpu_of(t);
	notes("task %u may run on %llx", t->number, (unsigned long long)mask);
	t->new_mask = (struct cpumask){ { mask } };
	t->waits_since_ns = clock_ns(); /* it is queued again */
	change_affinity(c, t, take_new_mask);
	put_deferred(c);
	unlock(&c->lock);
	unlock(&t->waking);
}

void disable_migration(struct model_task *t)
{
	notes("task %u disables migration", t->number);
	t->task.migration_disabled = 1;
}

static void unpin(struct model_task *t)
{
	t->pinned = false;
	t->task.cpus_ptr = &t->task.mask;
}

/* As in the kernel, the affinity is back before the count says so. */
void enable_migration(struct model_task *t)
{
	struct model_cpu *c;
	notes("task %u enables migration", t->number);
	lock(&t->waking);
	c = lock_cpu_of(t);
	if (t->pinned)
		change_affinity(c, t, unpin);
	t->task.migration_disabled = 0;
	if (!may_use(t, (unsigned)t->cpu))
		have_pushed(c, t);
	put_deferred(c);
	unlock(&c->lock);
	unlock(&t->waking);
}

static u64 earlier(u64 a, u64 b) { return a < b ? a : b; }

/* All CPUs have stopped while one went offline. */
static void look_for_work_everywhere(void)
{
	unsigned n;
	for (n = 0; n < nr_cpus; n++)
		if (!cpus[n].off)
			resched(&cpus[n]);
}

/* One CPU at a time goes offline, when it is idle: first it takes no more tasks, then it is off, then it comes back. */
static void go(struct model_cpu *c)
{
	unsigned cpu = (unsigned)(c - cpus);
	c->goes_ns = clock_ns() + 1 + draw(4000);
	if (c->off) {
		c->off = c->leaves = false;
		notes("comes online");
		lopsided_cpu_online((s32)cpu);
		one_goes = false;
		c->resched = true;
	} else if (!c->leaves) {
		if (one_goes || !goes())
			return;
		one_goes = true;
		notes("goes offline");
		lock(&c->lock);
		c->leaves = true;
		unlock(&c->lock);
		lopsided_cpu_offline((s32)cpu);
	} else {
		lock(&c->lock);
		c->off = is_idle(c) && !c->local.first && !c->higher.first && !(c->kicks_idle | c->kicks_preempt);
		unlock(&c->lock);
		if (c->off) {
			wakes_at_its_end();
			look_for_work_everywhere();
		}
	}
}

const u32 *preempt_count_here(void) { return &cpus[bpf_get_smp_processor_id()].preempt_count; }

static void interrupt(unsigned cpu)
{
	cpus[cpu].preempt_count = 1 << 16; /* HARDIRQ_OFFSET */
	interrupted(cpu);
	cpus[cpu].preempt_count = 0;
}

void run_cpu(unsigned cpu)
{
	struct model_cpu *c = &cpus[cpu];
	for (;;) {
		struct model_task *t = task_of(c->rq.curr);
		u64 now_ns = clock_ns(), next_ns = next_interrupt_ns(cpu);
		if (!t && c->goes_ns <= now_ns)
			go(c);
		else if (c->off)
			sleep_until(c->goes_ns);
		else if (c->kicks_idle | c->kicks_preempt)
			carry_out_kicks(c);
		else if (c->reenqueues && !(c->resched && once_in(2)))
			reenqueue_immed(c);
		else if (c->resched)
			schedule(c);
		else if (t == &c->stopper)
			move_away(c);
		else if (is_ours(t) && c->ticks_at_ns <= now_ns)
			tick(c);
		else if (next_ns <= now_ns)
			interrupt(cpu);
		else if (t && t->acts_at_ns <= now_ns)
			acts(cpu, t);
		else
			sleep_until(earlier(next_ns, t ? earlier(is_ours(t) ? c->ticks_at_ns : NEVER, t->acts_at_ns) : c->goes_ns));
	}
}

void run_timer(unsigned number)
{
	for (;;) {
		if (cpus[number].kicks_idle | cpus[number].kicks_preempt) {
			carry_out_kicks(&cpus[number]);
		} else if (timer_at_ns <= clock_ns()) {
			timer_at_ns = NEVER;
			timer_callback(NULL, NULL, NULL);
		} else {
			sleep_until(timer_at_ns);
		}
	}
}

void begin_tasks(void)
{
	unsigned n;
	for (n = 0; n < nr_cpus; n++) {
		cpus[n].rq.curr = &idle_task;
		cpus[n].resched = true;
		cpus[n].goes_ns = goes ? clock_ns() + draw(4000) : NEVER;
		cpus[n].stopper = (struct model_task){ .higher = true, .cpu = (s32)n, .moving = -1, .number = MODEL_TASKS };
		cpus[n].stopper.task.model = &cpus[n].stopper;
		cpus[n].stopper.task.prio = -1;
	}
}
