/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * The adapter between sched_ext and policy/. It decides nothing: each callback reports the event to the policy and
 * carries out what the policy asks for.
 */
#include <scx/common.bpf.h>
#include "intf.h"

char _license[] SEC("license") = "GPL";
UEI_DEFINE(uei);

/*
 * Words that the sets of CPUs need on this machine, and the bitmap of shared queues: two for each memory domain. Known at
 * load, so the verifier drops the rest.
 */
const volatile u32 nr_words = 8;
#define lop_for_words(i) _Pragma("clang loop unroll(full)") for ((i) = 0; (i) < LOP_CPU_WORDS && (u32)(i) < nr_words; (i)++)
#define LOP_ENV static
/* Global subprograms: verified once each, not per call. Weak, since a compiler that sees into one drops arguments. */
#define lop_subprog __weak __attribute__((noinline))
#define lop_nonnull __arg_nonnull
/* The gain of a task from speed is known only within uclamp's bounds, which send no task to green cores by that rule. */
#define lop_sees_gain(s) false
/* Whether work that a clock paces or that nobody waits for has green cores. If not, the verifier drops the rules of that set. */
const volatile bool paces;
#define lop_has_ladder(s) (paces)
#define lop_has_green(s) (paces)
/* Whether light work has homes (policy/sets/light.h). */
const volatile bool places_light;
#define lop_has_light(s) (paces && places_light)
/* Whether temperatures of cores are read. If not, the verifier drops the rules for hot cores. */
const volatile bool senses;
#define lop_has_sensors(s) (senses)
/* Whether rules decide which tasks get the fast cores (lop_config.rules). If not, the verifier drops them. */
const volatile bool ranks;
#define lop_has_rank(s) (ranks)
/* Whether the loader makes plans; whether these give tasks memory domains. */
const volatile bool plans, plans_domains;
#define lop_has_domains(s) (plans_domains)
/* Whether cores stay for tasks that sleep for a moment. */
const volatile bool makes_room;
#define lop_uses_room(s) (makes_room)
/* Whether a core may be reserved for the system's own work. */
const volatile bool reserves;
#define lop_can_reserve (reserves)
/* Whether a cap limits the number of high CPUs. */
const volatile bool caps;
#define lop_may_cap (caps)
/* Whether there are isolated CPUs. */
const volatile bool isolates;
#define lop_has_isolated(s) (isolates)
#include "world.bpf.h"
#include "../../../policy/lopsided.h"

struct lop_sched lopsided;
/* For tests of the ways out: fail after this time, or at the start. */
const volatile u64 fail_after_ns;
const volatile bool fail_at_start;
/* Only tasks of SCHED_EXT are scheduled here (--partial). */
const volatile bool partial;
u64 started_at_ns;

#include "dying.bpf.h"
#include "record.bpf.h"
#include "task.bpf.h"
#include "clock.bpf.h"
#include "env.bpf.h"
#include "reserved.bpf.h"
#include "places.bpf.h"
#include "group.bpf.h"
#include "app.bpf.h"
#include "lock.bpf.h"
#include "hint.bpf.h"
#include "idle.bpf.h"
#include "higher.bpf.h"
#include "plan.bpf.h"
#include "goal.bpf.h"
#include "heat.bpf.h"
#include "dump.bpf.h"

#include "hotplug.bpf.h"
#include "affinity.bpf.h"

static __always_inline void count(struct lop_world *c, enum lop_count what) { c->count[what]++; }

/* Gives up a claimed CPU on which its task does not run. */
static __always_inline void give_back(struct lop_world *c, struct lop_task_state *t)
{
	find_out(t->claimed);
	t->claimed = LOP_NONE;
	count(c, LOP_COUNT_GIVEN_BACK);
}

static __always_inline void queue(struct lop_world *c, struct task_struct *p, struct lop_task_state *t, u32 cpu)
{
	bool locked = log_begin();
	t->leaves = false;
	tell(LOP_RECORD_ENQUEUE, c->now_ns, (u64)p, (s32)cpu, 0);
	lop_enqueue(&lopsided, c, &t->task, group_of(t), cpu);
	if (c->insertion == LOP_INSERT_LOCAL)
		t->claimed = (s32)c->insert_at;
	tell_put(c, p);
	log_end(locked);
	count(c, LOP_COUNT_QUEUED);
}

