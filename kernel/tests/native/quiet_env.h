/* SPDX-License-Identifier: GPL-2.0-only */
#pragma once
/* Of the answers to policy/env.h those that no test of the policy alone looks at. */

bool lop_env_take_overdue(struct lop_world *world, u32 queue, u32 cpu, u64 before_ns) { return false; }
void lop_env_preempt(struct lop_world *world, u32 cpu) {}
void lop_env_set_changed(struct lop_world *world, u32 cpu, enum lop_set set) {}
void lop_env_reserved_speed(struct lop_world *world, u32 cpu, u32 raised) {}
s32 lop_env_temperature_mc(struct lop_world *world, u32 cpu) { return 0; }
