/* SPDX-License-Identifier: GPL-2.0-only */
#pragma once
/* Lines that the program adds to the sched_ext exit dump. */

void BPF_STRUCT_OPS(lopsided_dump, struct scx_dump_ctx *dctx)
{
	scx_bpf_dump("lopsided: active %u, target %u, high %u, promotions %llu, demotions %llu, timer in %lld ns\n",
		     lop_active(&lopsided, LOP_ROLE_ORDINARY), lop_target(&lopsided, LOP_HIGH), lopsided.set[LOP_HIGH].size,
		     lopsided.membership.promotions, lopsided.membership.demotions,
		     lopsided.timer_at_ns ? (s64)(lopsided.timer_at_ns - bpf_ktime_get_ns()) : -1LL);
	scx_bpf_dump("lopsided: declared parallelism %u, active applications without %u\n", lopsided.membership.declared_sum, lop_undeclared(&lopsided));
}

void BPF_STRUCT_OPS(lopsided_dump_cpu, struct scx_dump_ctx *dctx, s32 cpu, bool idle)
{
	u32 n = lop_cpu_index((u32)cpu);
	const char *set = lop_is_reserved(&lopsided, n) ? "reserved" : lop_set_of(&lopsided, n) == LOP_LOW ? "low" : "high";
	scx_bpf_dump("lopsided: %s, %s, asked for speed %u/1024, own queue %u", set,
		     lop_cpus_has(&lopsided.idle, n) ? "idle" : "busy", asked_perf[n], lopsided.queues.queued[n]);
}

void BPF_STRUCT_OPS(lopsided_dump_task, struct scx_dump_ctx *dctx, struct task_struct *p)
{
	struct lop_task_state *t = state_of(p);
	if (t)
		scx_bpf_dump("lopsided: %s, queue %d, claimed CPU %d, anchor %d, allowed CPUs %u, vtime %lld ns after the clock",
			     t->task.counted ? "active" : "not active", t->task.queue, t->claimed, t->task.anchor,
			     t->task.nr_allowed, (s64)(t->task.vtime_ns - lopsided.queues.clock_ns));
}