/* Takes a waiting task out of its queue, to be queued again. */
static __always_inline void dequeue(struct lop_world *c, struct task_struct *p, struct lop_task_state *t)
{
	bool locked;
	if (t->task.queue == LOP_NONE)
		return;
	locked = log_begin();
	tell(LOP_RECORD_DEQUEUE, c->now_ns, (u64)p, 0, 0);
	lop_dequeue(&lopsided, c, &t->task);
	log_end(locked);
}

/* The task left the DSQ it was put in before it ran there. */
static __always_inline void back_from_place(struct lop_world *c, struct task_struct *p, struct lop_task_state *t)
{
	if (t->claimed != LOP_NONE)
		give_back(c, t);
	dequeue(c, p, t);
}

/* Counts the task as active, grows the sets, and places it. */
static __always_inline struct lop_placement wake_once(struct lop_world *c, struct task_struct *p, struct lop_task_state *t, u32 last,
						      bool brief)
{
	struct lop_placement place;
	bool locked;
	t->leaves = false;
	locked = log_begin();
	t->task.brief = brief;
	note_system(p, &t->task);
	if (ranks)
		lop_note_caught_up(&lopsided, &t->task);
	if (t->task.clock_ns)
		tell_clock(c->now_ns, p, c->now_ns - t->task.clock_ns);
	tell(LOP_RECORD_WAKE, c->now_ns, (u64)p, (s32)last, what_wakes(&t->task));
	place = lop_wake(&lopsided, c, &t->task, app_of(t), group_of(t), last, c->now_ns);
	tell(LOP_RECORD_PLACED, c->now_ns, (u64)p, place.cpu, place.claimed);
	log_end(locked);
	return place;
}

/*
 * The kernel does not report a higher-class task that comes to an idle CPU. Such moments are short: the CPU is left
 * alone until it finds itself idle again, and the task goes to another member or waits.
 */
static __noinline s32 wake_elsewhere(struct lop_world *c, struct task_struct *p, struct lop_task_state *t, u32 last, s32 in_use)
{
	struct lop_placement place;
	find_out(in_use);
	place = wake_once(c, p, t, last, false);
	t->place = place.cpu;
	if (!place.claimed)
		return LOP_NONE;
	if (!runs_higher_class(place.cpu))
		return place.cpu;
	find_out(place.cpu);
	return LOP_NONE;
}

/* As wake_once(), and a CPU that it claims runs no higher-class task. */
static __always_inline struct lop_placement wake(struct lop_world *c, struct task_struct *p, struct lop_task_state *t, s32 last_cpu,
						 bool brief)
{
	u32 last = last_cpu < 0 ? 0 : lop_cpu_index((u32)last_cpu);
	struct lop_placement place;
	s32 claimed;
	hand_over(c, p, t);
	place = wake_once(c, p, t, last, brief);
	if (!place.claimed || !runs_higher_class(place.cpu))
		return place;
	claimed = wake_elsewhere(c, p, t, last, place.cpu);
	place.claimed = claimed >= 0;
	place.cpu = place.claimed ? claimed : t->place;
	return place;
}

/* Puts the task on the CPU that was claimed for it. */
static __always_inline void put_on_claimed(struct lop_world *c, struct task_struct *p, struct lop_task_state *t, s32 cpu)
{
	bool locked;
	t->claimed = cpu;
	count(c, LOP_COUNT_CLAIMED);
	if (higher_classes_share) {
		lop_env_insert_local(c, &t->task, (u32)cpu, lop_slice_ns(&lopsided));
		return;
	}
	locked = log_begin();
	tell(LOP_RECORD_ENQUEUE, c->now_ns, (u64)p, cpu, true);
	lop_wait_at_claimed(&lopsided, c, &t->task, (u32)cpu);
	tell_put(c, p);
	log_end(locked);
	lop_look_at(&lopsided, c, lop_last_hold_ns(lopsided.config.hold_ns) + c->now_ns);
}

/*
 * Carries out the insertion that the policy asked for. A task goes to a CPU's local DSQ only if it has claimed that
 * CPU. If a higher-class task or a per-CPU thread gets there first, the task comes back to enqueue from Linux 7.1 on
 * (SCX_ENQ_IMMED, 0 on older kernels).
 */
