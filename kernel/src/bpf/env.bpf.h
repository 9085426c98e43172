/* SPDX-License-Identifier: GPL-2.0-only */
#pragma once
/* Implements policy/core/env.h. */

struct lop_world contexts[LOP_MAX_CPUS];
struct lop_world timer_context, hotplug_context;

/*
 * By CPU: whether the in-kernel governor takes the program's cpuperf requests; the performance wanted, the performance
 * last requested, and when.
 */
u8 asks_speed[LOP_MAX_CPUS];
u32 target_perf[LOP_MAX_CPUS], asked_perf[LOP_MAX_CPUS];
u64 asked_at_ns[LOP_MAX_CPUS];
/*
 * Each request is made asks_in_all times, repeat_ns apart, for two reasons. The governor drops a request that comes too
 * soon after its last change. Where the CPU does not count its clock cycles, the governor raises the speed by only a
 * quarter of the present speed per request.
 */
u32 asks_left[LOP_MAX_CPUS];
const volatile u32 asks_in_all = 3;
const volatile u64 repeat_ns;
/*
 * The second reason applies: the CPU kicks itself to ask again at once, busy or idle, until only the LOP_SPARE_ASKS
 * requests remain that the governor may drop.
 */
const volatile bool asks_in_steps;
#define LOP_SPARE_ASKS 2
/*
 * low_perf: performance of low CPUs on the kernel's cpuperf scale. high_perf: performance of each CPU while it is high,
 * in 1024ths of its own capacity, which is the top of that scale on that CPU. The loader changes it with the goal (lop_goal()).
 */
const volatile u32 low_perf;
u32 high_perf[LOP_MAX_CPUS];
/* The same for homes of paced work, by rung, and for the reserved core, by step; never above high_perf. */
const volatile u32 rung_perf[LOP_MAX_RUNGS], reserved_perf[LOP_RESERVE_SPEEDS];

struct lop_timer_map_value { struct bpf_timer timer; };
struct {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(max_entries, 1);
	__type(key, u32);
	__type(value, struct lop_timer_map_value);
} timers SEC(".maps");

/*
 * Invariant: the timer is armed for lopsided.timer_at_ns.
 * Protocol: the policy writes timer_at_ns before it calls this. This arms the timer, then reads timer_at_ns again and
 * arms once more if it has changed, up to LOP_TIMER_TRIES times in all.
 * Two CPUs may write their times in one order and arm the timer in the other. The CPU that arms it last has then read
 * the time that was written last. Without the second read, the timer could stay armed for an overwritten time.
 */
#define LOP_TIMER_TRIES 8
static __noinline void start_timer(u64 at_ns)
{
	struct lop_timer_map_value *timer;
	u64 now_ns, noted_ns;
	u32 only = 0;
	int n;
	timer = bpf_map_lookup_elem(&timers, &only);
	if (!timer)
		return;
	bpf_for(n, 0, LOP_TIMER_TRIES) {
		now_ns = bpf_ktime_get_ns();
		bpf_timer_start(&timer->timer, at_ns > now_ns ? at_ns - now_ns : 0, 0);
		noted_ns = READ_ONCE(lopsided.timer_at_ns);
		if (!noted_ns || noted_ns == at_ns)
			break;
		at_ns = noted_ns;
	}
}

/*
 * Carries out what a dying CPU recorded (dying.bpf.h). The atomic that clears left_over comes before the requests are
 * read, so a request recorded later sets the flag again.
 */
static __noinline void do_what_is_left(void)
{
	s32 cpu = LOP_NONE;
	int n;
	if (is_dying() || !lop_atomic_and(&left_over, 0))
		return;
	bpf_for(n, 0, LOP_MAX_CPUS) {
		cpu = lop_cpus_next(&left_kicks, (u32)(cpu + 1));
		if (cpu < 0)
			break;
		lop_cpus_take(&left_kicks, lop_cpu_index((u32)cpu));
		scx_bpf_kick_cpu(cpu, SCX_KICK_PREEMPT);
	}
	if (lopsided.timer_at_ns)
		start_timer(lopsided.timer_at_ns);
	wake_loader();
}

static __always_inline struct lop_world *begin(struct lop_world *c)
{
	c->now_ns = bpf_ktime_get_ns();
	c->insertion = LOP_INSERT_NONE;
	return c;
}

static __always_inline struct lop_world *begin_here(void)
{
	if (left_over)
		do_what_is_left();
	return begin(&contexts[lop_cpu_index(bpf_get_smp_processor_id())]);
}

