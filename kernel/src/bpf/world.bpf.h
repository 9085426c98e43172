/* SPDX-License-Identifier: GPL-2.0-only */
#pragma once
/*
 * What the adapter keeps with the policy's handle. A handle is one caller of the policy: each CPU (callbacks run there with
 * interrupts off, one at a time), the timer, and CPU hotplug.
 */
enum lop_insertion { LOP_INSERT_NONE, LOP_INSERT_LOCAL, LOP_INSERT_QUEUE };

#define LOP_WORLD_MEMBERS                                                                                              \
	u64 now_ns; /* time of the callback */                                                                         \
	enum lop_insertion insertion; /* what the policy asked for, done at the end of the callback */                 \
	u32 insert_at; /* CPU or queue */                                                                              \
	u64 insert_slice_ns, insert_vtime_ns;                                                                          \
	u64 count[LOP_COUNTS];                                                                                         \
	u64 looks; /* tasks looked at in a loop over a queue */                                                        \
	u64 apart[5]; /* CPUs do not share a cache line */
