/* SPDX-License-Identifier: GPL-2.0-only */
#pragma once
/*
 * Places for groups and applications: arrays that the loader lengthens according to the size of the machine before it
 * loads the program. Free places lie on a stack map, so taking one, or finding that none is free, costs the same
 * however many are in use.
 */
#ifndef LOP_PLACES
#define LOP_PLACES 1
#endif
/* Index of the last place: a power of two less one, so that it also masks indices. */
const volatile u32 last_group, last_app;

/*
 * Computes the address without array indexing: the compiler knows a shorter array. lop_opaque() keeps it from using
 * that.
 */
#define place_in(array, number, last)                                            \
	({                                                                       \
		u64 lop_offset = (u64)((u32)(number) & (last)) * sizeof((array)[0]); \
		lop_opaque(lop_offset);                                          \
		(__typeof__(&(array)[0]))((char *)(array) + lop_offset);         \
	})

/* Pushes all places at the start, so that the first one ends on top. */
#define free_all_places(stack, last)                          \
	({                                                    \
		u32 lop_n;                                    \
		bpf_for(lop_n, 0, (last) + 1) {               \
			u32 lop_place = (last) - lop_n;       \
			bpf_map_push_elem(stack, &lop_place, 0); \
		}                                             \
	})
