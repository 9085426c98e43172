/* SPDX-License-Identifier: GPL-2.0-only */
#pragma once
/*
 * A CPU that goes offline must not ask for interrupts to itself.
 *
 * Once it has left the online mask a CPU gets no interrupts, not even its own. Kicks, the timer and ring buffer wakeups
 * all need one (irq_work). The kernel runs what is pending once more before the CPU stops. A request made after that
 * stays pending when the CPU is back. The kernel then takes an interrupt to be on its way and never sends another one,
 * so nothing is ever kicked from this CPU again, and a scheduler whose end starts there never ends (seen on Linux 7.2).
 * Tasks do wake up on such a CPU, so callbacks run there.
 *
 * Protocol: on a dying CPU the program only records the request (left_kicks, lopsided.timer_at_ns, a submitted record)
 * and then sets left_over. The next callback on another CPU clears left_over and then carries out what is recorded
 * (do_what_is_left()). Such a callback comes at once: all CPUs stop while one goes offline, and look for work
 * afterwards.
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

/*
 * Call this after the request is recorded: do_what_is_left() clears left_over atomically and reads the requests
 * afterwards. In the other order it could clear the flag, miss the request, and nothing would look again.
 */
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
