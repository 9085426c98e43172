/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
#pragma once
#include "cpuset.h"
/* What the policy keeps about each task, and what the task declares. */

/* What a thread, or its creator, declares about it (its flags are those of hints/record.h). All 0: nothing. */
enum lop_hint_flags { LOP_SPINNING = 1, LOP_SEQUENTIAL = 2, LOP_LOCK_HOLDER = 4, LOP_BACKGROUND = 8 };
struct lop_hint {
	u32 flags;
	u32 length;                        /* all the work of the thread, in units of its application */
	u32 next_length;                   /* the same for the next thread that it creates */
};

/* What a task is, as far as cores are concerned (role.h): first what high cores may have to make up for, then what has green ones. */
enum lop_role { LOP_ROLE_ORDINARY, LOP_ROLE_RESERVED, LOP_ROLE_AT_HOME, LOP_ROLE_BACKGROUND, LOP_ROLE_LOW_GAIN };
#define LOP_ROLES 8 /* a power of two */

/* What pace.h knows of a task. */
struct lop_paced {
	u64 clock_ns;                      /* when the clock began its present cycle; 0: none yet */
	u64 offset_ns;                     /* from then until it was woken in that cycle */
	u64 interval_ns;                   /* between these; the mean, while it is steady */
	u32 steady;                        /* how many in a row came in that interval */
	u32 need_permille;                 /* share of the fastest core that its work takes */
	u64 work_ns;                       /* done since then, ns on the fastest kind of core */
	u32 home;                          /* 1 + the CPU where it runs at its pace; 0: none */
	u32 epoch;                         /* of that home: lop_pace.epoch */
	u32 taken_permille;                /* what it counts for there */
	bool raised;                       /* it was not done early enough, and runs high until its clock comes again */
	bool ends;                         /* it is to give its home up */
	u64 since_ns;                      /* `steady` counts from here, while it has a home */
	u64 not_before_ns, penalty_ns;     /* it is not tried again before; how long it was kept from it the last time */
};

/* What light.h knows of a task. */
struct lop_light_task {
	u64 at_ns;                         /* `used` is as of then; 0: the task is new */
	u64 behind_ns;                     /* how far its clock is behind */
	u64 ran_ns;                        /* since it woke */
	u64 slice_ns;                      /* what it has had of its slice */
	u32 used, peak;                    /* thousandths of the fastest core x 1024 */
	u32 counts_at;                     /* 1 + the CPU whose use its own is part of; 0: none */
};

struct lop_task {
	u64 vtime_ns;
	u32 owes_at;                       /* 1 + the CPU where it stopped last, if that was apart; 0: none */
	u64 forgiven_ns;                   /* lop_queues.forgiven_ns of that CPU then */
	u64 queued_at_ns;                  /* when it began to wait in `queue` */
	u32 weight;                        /* from nice; 1024 by default (weight.h) */
	u32 nr_allowed;
	u32 speedup_permille;              /* SF x 1000 between the lowest and the highest OPP; 0: unknown */
	s32 anchor;                        /* CPU that it keeps in its set; LOP_NONE */
	s32 last_queue;                    /* queue of its last place since it woke; LOP_NONE: none yet */
	s32 queue;                         /* it waits there, or is on its way from there to a CPU; LOP_NONE */
	s32 wanted_domain;                 /* where a plan of spread.h or gather.h wants it; LOP_NONE: anywhere */
	u8 role;                           /* enum lop_role; chosen when it becomes active */
	bool counted;                      /* counted as active */
	bool weighs;                       /* from wakeup to block: its weight is in its group's, if it has a group */
	bool nobody_waits;                 /* the adapter says: lop_owner_says_nobody_waits() */
	bool restricted;                   /* may not run on every CPU of the machine, online or not, that is not isolated */
	bool brief;                        /* system work, short as a rule: see lop_place_kthread() */
	bool system;                       /* system work, short or long: for the reserved CPU, if there is one */
	bool bound;                        /* of the online CPUs it may run on isolated ones only */
	struct lop_cpus allowed;           /* its affinity; isolated CPUs, and then only these, if none of the others was online */
	struct lop_hint hint;
	u32 runs_on;                       /* 1 + the CPU that it runs on; 0: none */
	bool running;                       /* counted in lop_app.running */
	bool ahead;                        /* it took more than its share, and takes no CPU from others: lop_is_ahead() */
	bool goes_first;                   /* a rule put it in the queue of one CPU alone, before the task that runs there */
	u32 given;                         /* 1 + the CPU whose queue it enters next; 0: it is placed normally */
	u64 woke_ns, slept_ns;             /* when it became active and inactive last; 0: never */
	u64 clock_ns;                      /* the adapter says, before a wakeup: the time, if no task wakes it; lop_clock_of() of who wakes it */
	struct lop_paced pace;
	struct lop_light_task light;
	u64 done_ns;                       /* work done so far, ns on the fastest kind of core */
	u64 last_turn_ns;                  /* when it last left a fast core */
	u64 holds_since_ns;                /* when it last declared that others wait for it, or got a CPU after that; 0: it waits for one */
	u32 user;                          /* user that pays for it: lop_belong() */
	u32 user_weight;
};
