/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* The policy as Rust calls it: each state from one thread, one call at a time. */
#pragma once
#include "types.h"

/* Calls never overlap: plain accesses do. Each returns the old value. */
#define LOP_ATOMICS_DEFINED
#define lop_atomic_or(p, v) ({ __typeof__(*(p)) old_ = *(p); *(p) |= (v); old_; })
#define lop_atomic_and(p, v) ({ __typeof__(*(p)) old_ = *(p); *(p) &= (v); old_; })
#define lop_atomic_add(p, v) ({ __typeof__(*(p)) old_ = *(p); *(p) += (v); old_; })
#define lop_atomic_cas(p, old, new) ({ __typeof__(*(p)) was_ = *(p); if (was_ == (old)) *(p) = (new); was_; })

/* Calls never overlap, so what is asserted holds. */
void lop_broken(const char *what, const char *file, u32 line);
#define lop_assert(holds) ((holds) ? (void)0 : lop_broken(#holds, __FILE__, __LINE__))

#include "arrive.h"
#include "auto.h"
#include "lopsided.h"
#include "plan.h"
#include "record.h"