static __always_inline void insert(struct lop_world *c, struct task_struct *p, u64 enq_flags)
{
	if (c->insertion == LOP_INSERT_QUEUE)
		scx_bpf_dsq_insert_vtime(p, young_of(c->insert_at), c->insert_slice_ns, c->insert_vtime_ns, enq_flags);
	else
		scx_bpf_dsq_insert(p, SCX_DSQ_LOCAL_ON | c->insert_at, c->insert_slice_ns, enq_flags | SCX_ENQ_IMMED);
}

s32 BPF_STRUCT_OPS(lopsided_select_cpu, struct task_struct *p, s32 prev_cpu, u64 wake_flags)
{
	struct lop_world *c = begin_here();
	struct lop_task_state *t = state_of(p);
	struct lop_placement place;
	if (!t)
		return prev_cpu;
	if (is_outdated(t))
		follow_affinity(c, p, t);
	regroup(p, t);
	note_user(p, t);
	note_owner(p, t);
	t->task.clock_ns = clock_here(p, c->now_ns);
	place = wake(c, p, t, prev_cpu, is_brief(p, t, SCX_ENQ_WAKEUP));
	t->place = place.claimed ? LOP_NONE : place.cpu;
	if (!place.claimed)
		return place.cpu >= 0 ? place.cpu : prev_cpu;
	put_on_claimed(c, p, t, place.cpu);
	if (higher_classes_share)
		scx_bpf_dsq_insert(p, SCX_DSQ_LOCAL, c->insert_slice_ns, SCX_ENQ_IMMED);
	else
		insert(c, p, 0);
	return place.cpu;
}

/* A wakeup without select_cpu, or a task that has lost its home. */
static __always_inline void wake_and_put(struct lop_world *c, struct task_struct *p, struct lop_task_state *t, bool brief)
{
	struct lop_placement place = wake(c, p, t, scx_bpf_task_cpu(p), brief);
	if (!place.claimed) {
		queue(c, p, t, place.cpu >= 0 ? (u32)place.cpu : (u32)scx_bpf_task_cpu(p));
		return;
	}
	put_on_claimed(c, p, t, place.cpu);
	if (!higher_classes_share)
		kick(place.cpu, SCX_KICK_IDLE);
}

void BPF_STRUCT_OPS(lopsided_enqueue, struct task_struct *p, u64 enq_flags)
{
	struct lop_world *c = begin_here();
	struct lop_task_state *t = state_of(p);
	bool brief = is_brief(p, t, enq_flags);
	if (t)
		back_from_place(c, p, t);
	if (!t || (brief && is_per_cpu_kthread(p) && !t->task.counted)) {
		count(c, LOP_COUNT_PINNED);
		if (enq_flags & SCX_ENQ_WAKEUP)
			enq_flags |= SCX_ENQ_PREEMPT;
		scx_bpf_dsq_insert(p, SCX_DSQ_LOCAL, lop_slice_ns(&lopsided), enq_flags);
		return;
	}
	t->displaced = false;
	follow_affinity(c, p, t);
	if (t->place == LOP_NONE) { /* else select_cpu has just done so */
		regroup(p, t);
		note_user(p, t);
		note_owner(p, t);
	}
	if (!t->task.counted || lop_wakes_anew(&lopsided, &t->task))
		wake_and_put(c, p, t, brief);
	else
		queue(c, p, t, lop_cpu_index((u32)(t->place >= 0 ? t->place : scx_bpf_task_cpu(p))));
	t->place = LOP_NONE;
	insert(c, p, enq_flags);
	if (t->task.queue == LOP_NONE || t->task.nr_allowed == 1)
		return;
	if (lop_own_cpu(&lopsided, &t->task) >= 0) { /* a higher class that shares leaves it at its home */
		if (t->task.role == LOP_ROLE_AT_HOME && !higher_classes_share)
			look_around(c);
		return;
	}
	if (t->task.goes_first) {
		look_around(c);
		return;
	}
	if (t->task.role == LOP_ROLE_BACKGROUND && lop_usable_set(&lopsided, &t->task) == LOP_GREEN) {
		look_for_taken(c);
		if (lop_cpus_meet(&lopsided.set[LOP_GREEN].cpus, &lopsided.idle))
			look_in_a_slice(c);
		return;
	}
	if (lop_cpus_meet(&lopsided.set[LOP_HIGH].cpus, &lopsided.idle) || lop_is_short(&lopsided))
		find_member(c, &t->task);
	else if (lop_is_growing(&lopsided))
		look_in_a_slice(c);
}

