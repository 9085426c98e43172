/* SPDX-License-Identifier: GPL-2.0-only */
#pragma once
/* Wakeups by a timer or a device, for pace.h. */

#define LOP_HARDIRQ_MASK 0xf0000 /* of the preempt count (include/linux/preempt.h) */

#if defined(__TARGET_ARCH_x86)
extern const int __preempt_count __ksym __weak; /* since Linux 6.15 */
#elif defined(__TARGET_ARCH_arm64)
struct thread_info___counting {
	struct { u32 count; } preempt;
} __attribute__((preserve_access_index));
#endif

/*
 * Whether this runs in a hard interrupt, so that no task wakes what is woken. Timers expire there. False where the
 * kernel does not tell: on another processor, before Linux 6.15, and with PREEMPT_RT, where a kernel thread wakes the
 * sleeper. Then no work counts as paced.
 */
static __always_inline bool in_interrupt(void)
{
	u32 count = 0;
#if defined(__TARGET_ARCH_x86)
	if (bpf_ksym_exists(&__preempt_count))
		count = *(const u32 *)bpf_this_cpu_ptr(&__preempt_count);
#elif defined(__TARGET_ARCH_arm64)
	count = BPF_CORE_READ((const struct thread_info___counting *)bpf_get_current_task_btf(), preempt.count);
#endif
	return count & LOP_HARDIRQ_MASK;
}
