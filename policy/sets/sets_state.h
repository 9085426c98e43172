/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
#pragma once
#include "topology.h"
/* State of the rules in sets/. */

/* A set whose size follows demand. */
struct lop_members {
	struct lop_cpus cpus;
	u32 size;
	struct lop_cpus pinned;            /* CPUs that active tasks of limited affinity need as members */
	u64 below_since_ns[LOP_MAX_CPUS + 1]; /* [k]: since when the k-th member is beyond the target, if it is */
	u64 look_ns;                       /* when some member that is surplus has rested (room.h) */
};

/*
 * Homes of paced tasks (pace.h), or of light ones (light.h): the pinned CPUs of the green set. All changes under the lock, but for
 * light ones `tasks` and `load_permille` are atomic.
 */
struct lop_pace {
	u32 nr_homes;
	u32 tasks[LOP_MAX_CPUS];           /* paced tasks whose home it is; light tasks that are active there */
	u32 load_permille[LOP_MAX_CPUS];   /* what they need in all, of the fastest core */
	u32 epoch[LOP_MAX_CPUS];           /* counts how often it ceased to be a home */
	u32 rung[LOP_MAX_CPUS];            /* its speed, of lop_config.rung; one for all homes of a clock domain */
	u64 woke_ns[LOP_MAX_CPUS];         /* when one of its tasks woke last */
	u64 slack_ns[LOP_MAX_CPUS];        /* the shortest time that one of its tasks can wait in its interval */
};

/* What CPUs are used by for light work (light.h). A lost update is an error that decays. */
struct lop_light {
	u64 at_ns[LOP_MAX_CPUS];           /* `used` is as of then */
	u64 behind_ns[LOP_MAX_CPUS];       /* how far the clock of `used` is behind */
	u32 used[LOP_MAX_CPUS];            /* thousandths of the fastest core x 1024 */
	struct lop_cpus asked;             /* CPUs that were asked to let a task go */
	struct lop_cpus left;              /* homes that their last active task left */
};

/*
 * Which CPUs are members, and since when (sets.h, member.h), and which tasks count on them (place.h). Changes under the
 * lock, except for atomics and for `left_ns` of a CPU that comes online.
 */
struct lop_membership {
	struct lop_cpus warm;              /* CPUs of voltage domains that have a high member */
	struct lop_cpus beside_high;       /* CPUs whose SMT sibling is high */
	u32 clock_high[LOP_MAX_CPUS];      /* high members by clock domain */
	u32 voltage_high[LOP_MAX_CPUS];    /* high members by voltage domain */
	u32 node_high[LOP_MAX_NODES];      /* high members by node */
	u32 anchored[LOP_MAX_CPUS];        /* active tasks of limited affinity that count on this CPU, so it is pinned */
	struct lop_cpu_times joined_ns, left_ns;
	u32 declared_sum;                  /* parallelism declared by applications with active tasks (demand.h) */
	u32 nr_declared;                   /* those applications */
	u32 over_declared;                 /* active tasks beyond what their application declared */
	u32 lock;                          /* the one lock: membership changes under it */
	u32 asked;                         /* how often it was found taken; the holder looks again */
	u64 promotions, demotions;
};

/* heat.h */
struct lop_heat {
	struct lop_cpus hot;
	u64 swapped_ns[LOP_MAX_NODES];     /* last swap by socket */
	u64 swaps;
};