/* Slices are some ms: a time that does not fit into a record is a mistake of the clock. */
static __always_inline void charge(struct lop_world *c, const struct task_struct *p, struct lop_task_state *t, s32 cpu)
{
	u32 ran_ns = (u32)lop_min(c->now_ns - t->started_ns, ~0U);
	bool locked = paces && log_begin();
	t->started_ns = c->now_ns;
	if (paces)
		tell(LOP_RECORD_RAN, c->now_ns, (u64)p, cpu, ran_ns);
	lop_stopping(&lopsided, c, &t->task, group_of(t), lop_cpu_index((u32)cpu), ran_ns);
	log_end(locked);
}

/* The task that ran last, if it can go on. */
static __always_inline struct lop_task_state *still_runnable(struct task_struct *prev)
{
	struct lop_task_state *t;
	if (!prev || !(prev->scx.flags & SCX_TASK_QUEUED))
		return 0;
	t = state_of(prev);
	return t && is_known(prev, t) ? t : 0;
}

void BPF_STRUCT_OPS(lopsided_dispatch, s32 cpu, struct task_struct *prev)
{
	struct lop_world *c = begin_here();
	struct lop_task_state *t = still_runnable(prev);
	enum lop_next next;
	ask_speed((u32)cpu, c->now_ns);
	if (t) {
		charge(c, prev, t, cpu);
		read_hint(c, prev, t);
	}
	if (is_for_higher_class(cpu)) {
		rests_no_more(c, cpu);
		higher_class_came(c, cpu);
		return;
	}
	next = lop_dispatch(&lopsided, c, (u32)cpu, t && !t->leaves ? &t->task : 0);
	if (next == LOP_NEXT_SAME) {
		scx_bpf_task_set_slice(prev, lop_min(lop_slice_ns(&lopsided), lop_until_late_ns(&lopsided, &t->task, c->now_ns)));
		count(c, LOP_COUNT_WENT_ON);
	}
	if (next != LOP_NEXT_NONE)
		return;
	/* `prev` does not go on here and is about to be enqueued again, so this CPU looks for work again. */
	if (prev && prev->scx.flags & SCX_TASK_QUEUED)
		find_out(cpu);
	else
		rests(c, cpu);
	if (reserves)
		ask_speed((u32)cpu, c->now_ns); /* the reserved core's, which may have been lowered now */
}

/* From now on its rank is compared with that of others. If a hint changed since it last ran, it is compared again. */
static __always_inline void started(struct lop_world *c, struct task_struct *p, struct lop_task_state *t, s32 cpu)
{
	bool locked = log_begin();
	t->task.speedup_permille = clamp_speedup(p, t);
	tell(LOP_RECORD_STARTED, c->now_ns, (u64)p, cpu, t->task.speedup_permille);
	lop_running(&lopsided, c, &t->task, (u32)cpu, c->now_ns);
	lop_started(&lopsided, c, &t->task, app_of(t), (u32)cpu, c->now_ns);
	log_end(locked);
	read_hint(c, p, t);
}

void BPF_STRUCT_OPS(lopsided_running, struct task_struct *p)
{
	struct lop_world *c = begin_here();
	struct lop_task_state *t = state_of(p);
	s32 cpu = scx_bpf_task_cpu(p);
	ask_speed((u32)cpu, c->now_ns);
	if (fail_after_ns && c->now_ns > started_at_ns + fail_after_ns)
		scx_bpf_error("failed as asked for by a test");
	rests_no_more(c, cpu);
	if (!t || !is_known(p, t))
		return;
	if (t->claimed != LOP_NONE && t->claimed != cpu)
		give_back(c, t);
	t->claimed = LOP_NONE;
	t->started_ns = c->now_ns;
	if (lop_cpus_has(&lopsided.taken, lop_cpu_index((u32)cpu)))
		cpu_taken(c, (u32)cpu, false);
	started(c, p, t, cpu);
	if (lop_came_too_late(&lopsided, &t->task, lop_cpu_index((u32)cpu)))
		kick(cpu, SCX_KICK_PREEMPT);
}

