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
static u32 rules_of(enum lop_policy policy)
{
	struct lop_config c;
	lop_choose(&c, policy);
	return c.rules;
}
u32 lop_loader_phase(void) { return rules_of(LOP_PHASE); }
u32 lop_loader_longest_first(void) { return rules_of(LOP_LONGEST_FIRST); }
u32 lop_loader_fair_share(void) { return rules_of(LOP_FAIR_SHARE); }
u32 lop_loader_target(const struct lop_sched *s, u32 set) { return lop_target(s, set); }
