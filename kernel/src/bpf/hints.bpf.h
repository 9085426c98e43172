/* SPDX-License-Identifier: GPL-2.0-only */
#pragma once
/* Hints about threads (`lop hint`), written by user space. Task storage: the kernel frees a hint with its thread. */

struct {
	__uint(type, BPF_MAP_TYPE_TASK_STORAGE);
	__uint(map_flags, BPF_F_NO_PREALLOC);
	__type(key, int);
	__type(value, struct lop_hint_record);
} lop_hints SEC(".maps");

/* Set by the first hint; until then the map is not read. */
bool any_hint_set;

/* The hint of a thread. Null: none, or a record that was never filled in. Later versions only use `unused`. */
static __always_inline struct lop_hint_record *hint_of(struct task_struct *p)
{
	struct lop_hint_record *hint = (ranks || plans || paces) && any_hint_set ? bpf_task_storage_get(&lop_hints, p, 0, 0) : 0;
	return hint && hint->version ? hint : 0;
}