static __always_inline u64 lop_env_now_ns(struct lop_world *world) { return world->now_ns; }

static __always_inline void lop_env_insert_local(struct lop_world *world, struct lop_task *t, u32 cpu, u64 slice_ns)
{
	world->insertion = LOP_INSERT_LOCAL;
	world->insert_at = cpu;
	world->insert_slice_ns = slice_ns;
}

static __always_inline void lop_env_insert(struct lop_world *world, struct lop_task *t, u32 queue, u64 slice_ns, u64 vtime_ns)
{
	world->insertion = LOP_INSERT_QUEUE;
	world->insert_at = queue;
	world->insert_slice_ns = slice_ns;
	world->insert_vtime_ns = vtime_ns;
}

/* Records where lop_enqueue() put the task. */
static __always_inline void tell_put(const struct lop_world *c, const struct task_struct *p)
{
	if (c->insertion == LOP_INSERT_LOCAL)
		tell(LOP_RECORD_PLACED, c->now_ns, (u64)p, (s32)c->insert_at, true);
	else
		tell(LOP_RECORD_QUEUED, c->now_ns, (u64)p, 0, c->insert_at);
}

/*
 * Each queue of the policy is two DSQs: a DSQ has one order, that of virtual time, and overdue tasks are found by age.
 *     1. A task enters the young DSQ.
 *     2. Once the other DSQ is empty, and LOP_WAIT_MIN_NS after the last change, the two change roles.
 *     3. LOP_WAIT_MIN_NS after that, the tasks in the old DSQ are overdue.
 * So no task is overdue before LOP_WAIT_MIN_NS, and each is after twice that, plus what the DSQ before it takes to empty.
 * No length of the queue matters: the kernel itself walks to the first task that may run on the CPU.
 */
u32 young_dsq[LOP_QUEUES];
u64 turned_at_ns[LOP_QUEUES];

static __always_inline u64 dsq_of(u32 queue, u32 half) { return lop_queue_index(queue) | (half ? LOP_QUEUES : 0); }
static __always_inline u64 young_of(u32 queue) { return dsq_of(queue, young_dsq[lop_queue_index(queue)]); }
static __always_inline u64 other_dsq(u64 dsq) { return dsq ^ LOP_QUEUES; }

static __always_inline bool is_dsq_empty(u64 dsq) { return scx_bpf_dsq_nr_queued(dsq) <= 0; }

/* Tells whether the task may run on `cpu`: while its migration is disabled, only if that is its CPU. */
static __always_inline bool may_run_on(const struct task_struct *p, u32 cpu)
{
	return bpf_cpumask_test_cpu(cpu, p->cpus_ptr) && (!is_migration_disabled(p) || scx_bpf_task_cpu(p) == (s32)cpu);
}

/*
 * Most tasks examined in one walk over a DSQ; what it does not reach becomes overdue. The count lives in memory that the
 * verifier does not track (world->looks): otherwise it would verify each iteration separately.
 */
#define LOP_MOST_LOOKS 4096
/*
 * Returns the virtual time of the first task in the DSQ that may run on `cpu` (LOP_ANY_CPU: of the first task). LOP_NO_TIME:
 * there is none.
 */
#define LOP_ANY_CPU LOP_MAX_CPUS
lop_subprog u64 first_in(struct lop_world *world lop_nonnull, u64 dsq, u32 cpu)
{
	struct task_struct *p;
	u64 first_ns = LOP_NO_TIME;
	world->looks = 0;
	bpf_for_each(scx_dsq, p, dsq, 0) {
		if (cpu == LOP_ANY_CPU || may_run_on(p, cpu))
			first_ns = p->scx.dsq_vtime;
		if (first_ns != LOP_NO_TIME || ++world->looks >= LOP_MOST_LOOKS)
			break;
	}
	return first_ns;
}

/*
 * Chooses the DSQ of the queue whose first task that may run on `cpu` is further behind. The first task of all may be
 * restricted to other CPUs, and says nothing about those behind it.
 */
lop_subprog u64 first_dsq(struct lop_world *world lop_nonnull, u32 queue, u32 cpu)
{
	u64 young = young_of(queue), old = other_dsq(young), young_ns, old_ns;
	if (is_dsq_empty(old))
		return young;
	young_ns = first_in(world, young, cpu);
	old_ns = first_in(world, old, cpu);
	return young_ns == LOP_NO_TIME || (old_ns != LOP_NO_TIME && lop_before(old_ns, young_ns)) ? old : young;
}

