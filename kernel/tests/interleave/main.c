/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Runs the BPF program on up to 64 CPUs in interleavings drawn from seeds: interleave FIRST LAST STEPS. Tasks run,
 * sleep, wake one another and change their affinity, and a higher class takes CPUs from them. From time to time tasks
 * start nothing new. When all is then at rest, no CPU may be idle while a task that may run there waits, no task may be
 * lost, and the policy's counts must be true. Exit code 1: one of these failed; prints which.
 */
#include "kernel.h"
#include "program.h"
#include <stdio.h>
#include <sys/wait.h>
#include <unistd.h>

/* Values of enum lop_policy. */
enum policy {
#define LOP_POLICY(name, constant, ...) constant,
#include "policies.def"
#undef LOP_POLICY
};

/*
 * How long a crowd lasts, and how long a task may wait in it: twenty periods of fairness. Where some tasks are of nice 19, a
 * task may wait until it is overdue, and half as long again.
 */
enum { CROWD_NS = 30000000, MOST_WAIT_NS = 4000000, MOST_WAIT_BESIDE_LIGHT_NS = 18000000 };

static struct scene scene;
static bool higher_class, keeps_cpus, changes_masks, has_per_cpu_threads, is_weak, is_crowd, has_light;
static bool quiet;
/* Where two thirds of a crowd's tasks may run; 0: anywhere. */
static u64 crowded_cpus;
static u64 quiet_until_ns, rests, pace_ns, longest_wait_ns;
static unsigned nr_ours;

static u64 earliest(u64 a, u64 b) { return a < b ? a : b; }
static u64 all_cpus(void) { return nr_cpus == 64 ? ~0ULL : (1ULL << nr_cpus) - 1; }

static u64 some_mask(void)
{
	u64 mask = (draw(~0ULL) & draw(~0ULL)) & all_cpus(), what = draw(4);
	if (!what)
		return 1ULL << draw(nr_cpus);
	return what > 2 && mask ? mask : all_cpus();
}

/* At least one of the two is online, since CPUs go offline one at a time. */
static u64 two_cpus(void)
{
	u64 first = draw(nr_cpus);
	return 1ULL << first | 1ULL << (first + 1 + draw(nr_cpus - 1)) % nr_cpus;
}

static u64 next_wakeup_ns(unsigned cpu)
{
	u64 next_ns = NEVER;
	unsigned n;
	if (quiet)
		return NEVER;
	for (n = 0; n < nr_tasks; n++)
		if (tasks[n].doing == ASLEEP && tasks[n].woken_by == cpu)
			next_ns = earliest(next_ns, tasks[n].acts_at_ns);
	return next_ns;
}

/* Usually soon, sometimes ten times as late. */
static u64 soon_ns(void) { return clock_ns() + 1 + draw(once_in(4) ? 10 * pace_ns : pace_ns); }

static void wake_task(struct model_task *t)
{
	if (wake(t))
		t->acts_at_ns = soon_ns();
}

static void wake_who_is_due(unsigned cpu)
{
	unsigned n;
	for (n = 0; n < nr_tasks; n++) {
		struct model_task *t = &tasks[n];
		if (t->doing != ASLEEP || tasks[n].woken_by != cpu || t->acts_at_ns > clock_ns())
			continue;
		t->acts_at_ns = t->period_ns ? clock_ns() + 1 + draw(t->period_ns / 16) : soon_ns();
		wake(t);
		break;
	}
}

/* The next time of its clock, which goes on as it did. */
static u64 next_period_ns(const struct model_task *t) { return (clock_ns() / t->period_ns + 1) * t->period_ns; }

/* Values of __state in the kernel. */
enum { TASK_INTERRUPTIBLE = 1, TASK_FROZEN = 0x8000 };

static void fall_asleep(unsigned cpu, struct model_task *t)
{
	t->state_asleep = is_crowd && once_in(2) ? TASK_FROZEN : TASK_INTERRUPTIBLE;
	t->woken_by = (unsigned)draw(nr_cpus);
	t->acts_at_ns = t->period_ns ? next_period_ns(t) : soon_ns();
	t->sleeps = true;
	cpus[cpu].resched = true;
}

/* Kernel threads that may run on one CPU only keep their affinity. */
static void change_mask(struct model_task *t)
{
	if (!(t->task.flags & PF_KTHREAD) || t->task.nr_cpus_allowed > 1)
		set_mask(t, some_mask());
}

static void toggle_migration(struct model_task *t)
{
	if (t->task.migration_disabled)
		enable_migration(t);
	else
		disable_migration(t);
}

