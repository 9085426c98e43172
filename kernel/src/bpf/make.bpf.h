/* SPDX-License-Identifier: GPL-2.0-only */
#pragma once
/* Programs that take the number of parallel jobs on their command line, which the loader reads (jobs.rs). */

#define is_called(name, wanted) (!bpf_strncmp(name, sizeof(name), wanted))

SEC("tp_btf/sched_process_exec")
int BPF_PROG(lop_exec, struct task_struct *p)
{
	char name[16] = {};
	bpf_probe_read_kernel(name, sizeof(name), p->comm);
	if (is_called(name, "make") || is_called(name, "gmake"))
		tell_loader(LOP_RECORD_MAKE, bpf_ktime_get_ns(), 0, 0, (u32)p->tgid);
	return 0;
}
