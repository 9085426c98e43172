/* SPDX-License-Identifier: GPL-2.0-only */
#pragma once
/* What is said of threads from outside (`lop hint`), written by user space. The kernel forgets it with the thread. */

struct {
	__uint(type, BPF_MAP_TYPE_TASK_STORAGE);
	__uint(map_flags, BPF_F_NO_PREALLOC);
	__type(key, int);
	__type(value, struct lop_hint_record);
} lop_hints SEC(".maps");

/* Somebody said something: before that nobody looks. */
bool any_hint_set;

/* What was said of a thread; null: nothing, or its record was never filled in. Later versions only use its room. */
static __always_inline struct lop_hint_record *hint_of(struct task_struct *p)
{
	struct lop_hint_record *said = (ranks || plans) && any_hint_set ? bpf_task_storage_get(&lop_hints, p, 0, 0) : 0;
	return said && said->version ? said : 0;
}
