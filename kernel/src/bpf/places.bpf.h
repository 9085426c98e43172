/* SPDX-License-Identifier: GPL-2.0-only */
#pragma once
/*
 * Places of groups and of applications: arrays that the loader makes longer than they are here, as long as the machine is large, before the program is
 * loaded. To take a place, or to find that there is none, costs the same however many are in use: the free ones lie on a stack.
 */
#ifndef LOP_PLACES
#define LOP_PLACES 1
#endif
/* The last of them; one less than a power of two, so that it masks numbers. */
const volatile u32 last_group, last_app;

/* The compiler knows a shorter array. */
#define place_in(array, number, last)                                            \
	({                                                                       \
		u64 lop_offset = (u64)((u32)(number) & (last)) * sizeof((array)[0]); \
		lop_opaque(lop_offset);                                          \
		(__typeof__(&(array)[0]))((char *)(array) + lop_offset);         \
	})

/* At the start, the first of them on top. */
#define free_all_places(stack, last)                          \
	({                                                    \
		u32 lop_n;                                    \
		bpf_for(lop_n, 0, (last) + 1) {               \
			u32 lop_place = (last) - lop_n;       \
			bpf_map_push_elem(stack, &lop_place, 0); \
		}                                             \
	})