/* What a busy task does in a crowd: mostly nothing, so that more tasks than CPUs are runnable all the time. */
static void act_in_crowd(unsigned cpu, struct model_task *t)
{
	switch (draw(23)) {
	case 0: fall_asleep(cpu, t); break;
	case 1: wake_task(&tasks[draw(nr_tasks)]); break;
	case 2: t->task.scx.slice = 0, cpus[cpu].resched = true; break;
	case 3:
		if (changes_masks)
			change_mask(&tasks[draw(nr_ours)]);
		break;
	case 4 ... 7: toggle_migration(t); break;
	}
}

static void act(unsigned cpu, struct model_task *t)
{
	u64 what = draw(16);
	if (t->higher && !(quiet && keeps_cpus)) {
		fall_asleep(cpu, t);
		return;
	}
	if (quiet) {
		t->acts_at_ns = (clock_ns() > quiet_until_ns ? clock_ns() : quiet_until_ns) + 1 + draw(20000);
		return;
	}
	t->acts_at_ns = soon_ns();
	if (is_crowd && !t->higher) {
		act_in_crowd(cpu, t);
		return;
	}
	if (what < 6 || (t->period_ns && what < 14))
		fall_asleep(cpu, t);
	else if (what < 10)
		wake_task(&tasks[draw(nr_tasks)]);
	else if (what < 14 && changes_masks)
		change_mask(&tasks[draw(nr_ours)]);
	else if (what == 14)
		move_from(cpu);
	else if (what == 15)
		t->task.scx.slice = 0, cpus[cpu].resched = true;
}

/* Tasks belong to these in turn. */
static const struct cred users[2] = { { { 1000 }, { 1000 } }, { { 1001 }, { 1001 } } };

static bool goes_now(void) { return !quiet; }

static void wake_some(void)
{
	u64 n;
	for (n = 1 + draw(4); n; n--)
		wake_task(&tasks[draw(nr_ours)]);
}

static void init_task(unsigned number)
{
	struct model_task *t = &tasks[number];
	struct scx_init_task_args args = { .fork = true };
	u64 mask = all_cpus();
	t->number = number;
	t->moving = -1;
	t->task.model = t;
	t->task.pid = t->task.tgid = (s32)number + 1;
	t->task.prio = t->task.static_prio = 120;
	t->task.cpus_ptr = &t->task.mask;
	t->task.cred = &users[number % 2];
	t->cpu = (s32)draw(nr_cpus);
	t->acts_at_ns = soon_ns();
	t->woken_by = (unsigned)draw(nr_cpus);
	if (number >= nr_ours) {
		t->higher = true;
		t->task.prio = 50;
		t->cpu = (s32)(number - nr_ours);
		return;
	}
	if (changes_masks && once_in(4))
		mask = some_mask();
	if (scene.hotplug && once_in(2))
		mask = two_cpus();
	if (crowded_cpus && !once_in(3))
		mask = crowded_cpus;
	if (once_in(has_per_cpu_threads ? 4 : 8))
		t->task.flags = PF_KTHREAD;
	if (has_light && once_in(4))
		t->task.static_prio = 139;
	if (scene.paces && once_in(2))
		t->period_ns = 1500 + draw(3000);
	if (has_per_cpu_threads && t->task.flags)
		mask = 1ULL << draw(nr_cpus);
	t->task.mask.bits[0] = mask;
	t->task.nr_cpus_allowed = __builtin_popcountll(mask);
	if (!may_use(t, (unsigned)t->cpu))
		t->cpu = __builtin_ctzll(mask);
	lopsided_init_task(&t->task, &args);
	lopsided_enable(&t->task);
}

/* A small machine with two kinds of cores, where everything happens at a fast pace and tasks change their affinity. */
static void choose_hasty_scene(void)
{
	nr_cpus = scene.cpus = 2 + (unsigned)draw(7);
	scene.tiers = 2;
	scene.threads = scene.domains = 1;
	scene.policy = once_in(2) ? LONGEST_FIRST : SPECIALISE;
	scene.hold_ns = pace_ns = 2000;
	scene.migration_ns = 1000;
	nr_ours = 1 + (unsigned)draw(nr_cpus + 1);
	changes_masks = true;
}

/* Up to three times as many tasks as CPUs, which hardly ever sleep. */
static void choose_crowd(void)
{
	if (nr_cpus > 4)
		nr_cpus = scene.cpus = 4; /* more would use up the time between two ticks */
	nr_ours = nr_cpus + 2 + (unsigned)draw(2 * nr_cpus);
	has_light = once_in(3);
	pace_ns = 20000;
	scene.isolated &= all_cpus() & ~1ULL;
	scene.hotplug = keeps_cpus = false;
	crowded_cpus = once_in(2) ? two_cpus() : 0;
}

