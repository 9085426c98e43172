/* SPDX-License-Identifier: GPL-2.0-only */
#pragma once
/*
 * What the adapter keeps in the policy's handle (struct lop_world). Each context that calls the policy has its own
 * handle: each CPU (callbacks run there with interrupts off, one at a time), the timer, CPU hotplug, and orders.
 */
enum lop_insertion { LOP_INSERT_NONE, LOP_INSERT_LOCAL, LOP_INSERT_QUEUE };

#define LOP_WORLD_MEMBERS                                                                                              \
	u64 now_ns; /* time of the callback */                                                                         \
	enum lop_insertion insertion; /* the policy's request, carried out at the end of the callback */               \
	u32 insert_at; /* CPU or queue */                                                                              \
	u64 insert_slice_ns, insert_vtime_ns;                                                                          \
	u64 count[LOP_COUNTS];                                                                                         \
	u64 looks; /* tasks examined in the walk over a DSQ */                                                         \
	u64 apart[5]; /* handles of two CPUs share no cache line */
