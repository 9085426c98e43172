/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
#pragma once
#include "fast_state.h"
/* State of the rules of reserved/. */

/* reserved.h */
struct lop_reserved {
	bool exists;                       /* `cpu` is reserved; else `cpu` means nothing, and the two sets are empty */
	u32 cpu;
	struct lop_cpus cpus;              /* the reserved CPU */
	struct lop_cpus beside;            /* its SMT siblings */
	u32 raised;                        /* steps by which its speed was raised */
	bool works;                        /* it is busy. The CPU writes this; it and the timer write the next two: a race costs a window */
	u64 since_ns;                      /* start of the window in which it is watched */
	u64 rested_ns;                     /* idle time since then, until it last fell idle */
	u64 rests_since_ns;                /* when it last fell idle */
	bool failed;                       /* it was saturated at its highest speed */
};

/* A core reserved for a barrier-bound load (barrier.h). */
struct lop_barrier {
	u32 most;                          /* the reservation ends when more tasks than this are active */
	u64 ends_ns;                       /* it ends at this time, unless a round ends before */
	u64 again_ns;                      /* no reservation begins before this time */
};

/* Rounds of an application (barrier.h). */
struct lop_rounds {
	u32 threads;                       /* threads of its last round */
	u32 most;                          /* most threads active in this one; 0: none has begun */
	bool all_active;                   /* `most` threads are active now */
	u64 began_ns;
	u64 full_ns;                       /* for how long all were active from the start of the round */
	struct lop_mean length;            /* mean over rounds of that many threads */
	struct lop_mean full;              /* the same, of full_ns */
};