/* Moves to `cpu` the first task of the DSQ that may run there, if its virtual time is not after `until_ns`. */
lop_subprog bool take_until(struct lop_world *world lop_nonnull, u64 dsq, u32 cpu, u64 until_ns)
{
	struct task_struct *p;
	bool taken = false;
	world->looks = 0;
	bpf_for_each(scx_dsq, p, dsq, 0) {
		if (lop_before(until_ns, p->scx.dsq_vtime))
			break;
		if (may_run_on(p, cpu))
			taken = scx_bpf_dsq_move(BPF_FOR_EACH_ITER, p, SCX_DSQ_LOCAL_ON | cpu, 0);
		if (taken || ++world->looks >= LOP_MOST_LOOKS)
			break;
	}
	return taken;
}

/* Takes from the old DSQ, or turns. lop_take_overdue() lets one CPU at a time call it for a queue. */
static __always_inline bool lop_env_take_overdue(struct lop_world *world, u32 queue, u32 cpu, u64 before_ns)
{
	u64 *turned_ns = &turned_at_ns[lop_queue_index(queue)];
	u64 old = other_dsq(young_of(queue));
	if (lop_before(world->now_ns, *turned_ns + LOP_WAIT_MIN_NS))
		return false;
	if (!is_dsq_empty(old))
		return scx_bpf_dsq_move_to_local(old, 0);
	*turned_ns = world->now_ns;
	young_dsq[lop_queue_index(queue)] = old >= LOP_QUEUES;
	return false;
}

static __always_inline bool lop_env_take(struct lop_world *world, u32 queue, u32 cpu, u64 until_ns)
{
	u64 dsq = first_dsq(world, queue, cpu);
	if (until_ns == LOP_NO_TIME)
		return scx_bpf_dsq_move_to_local(dsq, 0) || scx_bpf_dsq_move_to_local(other_dsq(dsq), 0);
	return take_until(world, dsq, cpu, until_ns) || take_until(world, other_dsq(dsq), cpu, until_ns);
}

static __always_inline u32 lop_env_queued(struct lop_world *world, u32 queue)
{
	s32 young = scx_bpf_dsq_nr_queued(dsq_of(queue, 0)), old = scx_bpf_dsq_nr_queued(dsq_of(queue, 1));
	return (u32)(young < 0 ? 0 : young) + (u32)(old < 0 ? 0 : old);
}

static __always_inline u64 lop_env_first_ns(struct lop_world *world, u32 queue)
{
	return first_in(world, first_dsq(world, queue, LOP_ANY_CPU), LOP_ANY_CPU);
}

static __always_inline void lop_env_kick(struct lop_world *world, u32 cpu) { kick(cpu, SCX_KICK_IDLE); }

static __always_inline void lop_env_preempt(struct lop_world *world, u32 cpu)
{
	tell(LOP_RECORD_PREEMPT, world->now_ns, 0, (s32)cpu, 0);
	kick((s32)cpu, SCX_KICK_PREEMPT);
}

/* want_speed() has run since the idle CPUs were last asked for (ask_for_sleepers()). */
u32 sleepers_ask;

/*
 * The set at whose speed a CPU runs. The reserved core begins at that of low CPUs, and ends at that of high ones; between
 * these it counts as green here, since it has a speed of its own, as green CPUs do.
 */
static __always_inline enum lop_set speed_set_of(u32 cpu)
{
	u32 raised = READ_ONCE(lopsided.reserved.raised);
	if (!lop_on_reserved_core(&lopsided, cpu))
		return lop_set_of(&lopsided, cpu);
	if (!raised)
		return LOP_LOW;
	return raised < lopsided.config.reserve_raises ? LOP_GREEN : LOP_HIGH;
}

/* The performance of a CPU whose speed_set_of() is green, in 1024ths of its capacity. */
static __always_inline u32 green_perf(u32 cpu)
{
	if (lop_on_reserved_core(&lopsided, cpu))
		return reserved_perf[READ_ONCE(lopsided.reserved.raised) & (LOP_RESERVE_SPEEDS - 1)];
	return rung_perf[READ_ONCE(lopsided.pace.rung[lop_cpu_index(cpu)]) & (LOP_MAX_RUNGS - 1)];
}

/* The same as a share of the highest frequency, x 1000. */
static __always_inline u32 green_permille(u32 cpu)
{
	if (lop_on_reserved_core(&lopsided, cpu))
		return lopsided.config.reserve_permille[lopsided.reserved.raised & (LOP_RESERVE_SPEEDS - 1)];
	return lop_rung_at(&lopsided, lopsided.pace.rung[lop_cpu_index(cpu)])->speed_permille;
}

