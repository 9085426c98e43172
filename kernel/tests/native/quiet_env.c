/* SPDX-License-Identifier: GPL-2.0-only */
/* The functions of policy/core/env.h, doing nothing. They are weak: a test overrides those that it needs. Each test defines lop_env_now_ns(). */
#include "types.h"
#include "cpuset.h"
#define QUIET __attribute__((weak))

QUIET void lop_env_insert_local(struct lop_world *world, struct lop_task *t, u32 cpu, u64 slice_ns) {}
QUIET void lop_env_insert(struct lop_world *world, struct lop_task *t, u32 queue, u64 slice_ns, u64 vtime_ns) {}
QUIET bool lop_env_take(struct lop_world *world, u32 queue, u32 cpu, u64 until_ns) { return false; }
QUIET bool lop_env_take_overdue(struct lop_world *world, u32 queue, u32 cpu, u64 before_ns) { return false; }
QUIET u32 lop_env_queued(struct lop_world *world, u32 queue) { return 0; }
QUIET u64 lop_env_first_ns(struct lop_world *world, u32 queue) { return LOP_NO_TIME; }
QUIET void lop_env_kick(struct lop_world *world, u32 cpu) {}
QUIET void lop_env_preempt(struct lop_world *world, u32 cpu) {}
QUIET void lop_env_set_changed(struct lop_world *world, u32 cpu, enum lop_set set) {}
QUIET void lop_env_reserved_speed(struct lop_world *world, u32 cpu, u32 raised) {}
QUIET void lop_env_arm_timer(struct lop_world *world, u64 at_ns) {}
QUIET struct lop_group *lop_env_group(const struct lop_sched *s, s32 number) { return 0; }
QUIET s32 lop_env_temperature_mc(struct lop_world *world, u32 cpu) { return 0; }
