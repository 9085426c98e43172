/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
#pragma once
#include "cpuset.h"
/*
 * All the policy knows. Passed by pointer, never global: a thousand simulations run side by side, the kernel has one.
 * Per-CPU entries are written by their CPU, counters are atomic, membership changes under `resizing`.
 */
#define LOP_MAX_NODES 64
#define LOP_MAX_SMT 8
#define LOP_MINUTE_NS 60000000000ULL
#define LOP_MAX_TIERS 16
#define LOP_MAX_MEMORY_DOMAINS 256
#define LOP_MAX_GROUP_DEPTH 8
#define LOP_LENGTHS 16
/* Users whose numbers are the same modulo this are one (budget.h). A power of two. */
#define LOP_USERS 1024
/* Queues: one per CPU for what may run only there, then one per memory domain and set that runs ordinary work. */
#define LOP_QUEUES (LOP_MAX_CPUS + 2 * LOP_MAX_MEMORY_DOMAINS)

/* Sizes of the high set: by demand (high/low), fixed (simple sets, where a governor sets the speeds), or all cores that may be in it. */
enum lop_sizing { LOP_SIZE_BY_DEMAND, LOP_SIZE_FIXED, LOP_SIZE_ALL };

/* Whether one core is reserved for the operating system's own work: never, on machines with enough cores, if asked for, or as barrier.h says. */
enum lop_reserve { LOP_RESERVE_NEVER, LOP_RESERVE_BY_SIZE, LOP_RESERVE_ASKED, LOP_RESERVE_BY_LOAD };

/* Which rules say who gets the fast cores (rank.h): bits of lop_config.rules. None: whoever finds them idle. */
enum lop_rules {
	LOP_PHASES = 1,  /* lock holders and sequential phases first */
	LOP_LONGEST = 2, /* then who has most work left, as declared */
	LOP_SPEEDUP = 4, /* then who gains most from speed, before turn */
	LOP_TURNS = 8,   /* equals share them in turn */
	LOP_WHOLE = 16,  /* on a machine with SMT a whole core goes before a share of one (smt_spread.h) */
};
/* Which memory domain a task runs in: as it comes, by spread.h, or by gather.h, which switches domains off. */
enum lop_domains { LOP_DOMAINS_AS_COME, LOP_DOMAINS_SPREAD, LOP_DOMAINS_GATHER };

/* Filled by the adapter before lop_start(); the policy's own times by lop_set_times(). */
struct lop_config {
	u32 nr_cpus;
	enum lop_sizing sizing;
	u32 fixed_size;
	u32 spare;            /* high cores kept idle for what comes next */
	u32 most_high;        /* power cap: so many cores are high at most, see cap.h; 0: no cap */
	bool green;           /* work that hardly gains from speed runs in the green set */
	enum lop_domains domains;
	u32 room_permille;    /* share of T_hold that migrations of woken tasks may cost before a set has room beyond demand, see room.h; 0: never any */
	bool only_known;      /* no plan for memory domains moves a thread of which nothing is known */
	bool specialise;      /* tasks that gain most from fast cores change with others that have them, see specialise.h */
	u64 transition_ns;    /* a new member runs at its speed after this */
	u64 hold_ns;          /* T_hold: surplus lasts this long before a member leaves */
	u64 last_hold_ns;     /* the same for the last member (h_min: 1 while anything ran this recently), and for the spare if it is longer */
	u64 slice_min_ns, slice_max_ns;
	u64 period_ns;        /* within it every waiting task should get a slice, while slices stay above the minimum */
	u64 heat_period_ns;   /* a swap per socket at most this often */
	s32 hot_mc;           /* a core above it is hot */
	u32 rules;            /* of enum lop_rules */
	u64 migration_ns;     /* what it costs a running task to go on elsewhere */
	u64 grace_ns;         /* a thread keeps its fast core so long after its sequential phase */
	u64 turn_ns;          /* equals share fast cores in turns of this length */
	enum lop_reserve reserve;
	u32 reserve_raises;   /* steps from the reserved core's speed, which is the adapter's to choose, to the highest */
	u64 reserve_window_ns; /* more than 90 % busy for so long, it is raised, and given up after the last step; 0: never */
};

