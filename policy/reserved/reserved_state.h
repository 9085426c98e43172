/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
#pragma once
#include "topology.h"
/* State of the rules of reserved/. */

/* reserved.h */
struct lop_reserved {
	bool exists;                       /* `cpu` is reserved; else `cpu` means nothing, and the two sets are empty */
	u32 cpu;
	struct lop_cpus cpus;              /* the reserved CPU */
	struct lop_cpus beside;            /* its SMT siblings */
	u32 raised;                        /* steps by which its speed is above its first one */
	bool works;                        /* it is busy. The CPU writes this; it and the timer write its speed and the times: a race costs a window or a step */
	u64 since_ns;                      /* start of the window in which it is watched */
	u64 rested_ns;                     /* idle time since then, until it last fell idle */
	u64 rests_since_ns;                /* when it last fell idle */
	u64 calm_since_ns;                 /* start of the time in which it may have too little work for its speed */
	u64 calm_rested_ns;                /* idle time since then, until it last fell idle */
	bool is_lowered;                   /* the last change of its speed was a step down */
	u32 backoff;                       /* how often that time was doubled */
	bool failed;                       /* it was saturated at its highest speed */
};
