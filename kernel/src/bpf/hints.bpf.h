/* SPDX-License-Identifier: GPL-2.0-only */
#pragma once
/*
 * Where hints about threads come from: root's (`lop hint`), which user space writes, and the threads' own, which they
 * write into the page of their process (hints/record.h). What root says about a thread counts instead of its own.
 */

/* Root's. Task storage: the kernel frees a hint with its thread. */
struct {
	__uint(type, BPF_MAP_TYPE_TASK_STORAGE);
	__uint(map_flags, BPF_F_NO_PREALLOC);
	__type(key, int);
	__type(value, struct lop_hint_record);
} lop_hints SEC(".maps");

/* Set by root's first hint; until then the map is not read. */
bool any_hint_set;

#define LOP_HINT_FLAGS (LOP_SPINNING | LOP_SEQUENTIAL | LOP_LOCK_HOLDER | LOP_BACKGROUND)

/*
 * A page: the header is its first element, and records follow. The process maps it, so it can write anything into it at
 * any time. The loader (pages.rs) makes pages and takes them out again when their process ends.
 */
struct lop_page {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(map_flags, BPF_F_MMAPABLE);
	__uint(max_entries, LOP_PAGE_RECORDS + 1);
	__type(key, u32);
	__type(value, struct lop_hint_record);
};
struct {
	__uint(type, BPF_MAP_TYPE_HASH_OF_MAPS);
	__uint(max_entries, LOP_PAGES);
	__type(key, struct lop_page_key);
	__array(values, struct lop_page);
} lop_pages SEC(".maps");

/* How many pages were given. A thread whose process has none is looked up again only when this has changed. */
u32 pages_given;

static __always_inline bool may_have_page(const struct lop_task_state *t) { return t->no_page_at != pages_given; }

/* A process that executes another program, or a later one of the same number, has another key. */
static __always_inline struct lop_page_key page_key_of(const struct task_struct *p)
{
	struct lop_page_key key = { .began_ns = p->group_leader->start_time, .executed = p->self_exec_id, .process = p->tgid };
	return key;
}

/* The number of a thread as it knows it, gettid(): in the innermost PID namespace. */
static __always_inline u32 own_number(const struct task_struct *p)
{
	const struct pid *pid = p->thread_pid;
	u32 level = BPF_CORE_READ(pid, level);
	struct upid innermost = {};
	bpf_core_read(&innermost, sizeof(innermost), &pid->numbers[level]);
	return (u32)innermost.nr;
}

/* The record of the thread in the page of its process. Null: it has none. */
static __noinline struct lop_hint_record *own_hint_of(struct task_struct *p, struct lop_task_state *t)
{
	struct lop_hint_record *record;
	struct lop_page_key key;
	u32 given = pages_given, number;
	void *page;
	int n;
	key = page_key_of(p);
	page = bpf_map_lookup_elem(&lop_pages, &key);
	if (!page) {
		t->no_page_at = given;
		return 0;
	}
	number = own_number(p);
	bpf_for(n, 0, LOP_PAGE_PROBES) {
		u32 at = (number + (u32)n) % LOP_PAGE_RECORDS + 1;
		record = bpf_map_lookup_elem(page, &at);
		if (record && READ_ONCE(record->thread) == number)
			return READ_ONCE(record->version) ? record : 0;
	}
	return 0;
}

/* Root's hint for a thread. Null: none, or a record that was never filled in. Later versions only use `unused`. */
static __always_inline struct lop_hint_record *root_hint_of(struct task_struct *p)
{
	struct lop_hint_record *hint = any_hint_set ? bpf_task_storage_get(&lop_hints, p, 0, 0) : 0;
	return hint && hint->version ? hint : 0;
}

/* The hint of a thread; null: none. */
static __always_inline struct lop_hint_record *hint_of(struct task_struct *p, struct lop_task_state *t)
{
	struct lop_hint_record *hint;
	if (!ranks && !plans && !paces)
		return 0;
	hint = root_hint_of(p);
	if (hint || !may_have_page(t))
		return hint;
	return own_hint_of(p, t);
}

extern struct task_struct *bpf_task_from_vpid(s32 vpid) __ksym;

/* Names the process that connected to the loader. It may have executed a program of another user since. */
SEC("syscall")
int lop_page_name(struct lop_page_args *args)
{
	struct task_struct *p = bpf_task_from_vpid(args->process);
	bool same_user;
	if (!p)
		return -ESRCH;
	args->key = page_key_of(p);
	same_user = BPF_CORE_READ(p, cred, euid.val) == args->user;
	bpf_task_release(p);
	return same_user ? 0 : -EPERM;
}

/* A page was inserted. */
SEC("syscall")
int lop_page_given(void *unused)
{
	lop_atomic_add(&pages_given, 1);
	return 0;
}
