/* SPDX-License-Identifier: GPL-2.0-only */
#pragma once
/* Records for the loader: speeds, where it sets them by itself; on demand each call that decides, and what it decided, under every policy. */

struct {
	__uint(type, BPF_MAP_TYPE_RINGBUF);
	__uint(max_entries, 1 << 18);
} records SEC(".maps");

/* The loader wants to hear of speeds; of every decision. */
const volatile bool tell_speeds, tell_decisions;
/* Records that found no room. */
u64 lost_records;

/* Written where the loader reads it: on the stack there is no room for it beside the policy's own. Null: no room. */
static __always_inline void *room_for_record(u64 size)
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

/* That earlier records came without waking the loader keeps later ones from it. */
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
	struct lop_record *record = room_for_record(sizeof(*record));
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

static __noinline void tell_cpus(u32 kind, u64 at_ns, u64 task, u32 value, const struct lop_cpus *cpus)
{
	struct lop_record_of_cpus *record;
	int n;
	if (!tell_decisions || !cpus)
		return;
	record = room_for_record(sizeof(*record));
	if (!record)
		return;
	fill_record(&record->record, kind, at_ns, task, 0, value);
	for (n = 0; n < LOP_RECORD_WORDS; n++)
		record->words[n] = cpus->word[n];
	submit(record);
}

/*
 * While decisions are logged, calls of the policy follow one another: the log is then the one order in which they were made,
 * and can be played again. Spins, bounded, with nothing else held by who is inside but its own runqueue.
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

/* The same where interrupts are on: one that came in between would spin for what its own CPU holds. */
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
