/* SPDX-License-Identifier: GPL-2.0-only */
#pragma once
/* What is said of threads from outside (`lop hint`), written by user space. The kernel forgets it with the thread. */

struct {
	__uint(type, BPF_MAP_TYPE_TASK_STORAGE);
	__uint(map_flags, BPF_F_NO_PREALLOC);
	__type(key, int);
	__type(value, struct lop_hint_record);
} lop_hints SEC(".maps");

/* What was said of a thread; null: nothing, or in a way that is not understood here. */
static __always_inline const struct lop_hint_record *hint_of(struct task_struct *p)
{
	const struct lop_hint_record *said = ranks ? bpf_task_storage_get(&lop_hints, p, 0, 0) : 0;
	return said && said->version ? said : 0;
}

/* Tells the policy what was said of a thread since it was last asked: when it starts to run, and at each tick while it does. */
static __always_inline void listen(struct lop_world *c, struct task_struct *p, struct lop_task_state *t, struct lop_app *app)
{
	const struct lop_hint_record *said = hint_of(p);
	u32 changed;
	if (!said)
		return;
	if (said->length != t->task.hint.length)
		lop_declare_length(&t->task, app, said->length);
	if (said->next_length != t->said_next_length)
		t->said_next_length = t->task.hint.next_length = said->next_length;
	changed = said->flags ^ t->task.hint.flags;
	if (changed & (LOP_SEQUENTIAL | LOP_LOCK_HOLDER))
		lop_say(&lopsided, c, &t->task, app, said->flags, c->now_ns);
	if (changed & LOP_SPINNING)
		lop_spin(&lopsided, c, &t->task, app, group_of(t), said->flags & LOP_SPINNING, c->now_ns);
	if (app && said->parallelism != t->said_parallelism && lop_declare(&lopsided, c, app, said->parallelism, c->now_ns))
		t->said_parallelism = said->parallelism;
}
