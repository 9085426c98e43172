/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
#pragma once
#include "fast_state.h"
/* What the rules of reserved/ keep. */

/* reserved.h */
struct lop_reserved {
	bool exists;                       /* `cpu` is reserved; else it says nothing, and the two sets are empty */
	u32 cpu;
	struct lop_cpus cpus;              /* that CPU */
	struct lop_cpus beside;            /* its SMT siblings */
	u32 raised;                        /* steps by which its speed was raised */
	bool works;                        /* it is not idle. This and the next are its own and the timer's; who is late costs a window */
	u64 since_ns;                      /* begin of the window in which it is watched */
	u64 rested_ns;                     /* idle since then, until it last fell idle */
	u64 rests_since_ns;                /* when that was */
	bool failed;                       /* it was saturated at its highest speed */
};

/* A core reserved for a barrier-bound load (barrier.h). */
struct lop_barrier {
	u32 most;                          /* the reservation ends when more tasks than this are active */
	u64 ends_ns;                       /* and at this time, if no round ends before */
	u64 again_ns;                      /* and there is none before this */
};

/* Rounds of an application, see barrier.h. */
struct lop_rounds {
	u32 threads;                       /* of its last round */
	u32 most;                          /* active in this one; 0: none has begun */
	bool all_active;                   /* these are all active now */
	u64 began_ns;
	u64 full_ns;                       /* they were, for so long from its begin on */
	struct lop_mean length;            /* of rounds of that many threads */
	struct lop_mean full;              /* the same of full_ns */
};
