/* SPDX-License-Identifier: GPL-2.0-only */
#pragma once
/*
 * Applications are processes. What the policy keeps of one has a place here as long as one of its threads lives: a thread may outlast the
 * first one, and what is kept with that. Each thread keeps the number of the place: who looks needs no search.
 */
struct lop_app_state {
	struct lop_app app;
	u32 threads; /* 0: the place is free */
};

#define LOP_MOST_APPS 4096
struct lop_app_state apps[LOP_MOST_APPS];
u32 next_app;
struct {
	__uint(type, BPF_MAP_TYPE_HASH);
	__uint(max_entries, LOP_MOST_APPS);
	__type(key, s32);
	__type(value, u32);
} app_of_process SEC(".maps");

static __always_inline struct lop_app_state *app_at(u32 place) { return &apps[place & (LOP_MOST_APPS - 1)]; }

/* The application that a thread belongs to; null: none. */
static __always_inline struct lop_app *app_of(const struct lop_task_state *t) { return ranks && t->app ? &app_at(t->app - 1)->app : 0; }

/* A free place, for the first thread of a process; LOP_NONE: there is none. */
static __noinline s32 take_app(s32 process)
{
	struct lop_app none = { .home_node = LOP_NONE };
	s32 found = LOP_NONE;
	int n;
	bpf_for(n, 0, LOP_MOST_APPS) {
		u32 place = __sync_fetch_and_add(&next_app, 1) & (LOP_MOST_APPS - 1);
		if (app_at(place)->threads || __sync_val_compare_and_swap(&app_at(place)->threads, 0, 1))
			continue;
		app_at(place)->app = none;
		bpf_map_update_elem(&app_of_process, &process, &place, BPF_ANY);
		found = (s32)place;
		break;
	}
	return found;
}

/*
 * One thread more of its process, created by another one of it, or the first. Without room it belongs to no application; nor do threads of the
 * kernel, and nobody asks without rules.
 */
static __always_inline void enter_app(const struct task_struct *p, struct lop_task_state *t)
{
	s32 process = p->tgid;
	u32 *known;
	if (!ranks || p->flags & PF_KTHREAD)
		return;
	known = bpf_map_lookup_elem(&app_of_process, &process);
	if (known)
		__sync_fetch_and_add(&app_at(*known)->threads, 1);
	t->app = known ? *known + 1 : (u32)(take_app(process) + 1);
}

/* One less; the last one frees the place. */
static __always_inline void leave_app(const struct task_struct *p, struct lop_task_state *t)
{
	s32 process = p->tgid;
	u32 place = t->app - 1;
	if (!ranks || !t->app)
		return;
	t->app = 0;
	if (__sync_fetch_and_sub(&app_at(place)->threads, 1) == 1)
		bpf_map_delete_elem(&app_of_process, &process);
}