static __always_inline void stopped(struct lop_world *c, struct task_struct *p, struct lop_task_state *t, bool runnable)
{
	s32 cpu = scx_bpf_task_cpu(p);
	bool locked = log_begin();
	tell(LOP_RECORD_STOPPED, c->now_ns, (u64)p, cpu, (runnable ? LOP_STOPPED_RUNNABLE : 0) | (t->task.ahead ? LOP_STOPPED_AHEAD : 0));
	lop_stopped(&lopsided, &t->task, app_of(t), (u32)cpu, runnable, c->now_ns);
	log_end(locked);
}

static __always_inline void block(struct lop_world *c, struct task_struct *p, struct lop_task_state *t)
{
	bool locked = log_begin();
	tell(LOP_RECORD_BLOCK, c->now_ns, (u64)p, 0, 0);
	lop_block(&lopsided, c, &t->task, app_of(t), group_of(t), c->now_ns);
	log_end(locked);
}

/*
 * The task used up its slice or is preempted; or it blocks; or the kernel takes it out to change something about it and
 * enqueues it again. Only a running task can block, so ops.quiescent is not needed. A task that is about to block when
 * it is changed counts as blocked, and as woken when it is enqueued again.
 */
void BPF_STRUCT_OPS(lopsided_stopping, struct task_struct *p, bool runnable)
{
	struct lop_world *c = begin_here();
	struct lop_task_state *t = state_of(p);
	bool sleeps = !runnable && p->__state;
	if (!t || !is_known(p, t))
		return;
	charge(c, p, t, scx_bpf_task_cpu(p));
	if (ranks)
		stopped(c, p, t, !sleeps);
	if (sleeps && t->task.weighs)
		block(c, p, t);
	/*
	 * A higher class takes the CPU. Without a slice the task is enqueued again, and can go to the spare; with one
	 * it would stay on this CPU.
	 */
	if (runnable && p->scx.slice) {
		t->displaced = true;
		scx_bpf_task_set_slice(p, 0);
	}
}

void BPF_STRUCT_OPS(lopsided_tick, struct task_struct *p)
{
	struct lop_task_state *t = state_of(p);
	u32 cpu = lop_cpu_index((u32)scx_bpf_task_cpu(p));
	if (asks_left[cpu])
		ask_speed(cpu, bpf_ktime_get_ns());
	follow_heat();
	if (t) {
		follow_plan(p, t);
		note_owner(p, t);
		hear(p, t);
	}
	if (t && t->task.counted && lop_cpus_has(&lopsided.online, cpu) &&
	    (!lop_may_go_on(&lopsided, &t->task, cpu) || is_bound_no_more(p, t)))
		scx_bpf_task_set_slice(p, 0);
}

/*
 * A higher class has taken the CPU. Tasks in its local DSQ, which claimed it, are enqueued again and can go to the
 * spare.
 */
void BPF_STRUCT_OPS(lopsided_cpu_release, s32 cpu, struct scx_cpu_release_args *args)
{
	struct lop_world *c = begin_here();
	count(c, LOP_COUNT_DISPLACED);
	scx_bpf_reenqueue_local();
	higher_class_came(c, cpu);
}

void BPF_STRUCT_OPS(lopsided_set_weight, struct task_struct *p, u32 weight)
{
	struct lop_task_state *t = state_of(p);
	if (t)
		lop_set_weight(&lopsided, &t->task, group_of(t), weight_of_task(p), bpf_ktime_get_ns());
}

/*
 * kthreadd, which the kernel keeps off isolated CPUs. Only root can change its affinity, so a change means that the
 * isolated CPUs may have changed.
 */
#define LOP_KTHREADD 2

void BPF_STRUCT_OPS(lopsided_set_cpumask, struct task_struct *p, const struct cpumask *mask)
{
	struct lop_task_state *t = state_of(p);
	struct lop_cpus allowed;
	bool locked;
	if (p->pid == LOP_KTHREADD)
		tell_loader(LOP_RECORD_ISOLATED, bpf_ktime_get_ns(), 0, 0, 0);
	if (!t)
		return;
	read_mask(&allowed, mask);
	locked = log_begin();
	lop_set_allowed(&lopsided, &t->task, &allowed);
	tell_cpus(LOP_RECORD_ALLOWED, bpf_ktime_get_ns(), (u64)p, 0, &t->task.allowed);
	log_end(locked);
}

