/* SPDX-License-Identifier: GPL-2.0-only */
#pragma once
/* Programs that say on their command line how many jobs they run at once: the loader reads it (jobs.rs). */

static __always_inline bool is_make(const char *name)
{
	name += name[0] == 'g';
	return name[0] == 'm' && name[1] == 'a' && name[2] == 'k' && name[3] == 'e' && !name[4];
}

SEC("tp_btf/sched_process_exec")
int BPF_PROG(lop_exec, struct task_struct *p)
{
	char name[16] = {};
	bpf_probe_read_kernel(name, sizeof(name), p->comm);
	if (is_make(name))
		tell_loader(LOP_RECORD_MAKE, bpf_ktime_get_ns(), 0, 0, (u32)p->tgid);
	return 0;
}
