/* SPDX-License-Identifier: GPL-2.0-only */
/* The policy's rules that the loader asks natively. They read the BPF program's own memory: same headers, same layout. */
#include <stdbool.h>
#include <stddef.h>
#include "bpf/intf.h"
#include "config.h"
#include "demand.h"

size_t lop_loader_sched_size(void) { return sizeof(struct lop_sched); }
size_t lop_loader_config_size(void) { return sizeof(struct lop_config); }
u64 lop_loader_default_hold_ns(u64 transition_ns) { return lop_default_hold_ns(transition_ns); }
void lop_loader_set_times(struct lop_config *c, u64 hold_ns) { lop_set_times(c, hold_ns); }
/* Rules by which a policy gives the fast cores. */
u32 lop_loader_phase(void) { return LOP_PHASES | LOP_TURNS; }
u32 lop_loader_longest_first(void) { return LOP_LONGEST; }
u32 lop_loader_fair_share(void) { return LOP_TURNS; }
u32 lop_loader_target(const struct lop_sched *s, u32 set) { return lop_target(s, set); }
