/* SPDX-License-Identifier: GPL-2.0-only */
#pragma once
/*
 * Records for the loader in a ring buffer: speeds, where the loader sets them; on demand every call of the policy and
 * every decision, under each policy.
 */

struct {
	__uint(type, BPF_MAP_TYPE_RINGBUF);
	__uint(max_entries, 1 << 18);
} records SEC(".maps");

/* Set if the loader wants records of speeds; of every decision. */
const volatile bool tell_speeds, tell_decisions;
/* Records lost because the ring buffer was full. */
u64 lost_records;

/*
 * Reserves a record in the ring buffer. On the stack it would not fit beside what the policy uses. Null: the ring
 * buffer is full.
 */
static __always_inline void *new_record(u64 size)
{
	void *record = bpf_ringbuf_reserve(&records, size, 0);
	if (!record)
		lop_atomic_add(&lost_records, 1);
	return record;
}

static __always_inline void submit(void *record)
{
	bool dying = is_dying();
	bpf_ringbuf_submit(record, dying ? BPF_RB_NO_WAKEUP : 0);
	if (dying)
		leave_it();
}

/*
 * The kernel wakes the reader only if it has read all earlier records. A record submitted without a wakeup therefore
 * keeps later ones from waking it too. A forced wakeup ends that; an empty record carries it.
 */
static __always_inline void wake_loader(void)
{
	void *nothing = bpf_ringbuf_reserve(&records, sizeof(u64), 0);
	if (nothing)
		bpf_ringbuf_discard(nothing, BPF_RB_FORCE_WAKEUP);
}

static __always_inline void fill_record(struct lop_record *record, u32 kind, u64 at_ns, u64 task, s32 cpu, u32 value)
{
	record->at_ns = at_ns;
	record->task = task;
	record->kind = kind;
	record->cpu = cpu;
	record->value = value;
	record->unused = 0;
}

static __noinline void tell_loader(u32 kind, u64 at_ns, u64 task, s32 cpu, u32 value)
{
	struct lop_record *record = new_record(sizeof(*record));
	if (!record)
		return;
	fill_record(record, kind, at_ns, task, cpu, value);
	submit(record);
}

static __always_inline void tell(u32 kind, u64 at_ns, u64 task, s32 cpu, u32 value)
{
	if (tell_decisions)
		tell_loader(kind, at_ns, task, cpu, value);
}

static __always_inline void tell_clock(u64 at_ns, const struct task_struct *p, u64 age_ns)
{
	tell(LOP_RECORD_CLOCK, at_ns, (u64)p, (s32)(age_ns >> 32), (u32)age_ns);
}

static __noinline void tell_cpus(u32 kind, u64 at_ns, u64 task, u32 value, const struct lop_cpus *cpus)
{
	struct lop_record_of_cpus *record;
	int n;
	if (!tell_decisions || !cpus)
		return;
	record = new_record(sizeof(*record));
	if (!record)
		return;
	fill_record(&record->record, kind, at_ns, task, 0, value);
	for (n = 0; n < LOP_RECORD_WORDS; n++)
		record->words[n] = cpus->word[n];
	submit(record);
}

/*
 * While decisions are logged, log_lock serialises the calls of the policy. Then the log has them in the one order in
 * which they were made, and can be replayed. The lock spins at most LOP_LOG_SPINS times; a call that gives up is made
 * without the lock and counted in unordered_calls. Its holder holds no other lock than its own runqueue's.
 */
#define LOP_LOG_SPINS (1 << 23)
u32 log_lock;
u64 unordered_calls;

static __always_inline bool log_begin(void)
{
	int n;
	if (!tell_decisions)
		return false;
	bpf_for(n, 0, LOP_LOG_SPINS) {
		if (!lop_atomic_cas(&log_lock, 0, 1))
			return true;
	}
	lop_atomic_add(&unordered_calls, 1);
	return false;
}

static __always_inline void log_end(bool locked)
{
	if (locked)
		lop_atomic_cas(&log_lock, 1, 0);
}

/*
 * For callers with interrupts on. They are disabled while the lock is held: an interrupt on this CPU would otherwise
 * spin for a lock that its own CPU holds.
 */
static __always_inline bool log_begin_open(unsigned long *flags)
{
	if (!tell_decisions)
		return false;
	bpf_local_irq_save(flags);
	return log_begin();
}

static __always_inline void log_end_open(bool locked, unsigned long *flags)
{
	if (!tell_decisions)
		return;
	log_end(locked);
	bpf_local_irq_restore(flags);
}
