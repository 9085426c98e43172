/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Speeds after a change of the goal: main.bpf.c as it is, compiled natively with the modelled kernel of ../interleave/.
 */
#include "scx/common.bpf.h"
static u32 requested[4], rung_after_read;
/* A request of the kernel's governor. */
#undef scx_bpf_cpuperf_set
#define scx_bpf_cpuperf_set(cpu, perf) (requested[cpu] = (perf))
/* want_speed() asks for the capacity after it has read the rung: here the home gets another one at that moment. */
#undef scx_bpf_cpuperf_cap
#define scx_bpf_cpuperf_cap(cpu) (change_rung((u32)(cpu)), 1024)
static void change_rung(u32 cpu);
#include "../interleave/program.c"
#include "expect.h"

static void change_rung(u32 cpu)
{
	lopsided.pace.rung[cpu] = (typeof(lopsided.pace.rung[cpu]))rung_after_read;
}

enum { HIGH, HOME, LOW, BUSY };

static void begin_with_four_cpus(void)
{
	struct scene scene = { .cpus = 4, .threads = 1, .tiers = 1, .domains = 1, .paces = true, .hold_ns = 1000000000 };
	u32 cpu;
	set_scene(&scene);
	for (cpu = 0; cpu < 4; cpu++) {
		asks_speed[cpu] = 1;
		high_perf[cpu] = asked_perf[cpu] = target_perf[cpu] = 1024;
	}
	lop_cpus_add(&lopsided.set[LOP_HIGH].cpus, HIGH);
	lop_cpus_add(&lopsided.set[LOP_HIGH].cpus, BUSY);
	lopsided.set[LOP_HIGH].size = 2;
	lop_cpus_add(&lopsided.set[LOP_GREEN].cpus, HOME);
	lop_cpus_add(&lopsided.idle, HIGH);
	lop_cpus_add(&lopsided.idle, LOW);
	rung_perf[0] = 300;
	rung_perf[1] = 600;
}

/* The loader writes high_perf, then runs lop_goal(). */
static void an_idle_high_cpu_has_the_new_speed_at_once(void)
{
	struct lop_goal_config goal = { .last_hold_ns = 1000000000 };
	high_perf[HIGH] = high_perf[BUSY] = 700;
	lop_goal(&goal);
	expect("an idle high CPU is asked for", requested[HIGH] == 700);
	expect("so is none that runs a task, which asks for itself", !requested[BUSY] && target_perf[BUSY] == 700 && asks_left[BUSY]);
	expect("nor one that is low", !requested[LOW]);
}

static void a_home_that_changes_its_rung_meanwhile_has_the_speed_of_the_new_one(void)
{
	lopsided.pace.rung[HOME] = 0;
	rung_after_read = 1;
	want_speed_again(HOME);
	expect("the speed is that of the later rung", target_perf[HOME] == 600);
}

int main(void)
{
	begin_with_four_cpus();
	an_idle_high_cpu_has_the_new_speed_at_once();
	a_home_that_changes_its_rung_meanwhile_has_the_speed_of_the_new_one();
	return 0;
}