/* Where each CPU lies. Filled by the adapter before lop_start(). */
struct lop_topology {
	struct lop_cpus cpus;              /* all of the machine, online or not */
	struct lop_cpus isolated;          /* of these, those that nobody uses but who is bound there: see isolated.h */
	u16 nr_nodes, nr_tiers, nr_memory_domains, nr_sockets;
	u16 tier[LOP_MAX_CPUS];            /* kind of core, 0 the fastest */
	u16 voltage_domain[LOP_MAX_CPUS];
	u16 memory_domain[LOP_MAX_CPUS];
	u16 node[LOP_MAX_CPUS];
	u16 socket[LOP_MAX_CPUS];
	u16 next_sibling[LOP_MAX_CPUS];    /* ring of the SMT siblings of a core; itself without SMT */
	struct lop_cpus tier_cpus[LOP_MAX_TIERS];
	struct lop_cpus voltage_cpus[LOP_MAX_CPUS];
	struct lop_cpus memory_cpus[LOP_MAX_MEMORY_DOMAINS];
	struct lop_cpus node_cpus[LOP_MAX_NODES];
	u16 tier_permille[LOP_MAX_TIERS];  /* speed of a kind of core over that of the fastest, x 1000; 0: not known, taken as 1000 */
};

/* What a thread says of itself (flags as in loads/hint.h), or its creator of it. All 0: nothing said. */
enum lop_says { LOP_SPINNING = 1, LOP_SEQUENTIAL = 2, LOP_LOCK_HOLDER = 4 };
struct lop_hint {
	u32 flags;
	u32 length;                        /* work of the thread in all, in units that only its application knows */
	u32 next_length;                   /* the same of the next thread that it creates */
};

/* What a task brings when fast cores are given: see lop_ranks_before(). */
enum lop_class { LOP_ONLY_SPINS, LOP_ORDINARY, LOP_AWAITED, LOP_CLASSES };
#define LOP_CLASS_ROOM 4 /* a power of two: verifiers before Linux 6.18 follow a mask, and no remainder */
struct lop_rank {
	u64 turn_ns;                       /* when it last had a fast core; 0: never */
	u8 class;                          /* of enum lop_class; small, as ranks lie on the stack, which is short in BPF */
	bool by_plan;                      /* it runs where a plan of list.h says, or is about to wait there */
	u16 user;                          /* lop_user_index() */
	u32 app;                           /* number of its application, 0: none. Lengths are compared inside one only */
	u32 length;                        /* work left, in units of its application */
	u32 speedup_permille;
};

/* What runs on a CPU, as a copy: the policy cannot reach a task by its CPU. */
struct lop_on_cpu {
	struct lop_rank rank;
	u64 since_ns;                      /* when it came here; 0: nothing of ours runs */
	u64 woke_ns;
	u64 grace_ends_ns;                 /* its sequential phase is over, and it keeps its core until then; 0: in no grace time */
	u64 done_ns;                       /* work done before it came here, in ns on the fastest kind of core */
	u32 length;                        /* all of its work, in units of its application; 0: not known */
	u64 unit_ns;                       /* the same for a unit of its length; 0: not known */
	bool movable;                      /* may run on every CPU */
	bool said;                         /* LOP_AWAITED because it says so, for as long as it does */
	u32 weight;                        /* lop_task.user_weight */
	u64 wanted_ns;                     /* somebody is kept from this fast core, and it is paid for up to here (budget.h); 0: nobody is */
};

/* A time for each CPU. */
struct lop_cpu_times { u64 ns[LOP_MAX_CPUS]; };

/* A set whose size follows demand. */
struct lop_members {
	struct lop_cpus cpus;
	u32 size;
	u64 demand;                        /* lop_active(), and for the high set above bit 32 lop_undeclared() */
	struct lop_cpus pinned;            /* CPUs that active tasks of limited affinity count on being members */
	u64 below_since_ns[LOP_MAX_CPUS + 1]; /* [k]: since when the k-th member is beyond the target, if it is */
};