static void choose_scene(void)
{
	static const unsigned ranked[] = { HIGHLOW, PHASE, LONGEST_FIRST, SPECIALISE, AUTO };
	static const unsigned sizes[] = { 2, 3, 4, 4, 8, 8, 16, 64 };
	nr_cpus = scene.cpus = sizes[draw(8)];
	scene.threads = nr_cpus % 2 == 0 && once_in(3) ? 2 : 1;
	scene.tiers = once_in(2) ? 2 : 1;
	scene.domains = once_in(3) && nr_cpus >= 4 ? 2 : 1;
	scene.policy = scene.tiers + scene.threads == 2 ? HIGHLOW : ranked[draw(5)];
	scene.hold_ns = once_in(2) ? 100000 : 2000;
	scene.migration_ns = 100;
	pace_ns = once_in(2) ? 20000 : 2000;
	nr_ours = 1 + (unsigned)draw(once_in(2) ? nr_cpus : nr_cpus * 3 / 2 + 2);
	changes_masks = once_in(2);
	if (once_in(2))
		choose_hasty_scene();
	scene.spare = once_in(2);
	scene.isolated = once_in(4) ? draw(~0ULL) & all_cpus() & ~1ULL : 0;
	has_per_cpu_threads = once_in(2);
	scene.hotplug = once_in(6);
	if (scene.hotplug)
		changes_masks = has_per_cpu_threads = false;
	is_weak = once_in(2);
	has_ext_server = !once_in(3);
	has_immed = has_ext_server && once_in(2);
	higher_class = once_in(has_immed ? 2 : 3);
	keeps_cpus = has_immed || (!has_ext_server && once_in(2));
	is_crowd = once_in(8);
	if (is_crowd)
		choose_crowd();
	scene.tasks = nr_ours;
	nr_tasks = nr_ours + (higher_class ? nr_cpus : 0);
	tick_ns = 20000;
	scene.paces = once_in(3) && !is_crowd; /* its short slices would use up the time between two ticks */
	scene.light = scene.paces && once_in(2);
}

static void print_all(void)
{
	unsigned n;
	print_program();
	for (n = 0; n < nr_cpus; n++) {
		struct task_struct *p = cpus[n].rq.curr;
		printf("CPU %u runs %d%s, waiting there %u\n", n, p->model ? (int)p->model->number : -1, p->model && p->model->higher ? " of a higher class" : "", cpus[n].local.nr);
	}
	for (n = 0; n < nr_ours; n++) {
		printf("task %u %s on CPU %d, mask %llx, queued %d\n", n, tasks[n].doing == ASLEEP ? "sleeps" : tasks[n].on_cpu ? "runs" : "waits", tasks[n].cpu,
		       (unsigned long long)tasks[n].task.mask.bits[0], tasks[n].queue != NULL);
		print_task(n);
	}
}

static void describe(u64 seed)
{
	static const char *const rules[] = { [HIGHLOW] = "", [PHASE] = ", phases", [LONGEST_FIRST] = ", longest first", [SPECIALISE] = ", by speedup", [AUTO] = ", all rules" };
	printf("seed %llu: %u CPUs, isolated %llx, %u a core, %u kinds, %u domains, %u tasks%s%s%s%s%s%s%s%s%s%s\n", (unsigned long long)seed, nr_cpus,
	       (unsigned long long)scene.isolated, scene.threads, scene.tiers, scene.domains, nr_ours, has_light ? ", crowd with light tasks" : is_crowd ? ", crowd" : "", rules[scene.policy], scene.spare ? ", spare" : "", scene.light ? ", light" : scene.paces ? ", paced" : "", changes_masks ? ", masks" : "", has_per_cpu_threads ? ", per-CPU threads" : "",
	       scene.hotplug ? ", hotplug" : "", higher_class ? ", higher class" : "", !has_ext_server ? ", before Linux 7.0" : has_immed ? "" : ", Linux 7.0", is_weak ? ", weak order" : "");
}

/*
 * The task is in the local DSQ of a CPU that a higher class took before it ran. From Linux 7.0 on it gets a share of
 * that CPU, and before that nothing can help it. From 7.1 on a task that was woken there is enqueued again. Or the
 * task's affinity is restricted and its anchor is such a CPU. Or it waits at its home, such a
 * CPU, and the kernel gives it a share there.
 */
static bool is_on_taken_cpu(const struct model_task *t)
{
	const struct model_cpu *c = &cpus[t->cpu];
	bool is_there = t->queue == &c->local && c->rq.curr->model && c->rq.curr->model->higher;
	s32 home = home_of(t->number);
	bool shares = home >= 0 && has_ext_server && cpus[home].rq.curr->model && cpus[home].rq.curr->model->higher;
	return (is_there && !(has_immed && was_placed(t->number))) || counts_on_taken(t->number) || shares;
}

/*
 * Whether the idle `cpu` should run the task: it may use the CPU, an isolated CPU serves only tasks that wait there
 * and may run nowhere else, and a paced task waits at its home.
 */