/* From now on the loader's look at the threads finds a new task. */
void BPF_STRUCT_OPS(lopsided_enable, struct task_struct *p)
{
	struct lop_task_state *t = state_of(p);
	if (!t)
		return;
	t->task.vtime_ns = 0;
	lop_set_weight(&lopsided, &t->task, group_of(t), weight_of_task(p), bpf_ktime_get_ns());
}

static __always_inline void forget(struct lop_world *c, struct task_struct *p, struct lop_task_state *t)
{
	bool locked = log_begin();
	tell(LOP_RECORD_FORGET, c->now_ns, (u64)p, 0, 0);
	lop_forget(&lopsided, c, &t->task, app_of(t), group_of(t), c->now_ns);
	lop_pace_exits(&lopsided, c, &t->task, c->now_ns);
	log_end(locked);
}

/* The task leaves for another class, or the scheduler is being unloaded. */
void BPF_STRUCT_OPS(lopsided_disable, struct task_struct *p)
{
	struct lop_world *c = begin_here();
	struct lop_task_state *t = state_of(p);
	if (!t)
		return;
	if (t->claimed != LOP_NONE)
		give_back(c, t);
	t->place = LOP_NONE;
	forget(c, p, t);
}

s32 BPF_STRUCT_OPS_SLEEPABLE(lopsided_init_task, struct task_struct *p, struct scx_init_task_args *args)
{
	struct lop_task_state *t = new_state_of(p);
	struct lop_cpus allowed;
	if (!t)
		return -ENOMEM;
	t->task.weight = LOP_WEIGHT_DEFAULT;
	t->task.anchor = LOP_NONE;
	t->task.last_queue = LOP_NONE;
	t->task.queue = LOP_NONE;
	t->task.wanted_domain = LOP_NONE;
	t->claimed = LOP_NONE;
	t->place = LOP_NONE;
	t->group = LOP_NONE;
	enter_app(p, t, args->fork);
	read_mask(&allowed, p->cpus_ptr);
	lop_set_allowed(&lopsided, &t->task, &allowed);
	tell_cpus(LOP_RECORD_TASK, bpf_ktime_get_ns(), (u64)p, t->app, &t->task.allowed);
	share_memory(p, t);
	if (args->fork)
		inherit(p, t);
	return 0;
}

static __always_inline void ended(struct lop_world *c, struct task_struct *p, struct lop_task_state *t)
{
	bool locked;
	if (!ranks)
		return;
	locked = log_begin();
	tell(LOP_RECORD_ENDED, c->now_ns, (u64)p, 0, 0);
	lop_ended(&lopsided, &t->task, app_of(t));
	withdraw_hint(c, p, t);
	log_end(locked);
}

/* From now on no order of the loader is logged for this task. */
static __always_inline void is_gone(struct lop_world *c, struct task_struct *p, struct lop_task_state *t)
{
	bool locked = log_begin();
	t->gone = true;
	tell(LOP_RECORD_GONE, c->now_ns, (u64)p, 0, 0);
	log_end(locked);
}

void BPF_STRUCT_OPS(lopsided_exit_task, struct task_struct *p, struct scx_exit_task_args *args)
{
	struct lop_world *c = begin_here();
	struct lop_task_state *t = state_of(p);
	if (!t)
		return;
	ended(c, p, t);
	waits_no_more(p, t);
	forget(c, p, t);
	is_gone(c, p, t);
	leave_app(t); /* once the log has the end of the task, as another application may take its place now */
	release_slot(t->group);
	t->group = LOP_NONE;
	t->group_key = 0;
}

/* The cpu.weight of a cgroup has changed. */
void BPF_STRUCT_OPS(lopsided_cgroup_set_weight, struct cgroup *cgrp, u32 weight)
{
	struct task_group *group = group_at((u64)cgrp->subsys[cpu_cgrp_id]);
	u64 key = key_of_group(group);
	s32 slot = key ? known_slot(key) : LOP_NONE;
	if (slot == LOP_NONE)
		return;
	reweigh(group, key, slot);
	release_slot(slot);
}

/* The kernel's value of a quota without limit (RUNTIME_INF). */
#define LOP_NO_QUOTA (~0ULL)