/* A mean that follows, and of how many. */
struct lop_mean {
	u64 ns;
	u32 count;
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

struct lop_app {
	u64 demand;                        /* its active tasks for the high set; above bit 32 the declared parallelism, 0: none */
	bool shares_memory;                /* its tasks want the same node */
	s32 home_node;                     /* LOP_NONE: none yet */
	u32 number;                        /* names it where there is no pointer; 0: none yet */
	u32 boosted;                       /* 1 + CPU where its sequential phase runs; 0: in none, or not there */
	u64 running;                       /* sum of the CPUs that its active tasks run on; above bit 32 how many do */
	u64 alone_since_ns;                /* its sequential phase began; 0: in none */
	struct lop_mean phases;            /* lengths of its sequential phases */
	struct lop_mean holds;             /* times for which its threads held what others waited for */
	u64 unit_ns;                       /* work of a unit of length, ns on the fastest kind of core; 0: no thread has ended */
	u32 lengths[LOP_LENGTHS];          /* declared by its latest threads */
	u32 nr_lengths;                    /* declared so far */
	struct lop_rounds rounds;
};

/*
 * Tasks that share one weight (a cgroup, a session). Groups may lie in groups. One word holds what may change at any time, so
 * that an atomic operation on it says what both halves were.
 */
struct lop_group {
	u64 load;                          /* sum of the weights of its active tasks and groups; above bit 32 its own weight, 1024 the default (weight.h) */
	u64 mean_1024, mean_at_ns;         /* that sum x 1024 as a mean over time, when it last changed (group.h); 0: nothing was active yet */
	s32 parent;                        /* its number, see lop_env_group(); LOP_NONE: directly beside the tasks of no group */
};

struct lop_sched {
	struct lop_config config;
	struct lop_topology topology;
	struct lop_cpus online, idle, hot;
	struct lop_cpus open;              /* online, and not isolated: CPUs for any task */
	struct lop_cpus taken;             /* run something that goes before all our tasks (real-time classes) */
	struct lop_cpus off;               /* CPUs of memory domains that are off */
	struct lop_members set[LOP_SETS_ROOM]; /* only high and green, low is what is in no other set; of low, what is active for the reserved CPU */
	struct lop_cpus warm;              /* CPUs of voltage domains that have a high member */
	struct lop_cpus beside_high;       /* CPUs whose SMT sibling is high */
	struct lop_cpus beside_busy;       /* CPUs whose SMT sibling is busy */
	u32 voltage_high[LOP_MAX_CPUS];    /* high members by voltage domain */
	u32 node_high[LOP_MAX_NODES];      /* high members by node */
	u32 nr_open;
	bool isolates;                     /* there are isolated CPUs */
	u32 anchored[LOP_MAX_CPUS];        /* active tasks of limited affinity that count on this CPU: why it is pinned */
	struct lop_cpu_times joined_ns, left_ns, idle_since_ns;
	u64 swapped_ns[LOP_MAX_NODES];     /* last heat swap by socket */
	u32 declared_sum;                  /* parallelism that applications with an active task for the high set declared */
	u32 resizing;                      /* the one lock: membership changes under it */
	u32 asked;                         /* how often it was found taken: its holder looks again */
	u64 clock_ns;                      /* virtual time: start tag of the task last put to run */
	u64 front_ns[LOP_QUEUES];          /* about the virtual time of the queue's first task */
	struct lop_cpu_times shared_ns;    /* start tag of the last task that the CPU ran of its shared queue */
	u64 waits_since_ns[LOP_QUEUES];    /* since when the queue has had tasks without a break, if it has any */
	struct lop_cpu_times overdue_look_ns; /* when the CPU looks next whether somebody waits too long */
	u32 overdue_turn[LOP_MAX_CPUS];    /* rotates over the queues of all domains, for that */
	u32 overdue_list_turn[LOP_MAX_CPUS]; /* the same over the queues of single CPUs */
	struct lop_cpus looked_through[2]; /* bitmaps over the queues of CPUs, and over the others, in which a CPU looks for who waits too long */
	struct lop_cpus had_turn;          /* CPUs whose last turn was by time */
	u32 queued[LOP_QUEUES];            /* tasks put in the queue that neither run yet nor left it */
	u32 asks[LOP_MAX_CPUS];            /* how often the CPU asked for work, up to LOP_QUEUE_TURNS */
	u32 turn[LOP_MAX_CPUS];            /* rotates over the queues of all domains; by CPU, or CPUs in step would see one each */
	struct lop_cpus cpu_waiting;       /* CPUs whose own queue has tasks */
	struct lop_cpus domain_waiting;    /* bitmap over the queues from LOP_MAX_CPUS on that have tasks */
	u64 timer_at_ns;                   /* 0: not armed */
	struct lop_cpus looked;            /* CPUs that have looked twice for work on its way since they fell idle */
	u32 look;                          /* not 0: the timer is to make them look again */
	bool reserving;                    /* `reserved_cpu` is reserved; else it says nothing, and the two sets are empty */
	u32 reserved_cpu;
	struct lop_cpus reserved;          /* that CPU */
	struct lop_cpus beside_reserved;   /* its SMT siblings */
	u32 reserve_raised;                /* steps by which its speed was raised */
	bool reserve_works;                /* it is not idle. This and the next are its own and the timer's; who is late costs a window */
	u64 reserve_since_ns;              /* begin of the window in which it is watched */
	u64 reserve_rested_ns;             /* idle since then, until it last fell idle */
	u64 reserve_rests_since_ns;        /* when that was */
	bool reserve_failed;               /* it was saturated at its highest speed */
	u32 bound_most;                    /* reserved for a barrier-bound load: it ends when more tasks than this are active */
	u64 bound_ends_ns;                 /* and at this time, if no round ends before */
	u64 bound_again_ns;                /* and there is none before this */
	u64 promotions, demotions, swaps;
	struct lop_on_cpu on[LOP_MAX_CPUS];
	struct lop_cpus of_class[LOP_CLASS_ROOM]; /* CPUs by the class of what runs there or ran there last */
	u32 goes_to[LOP_MAX_CPUS];         /* 1 + the CPU that the task running here is to go on at; 0: it stays */
	struct lop_cpus awaited;           /* CPUs that a task is on its way to, from another CPU: one to each */
	struct lop_cpus given;             /* CPUs in whose own queue a task waits that goes before what runs there */
	u32 nr_given[LOP_MAX_CPUS];        /* how many such tasks */
	u64 rank_at_ns;                    /* the timer is to look then who should have the fast cores; 0: no need */
	u32 nr_apps;                       /* applications numbered so far */
	u32 room;                          /* members beyond the target: see room.h */
	u32 room_moves;                    /* wakeups that changed their core since `room_since_ns` */
	u64 room_since_ns, room_ends_ns;
	bool planned;                      /* some task has a memory domain by a plan */
	u64 moves;                         /* running tasks that were sent to another CPU */
	u64 had_ns[LOP_USERS];             /* what each user has had of the fast cores, by weight (budget.h) */
	u64 had_least_ns;                  /* nobody counts as having had less */
};

struct lop_task {
	u64 vtime_ns;
	u64 queued_at_ns;                  /* since when it waits in `queue` */
	u32 weight;                        /* from nice, 1024 the default (weight.h) */
	u32 nr_allowed;
	u32 speedup_permille;              /* SF x 1000 between the lowest and the highest OPP; 0: unknown */
	s32 anchor;                        /* CPU it keeps in its set; LOP_NONE */
	s32 last_queue;                    /* where it waited last since it woke; LOP_NONE: nowhere yet */
	s32 queue;                         /* it waits there, or is on its way from there to a CPU; LOP_NONE */
	s32 memory_domain;                 /* that it is to run in, by a plan of spread.h or gather.h; LOP_NONE: any */
	s32 goes_to;                       /* CPU that it changes to when it is queued the next time; LOP_NONE */
	u8 set;                            /* LOP_HIGH, LOP_GREEN, or LOP_LOW for the reserved CPU; chosen when it becomes active */
	bool counted;                      /* in `active` */
	bool restricted;                   /* may not run on every CPU of the machine, online or not, that is not isolated */
	bool brief;                        /* the system's own work, short as a rule: see lop_visit() */
	bool system;                       /* the system's own work, short or long: for the reserved CPU, where there is one */
	bool bound;                        /* may run on isolated CPUs only, of those that are online */
	struct lop_cpus allowed;           /* its affinity; isolated CPUs, and then no others, only if none of these was online */
	struct lop_hint hint;
	u32 runs_on;                       /* 1 + the CPU that it runs on; 0: none */
	bool seen;                         /* in lop_app.running */
	bool goes_first;                   /* it waits in the queue of one CPU alone by a rule, and before what runs there */
	u32 given;                         /* 1 + the CPU in whose queue it is put next; 0: placed as any other */
	u32 listed;                        /* 1 + the CPU in whose queue it waits by a plan of list.h; 0: in none */
	u64 woke_ns;
	u64 done_ns;                       /* work done so far, ns on the fastest kind of core */
	u64 turn_ns;                       /* when it last left a fast core */
	u64 holds_since_ns;                /* when it last said that it holds what others wait for, or got a CPU since; 0: it waits for one */
	u32 user;                          /* who pays for it: lop_belong() */
	u32 user_weight;
};

/* Runnable tasks that do not spin and belong to the set. */
lop_rule u32 lop_active(const struct lop_sched *s, enum lop_set set) { return (u32)s->set[lop_set_index(set)].demand; }
/* Applications with an active task for the high set that declared no parallelism; a task of no application is one. */
lop_rule u32 lop_undeclared(const struct lop_sched *s) { return (u32)(s->set[LOP_HIGH].demand >> 32); }
#define LOP_ONE_UNDECLARED (1ULL << 32)

lop_rule enum lop_set lop_set_of(const struct lop_sched *s, u32 cpu)
{
	if (lop_cpus_has(&s->set[LOP_HIGH].cpus, cpu))
		return LOP_HIGH;
	return lop_cpus_has(&s->set[LOP_GREEN].cpus, cpu) ? LOP_GREEN : LOP_LOW;
}