static bool should_run(const struct model_task *t, unsigned cpu)
{
	s32 home = home_of(t->number);
	u64 usable = 0;
	unsigned n;
	if (home >= 0)
		return (unsigned)home == cpu;
	for (n = 0; n < nr_cpus; n++)
		usable |= (u64)may_use(t, n) << n;
	return usable >> cpu & 1 && !(scene.isolated >> cpu & 1 && usable != 1ULL << cpu);
}

/* Called at rest. */
static void judge(void)
{
	unsigned cpu, n;
	const char *fault;
	for (cpu = 0; cpu < nr_cpus; cpu++) {
		struct task_struct *p = cpus[cpu].rq.curr;
		bool idle = p == &idle_task;
		if (cpus[cpu].leaves || (!idle && p->model->higher))
			continue;
		if (idle && !counts_as_idle(cpu)) {
			print_all();
			fails("CPU %u is idle and counts as busy", cpu);
		}
		if (!idle && counts_as_idle(cpu)) {
			print_all();
			fails("CPU %u is busy and counts as idle", cpu);
		}
		for (n = 0; n < nr_ours && idle && !(keeps_cpus && will_look()); n++) {
			if (tasks[n].doing != RUNNABLE || tasks[n].on_cpu || !should_run(&tasks[n], cpu) || is_on_taken_cpu(&tasks[n]))
				continue;
			print_all();
			fails("CPU %u is idle and task %u waits", cpu, n);
		}
	}
	fault = find_fault(&cpu);
	if (fault) {
		print_all();
		fails("CPU %u: %s", cpu, fault);
	}
	rests++;
}

static void note_wait(const struct model_task *t)
{
	u64 waited_ns = clock_ns() - t->waits_since_ns;
	if (waited_ns > longest_wait_ns)
		longest_wait_ns = waited_ns;
	if (waited_ns <= (has_light ? MOST_WAIT_BESIDE_LIGHT_NS : MOST_WAIT_NS))
		return;
	print_all();
	fails("task %u has waited for %llu ns", t->number, (unsigned long long)waited_ns);
}

static void note_waits(void)
{
	unsigned n;
	for (n = 0; n < nr_ours; n++)
		if (tasks[n].doing == RUNNABLE && !tasks[n].on_cpu)
			note_wait(&tasks[n]);
}

static void begin(u64 seed)
{
	unsigned n;
	begin_steps(seed, false);
	choose_scene();
	begin_steps(seed, is_weak);
	set_scene(&scene);
	goes = scene.hotplug ? goes_now : NULL;
	starts = is_crowd ? note_wait : NULL;
	wakes_at_its_end = wake_some;
	begin_tasks();
	lopsided_init();
	for (n = 0; n < nr_tasks; n++)
		init_task(n);
	acts = act;
	interrupted = wake_who_is_due;
	next_interrupt_ns = next_wakeup_ns;
	for (n = 0; n < nr_cpus; n++)
		add_fibre(n, run_cpu);
	add_fibre(nr_cpus, run_timer);
}

static void run_crowd(void)
{
	u64 end_ns = clock_ns() + CROWD_NS;
	while (clock_ns() < end_ns) {
		run_steps(1000, NEVER);
		note_waits();
	}
}

static void run_seed(u64 seed, u64 most)
{
	unsigned n;
	begin(seed);
	describe(seed);
	while (steps_done() < most) {
		quiet = false;
		for (n = 0; n < nr_cpus; n++)
			wake_fibre(n);
		if (is_crowd)
			run_crowd();
		else
			run_steps(draw(scene.paces ? 20000 : once_in(2) ? 4000 : 400), NEVER);
		quiet = true;
		quiet_until_ns = clock_ns() + 1000000;
		if (!run_steps(5000000, quiet_until_ns)) {
			print_all();
			fails("the CPUs do not come to rest");
		}
		judge();
	}
	printf("%llu steps, %llu times at rest", (unsigned long long)steps_done(), (unsigned long long)rests);
	if (is_crowd)
		printf(", longest wait %llu ns", (unsigned long long)longest_wait_ns);
	puts("");
	exit(0);
}

/* Each seed runs in a process of its own, since the program has one global state. */
int main(int argc, char **argv)
{
	u64 seed, last, most;
	int status;
	if (argc != 4) {
		fprintf(stderr, "interleave FIRST LAST STEPS: from seed FIRST to seed LAST, so many steps of each\n");
		return 2;
	}
	last = strtoull(argv[2], NULL, 10);
	most = strtoull(argv[3], NULL, 10);
	setvbuf(stdout, NULL, _IOLBF, 0);
	for (seed = strtoull(argv[1], NULL, 10); seed <= last; seed++) {
		if (!fork())
			run_seed(seed, most);
		wait(&status);
		if (status)
			return 1;
	}
	return 0;
}
