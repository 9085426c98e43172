/* SPDX-License-Identifier: GPL-2.0-only */
#pragma once
/* By which clock a task is woken, for pace.h. */

/* Of the preempt count (include/linux/preempt.h). */
#define LOP_HARDIRQ_MASK 0xf0000
#define LOP_IN_SOFTIRQ 0x100

#if defined(__TARGET_ARCH_x86)
extern const int __preempt_count __ksym __weak; /* since Linux 6.15 */
#elif defined(__TARGET_ARCH_arm64)
struct thread_info___counting {
	struct { u32 count; } preempt;
} __attribute__((preserve_access_index));
#endif

/* The preempt count of this CPU. 0 where the kernel does not tell: on another processor, and before Linux 6.15. */
static __always_inline u32 preempt_count_of_cpu(void)
{
	u32 count = 0;
#if defined(__TARGET_ARCH_x86)
	if (bpf_ksym_exists(&__preempt_count))
		count = *(const u32 *)bpf_this_cpu_ptr(&__preempt_count);
#elif defined(__TARGET_ARCH_arm64)
	count = BPF_CORE_READ((const struct thread_info___counting *)bpf_get_current_task_btf(), preempt.count);
#endif
	return count;
}

/*
 * lop_task.clock_ns of `p`, which this wakes. In a hard interrupt, where timers expire, that is the present; from a task it
 * is the clock of that one, but not from another user's: that one could have a server slowed down for all others. In a
 * soft interrupt the task here has nothing to do with the wakeup. With PREEMPT_RT a kernel thread wakes sleepers: then
 * no work counts as paced, nor where the preempt count is not known.
 */
static __always_inline u64 clock_here(const struct task_struct *p, u64 now_ns)
{
	u32 count = paces ? preempt_count_of_cpu() : 0;
	struct task_struct *waker;
	const struct lop_task_state *by;
	if (count & LOP_HARDIRQ_MASK)
		return now_ns;
	if (!count || count & LOP_IN_SOFTIRQ)
		return 0;
	waker = bpf_get_current_task_btf();
	if (waker->cred->uid.val != p->cred->uid.val)
		return 0;
	by = state_of(waker);
	return by ? lop_clock_of(&lopsided, &by->task) : 0;
}
