/* SPDX-License-Identifier: GPL-2.0-only */
#pragma once
/*
 * Heat: while the set of high CPUs is partial, the loader reads temperatures every 10 s, writes them here, and runs
 * lop_heat().
 */

/* 1: the loader reads temperatures. It stops when the set is not partial; then a tick reports that some task runs. */
u32 reads_heat;

/* At each tick of a running task. */
static __always_inline void follow_heat(void)
{
	if (senses && !reads_heat && !lop_atomic_cas(&reads_heat, 0, 1))
		tell_loader(LOP_RECORD_WARMS, bpf_ktime_get_ns(), 0, 0, 0);
}

static __always_inline void tell_temperatures(u64 at_ns)
{
	u32 cpu;
	if (!tell_decisions)
		return;
	bpf_for(cpu, 0, LOP_MAX_CPUS) {
		if (lop_cpus_has(&lopsided.online, cpu))
			tell_loader(LOP_RECORD_TEMPERATURE, at_ns, 0, (s32)cpu, (u32)temperature_mc[lop_cpu_index(cpu)]);
	}
}

SEC("syscall")
int lop_heat(void *nothing)
{
	unsigned long flags;
	struct lop_world *c;
	bool locked;
	bpf_local_irq_save(&flags);
	c = begin(&order_context);
	locked = log_begin();
	tell_temperatures(c->now_ns);
	tell(LOP_RECORD_HEAT, c->now_ns, 0, 0, 0);
	lop_rotate_heat(&lopsided, c, c->now_ns);
	log_end(locked);
	bpf_local_irq_restore(&flags);
	/* No timer may be armed for a long time. */
	ask_for_sleepers();
	return 0;
}
