/* SPDX-License-Identifier: GPL-2.0-only */
#pragma once
/*
 * A CPU that goes offline. From when it has left the kernel's mask it gets no interrupt any more, not even from itself. What it was to do in such an interrupt
 * (kicks, timers, waking the loader) the kernel does once more before the CPU stops. What is asked for meanwhile stays pending when the CPU is back, and as an
 * interrupt seems to be on its way then, none is sent ever after: nobody is kicked from there, and a scheduler that is ended from there never ends (seen on
 * Linux 7.2). Threads are woken there at that time. So the program asks for nothing then and leaves it to the next callback on another CPU. One comes at once:
 * all CPUs have stopped for this, and look for work when it is over.
 */
struct lop_cpus left_kicks;
u32 left_over;

static __always_inline bool is_dying(void)
{
	u32 cpu = bpf_get_smp_processor_id();
	const struct cpumask *online;
	bool has_left;
	if (lop_cpus_has(&lopsided.online, lop_cpu_index(cpu)))
		return false;
	online = scx_bpf_get_online_cpumask();
	has_left = !bpf_cpumask_test_cpu(cpu, online);
	scx_bpf_put_cpumask(online);
	return has_left;
}

/* After what is left has been noted. */
static __always_inline void leave_it(void) { lop_atomic_or(&left_over, 1); }

static __noinline void kick(s32 cpu, u64 flags)
{
	if (!is_dying()) {
		scx_bpf_kick_cpu(cpu, flags);
		return;
	}
	lop_cpus_add(&left_kicks, lop_cpu_index((u32)cpu));
	leave_it();
}
