/* SPDX-License-Identifier: GPL-2.0-only */
#pragma once
/*
 * Applications are processes. What the policy keeps of one lies under its process number, as long as one of its threads lives: a thread may
 * outlast the first one, and what is kept with that.
 */
struct lop_app_state {
	struct lop_app app;
	u32 threads;
};

#define LOP_MOST_APPS 65536
struct {
	__uint(type, BPF_MAP_TYPE_HASH);
	__uint(map_flags, BPF_F_NO_PREALLOC);
	__uint(max_entries, LOP_MOST_APPS);
	__type(key, s32);
	__type(value, struct lop_app_state);
} apps SEC(".maps");

/* Threads of the kernel belong to no application, and nobody asks without rules. */
static __always_inline bool has_app(const struct task_struct *p) { return ranks && !(p->flags & PF_KTHREAD); }

/* What is kept of a task's process; null: nothing. */
static __always_inline struct lop_app_state *app_state_of(const struct task_struct *p)
{
	s32 process = p->tgid;
	return has_app(p) ? bpf_map_lookup_elem(&apps, &process) : 0;
}

/* The application that a task belongs to; null: none. */
static __always_inline struct lop_app *app_of(const struct task_struct *p)
{
	struct lop_app_state *about = app_state_of(p);
	return about ? &about->app : 0;
}

/* One thread more of its process. Without room it belongs to no application. */
static __always_inline void enter_app(const struct task_struct *p)
{
	struct lop_app_state none = { .app = { .home_node = LOP_NONE } }, *about;
	s32 process = p->tgid;
	if (has_app(p))
		bpf_map_update_elem(&apps, &process, &none, BPF_NOEXIST);
	about = app_state_of(p);
	if (about)
		__sync_fetch_and_add(&about->threads, 1);
}

/* One less; the last one takes what was kept with it. A process without threads creates none. */
static __always_inline void leave_app(const struct task_struct *p)
{
	struct lop_app_state *about = app_state_of(p);
	s32 process = p->tgid;
	if (about && __sync_fetch_and_sub(&about->threads, 1) == 1)
		bpf_map_delete_elem(&apps, &process);
}