/*
 * A governor takes a request only from a CPU of its own domain, and a callback may name only the CPU whose runqueue is
 * locked. So each CPU asks for itself in its next callback. An idle CPU is not woken for that: it asks when a task
 * starts there, and the timer or a change of the goal asks for it meanwhile (ask_for_sleepers()).
 */
static __always_inline void want_speed(u32 cpu, enum lop_set set)
{
	u32 perf;
	cpu = lop_cpu_index(cpu);
	if (!asks_speed[cpu] || set == LOP_OFFLINE)
		return;
	perf = high_perf[cpu];
	if ((paces || reserves) && set == LOP_GREEN)
		perf = (u32)lop_min(perf, green_perf(cpu));
	target_perf[cpu] = set == LOP_LOW ? low_perf : scx_bpf_cpuperf_cap((s32)cpu) * perf >> 10;
	/*
	 * Written after target_perf, so that the asks are for the new speed. The CPU may count asks_left down at this
	 * moment; both are atomic, so its subtraction cannot overwrite this value.
	 */
	__sync_lock_test_and_set(&asks_left[cpu], asks_in_all);
	sleepers_ask = true;
}

static __always_inline void set_speed(struct lop_world *c, u32 cpu, enum lop_set set)
{
	u32 value = set;
	want_speed(cpu, set);
	if (!tell_speeds)
		return;
	if ((paces || reserves) && set == LOP_GREEN)
		value |= green_permille(cpu) << 8;
	tell_loader(LOP_RECORD_SPEED, c->now_ns, 0, (s32)cpu, value);
}

/* Caller holds the runqueue lock of `cpu`. */
static __always_inline void ask_speed(u32 cpu, u64 now_ns)
{
	cpu = lop_cpu_index(cpu);
	if (!asks_left[cpu])
		return;
	if (asked_perf[cpu] != target_perf[cpu] || now_ns - asked_at_ns[cpu] >= repeat_ns) {
		lop_atomic_add(&asks_left[cpu], -1);
		asked_at_ns[cpu] = now_ns;
		asked_perf[cpu] = target_perf[cpu];
		scx_bpf_cpuperf_set((s32)cpu, asked_perf[cpu]);
	}
	if (asks_in_steps && asks_left[cpu] > LOP_SPARE_ASKS && target_perf[cpu] != low_perf)
		kick((s32)cpu, SCX_KICK_PREEMPT);
}

/*
 * Called by the timer and lop_goal(), which hold no runqueue lock. A demoted CPU that sleeps would keep the clock of its
 * domain high, and one that stays high would keep the speed of the former goal, so others ask for idle CPUs. The governor
 * may drop a request that comes from a CPU of another domain, so they ask once more for themselves.
 */
static __noinline void ask_for_sleepers(void)
{
	s32 cpu = LOP_NONE;
	int n;
	sleepers_ask = false;
	bpf_for(n, 0, LOP_MAX_CPUS) {
		u32 at;
		cpu = lop_cpus_next(&lopsided.idle, (u32)(cpu + 1));
		if (cpu < 0)
			break;
		at = lop_cpu_index((u32)cpu);
		if (asks_left[at] && asked_perf[at] != target_perf[at])
			scx_bpf_cpuperf_set(cpu, target_perf[at]);
	}
}

static __always_inline void lop_env_set_changed(struct lop_world *world, u32 cpu, enum lop_set set)
{
	if (!lop_on_reserved_core(&lopsided, cpu))
		set_speed(world, cpu, set);
	tell(LOP_RECORD_SET, world->now_ns, 0, cpu, set);
}

static __always_inline void lop_env_reserved_speed(struct lop_world *world, u32 cpu, u32 raised)
{
	set_speed(world, cpu, speed_set_of(cpu));
	tell(LOP_RECORD_RESERVED, world->now_ns, 0, (s32)cpu, raised);
}

static __always_inline void lop_env_arm_timer(struct lop_world *world, u64 at_ns)
{
	if (is_dying())
		leave_it();
	else
		start_timer(at_ns);
}

/* The loader writes these before it runs lop_heat(). */
s32 temperature_mc[LOP_MAX_CPUS];
static __always_inline s32 lop_env_temperature_mc(struct lop_world *world, u32 cpu) { return temperature_mc[lop_cpu_index(cpu)]; }