/* The cpu.max of a cgroup has changed. Only the fair class enforces it, so the loader gives the machine back. */
void BPF_STRUCT_OPS(lopsided_cgroup_set_bandwidth, struct cgroup *cgrp, u64 period_us, u64 quota_us, u64 burst_us)
{
	if (quota_us != LOP_NO_QUOTA)
		tell_loader(LOP_RECORD_LIMIT, bpf_ktime_get_ns(), 0, 0, 0);
}

static int on_timer(void *map, int *key, struct bpf_timer *timer)
{
	struct lop_world *c = begin(&timer_context);
	unsigned long flags = 0;
	bool locked = log_begin_open(&flags);
	tell(LOP_RECORD_TIMER, c->now_ns, 0, 0, 0);
	lop_timer(&lopsided, c, c->now_ns);
	log_end_open(locked, &flags);
	tell_given_up(c);
	if (sleepers_ask)
		ask_for_sleepers();
	look_around_open(c);
	return 0;
}

static __always_inline s32 create_queues(void)
{
	u32 queue;
	bpf_for(queue, 0, LOP_QUEUES) {
		u32 nr_shared = lopsided.topology.nr_memory_domains << paces;
		s32 error;
		if (queue < LOP_MAX_CPUS ? !lop_cpus_has(&lopsided.topology.cpus, queue) : queue - LOP_MAX_CPUS >= nr_shared)
			continue;
		error = scx_bpf_create_dsq(dsq_of(queue, 0), -1);
		if (!error)
			error = scx_bpf_create_dsq(dsq_of(queue, 1), -1);
		if (error)
			return error;
	}
	return 0;
}

s32 BPF_STRUCT_OPS_SLEEPABLE(lopsided_init)
{
	struct lop_world *c = begin(&hotplug_context);
	struct lop_timer_map_value *timer;
	u32 only = 0;
	s32 error = create_queues();
	if (error)
		return error;
	timer = bpf_map_lookup_elem(&timers, &only);
	if (!timer)
		return -ENOENT;
	free_all_places(&free_slots, last_group);
	free_all_places(&free_apps, last_app);
	bpf_timer_init(&timer->timer, &timers, CLOCK_MONOTONIC);
	bpf_timer_set_callback(&timer->timer, on_timer);
	started_at_ns = c->now_ns;
	unsure = lopsided.online;
	known_cpus = sets_speeds ? lopsided.online : lopsided.topology.cpus;
	tell(LOP_RECORD_START, c->now_ns, 0, 0, 0);
	lop_start(&lopsided, c, c->now_ns);
	told_reserved = lop_has_reserved(&lopsided);
	return fail_at_start ? -ECANCELED : 0;
}

void BPF_STRUCT_OPS(lopsided_exit, struct scx_exit_info *ei)
{
	UEI_RECORD(uei, ei);
	tell_loader(LOP_RECORD_EXIT, bpf_ktime_get_ns(), 0, 0, 0);
}

SCX_OPS_DEFINE(lopsided_ops,
	       .select_cpu = (void *)lopsided_select_cpu,
	       .enqueue = (void *)lopsided_enqueue,
	       .dispatch = (void *)lopsided_dispatch,
	       .running = (void *)lopsided_running,
	       .stopping = (void *)lopsided_stopping,
	       .tick = (void *)lopsided_tick,
	       .cpu_release = (void *)lopsided_cpu_release,
	       .set_weight = (void *)lopsided_set_weight,
	       .set_cpumask = (void *)lopsided_set_cpumask,
	       .enable = (void *)lopsided_enable,
	       .disable = (void *)lopsided_disable,
	       .init_task = (void *)lopsided_init_task,
	       .exit_task = (void *)lopsided_exit_task,
	       .cgroup_set_weight = (void *)lopsided_cgroup_set_weight,
	       .cgroup_set_bandwidth = (void *)lopsided_cgroup_set_bandwidth,
	       .cpu_online = (void *)lopsided_cpu_online,
	       .cpu_offline = (void *)lopsided_cpu_offline,
	       .init = (void *)lopsided_init,
	       .exit = (void *)lopsided_exit,
	       .dump = (void *)lopsided_dump,
	       .dump_cpu = (void *)lopsided_dump_cpu,
	       .dump_task = (void *)lopsided_dump_task,
	       .flags = SCX_OPS_ENQ_LAST | SCX_OPS_ENQ_EXITING,
	       .timeout_ms = 30000,
	       .name = "lopsided");
