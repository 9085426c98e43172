/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
#pragma once
#include "env.h"
/* Sets of CPUs: bitmaps of fixed size. A pass over all words costs the same on 4 CPUs and on 512. */
struct lop_cpus { u64 word[LOP_CPU_WORDS]; };

#ifndef LOP_WORLD_MEMBERS
#define LOP_WORLD_MEMBERS
#endif

/*
 * Scratch memory of one call, since sets are too large for the BPF stack. A member belongs to one rule at a time:
 * callers and callees use different ones.
 */
struct lop_world {
	struct lop_cpus candidates, usable, others; /* each rule says what it keeps there */
	LOP_WORLD_MEMBERS           /* what the adapter keeps for the length of a call */
};

/*
 * Number of set bits: sums of 2, 4, 8 and 64 bits. In place of the compiler's builtin, which is a library call on baseline x86-64.
 * No branches: each would double the verifier's paths.
 */
lop_rule u32 lop_nr_bits(u64 x)
{
	x = x - ((x >> 1) & 0x5555555555555555ULL);
	x = (x & 0x3333333333333333ULL) + ((x >> 2) & 0x3333333333333333ULL);
	x = (x + (x >> 4)) & 0x0f0f0f0f0f0f0f0fULL;
	return (u32)((x * 0x0101010101010101ULL) >> 56);
}

/* Index of the lowest set bit, w != 0: the number of bits below it. */
lop_rule u32 lop_lowest_bit(u64 w)
{
#ifdef __BPF__
	return lop_nr_bits((w & -w) - 1);
#else
	return (u32)__builtin_ctzll(w);
#endif
}

lop_rule u64 *lop_cpus_word(struct lop_cpus *s, u32 cpu) { return &s->word[(cpu / 64) & (LOP_CPU_WORDS - 1)]; }

lop_rule bool lop_cpus_has(const struct lop_cpus *s, u32 cpu)
{
	return s->word[(cpu / 64) & (LOP_CPU_WORDS - 1)] >> (cpu % 64) & 1;
}

lop_rule void lop_cpus_add(struct lop_cpus *s, u32 cpu) { lop_atomic_or(lop_cpus_word(s, cpu), 1ULL << (cpu % 64)); }

/* Adds `cpu`; true if it was not in the set. If several CPUs add it at once, one gets true. */
lop_rule bool lop_cpus_try_add(struct lop_cpus *s, u32 cpu)
{
	u64 bit = 1ULL << (cpu % 64);
	return !(lop_atomic_or(lop_cpus_word(s, cpu), bit) & bit);
}

/* Removes `cpu`; true if it was in the set. This atomic claims an idle CPU: of several wakers one wins. */
lop_rule bool lop_cpus_take(struct lop_cpus *s, u32 cpu)
{
	u64 bit = 1ULL << (cpu % 64);
	return (lop_atomic_and(lop_cpus_word(s, cpu), ~bit) & bit) != 0;
}

/* The same for a CPU that is rarely in the set: CPUs that only read share the cache line. */
lop_rule bool lop_cpus_take_if(struct lop_cpus *s, u32 cpu) { return lop_cpus_has(s, cpu) && lop_cpus_take(s, cpu); }

lop_rule bool lop_cpus_empty(const struct lop_cpus *s)
{
	u64 any = 0;
	int i;
	lop_for_words(i) any |= s->word[i & (LOP_CPU_WORDS - 1)];
	return any == 0;
}

/* a and b have a CPU in common. */
lop_rule bool lop_cpus_meet(const struct lop_cpus *a, const struct lop_cpus *b)
{
	u64 any = 0;
	int i;
	lop_for_words(i) any |= a->word[i & (LOP_CPU_WORDS - 1)] & b->word[i & (LOP_CPU_WORDS - 1)];
	return any != 0;
}

/* Number of CPUs that a and b have in common. */
lop_rule u32 lop_cpus_common(const struct lop_cpus *a, const struct lop_cpus *b)
{
	u32 common = 0;
	int i;
	lop_for_words(i) common += lop_nr_bits(a->word[i & (LOP_CPU_WORDS - 1)] & b->word[i & (LOP_CPU_WORDS - 1)]);
	return common;
}

/* out = a and b */
lop_rule void lop_cpus_and(struct lop_cpus *out, const struct lop_cpus *a, const struct lop_cpus *b)
{
	int i;
	lop_for_words(i)
		out->word[i & (LOP_CPU_WORDS - 1)] = a->word[i & (LOP_CPU_WORDS - 1)] & b->word[i & (LOP_CPU_WORDS - 1)];
}

/* a = a without b */
lop_rule void lop_cpus_drop(struct lop_cpus *a, const struct lop_cpus *b)
{
	int i;
	lop_for_words(i) a->word[i & (LOP_CPU_WORDS - 1)] &= ~b->word[i & (LOP_CPU_WORDS - 1)];
}

/* All ones if `any` is not zero. No branch: it would double the verifier's paths. */
lop_rule u64 lop_all_if(u64 any) { return 0 - ((any | (0 - any)) >> 63); }

/* The first CPU that is in `a` and `b` and not in `without`; LOP_NONE if there is none. The first word that has one is chosen without branches. */
lop_rule s32 lop_cpus_first(const struct lop_cpus *a, const struct lop_cpus *b, const struct lop_cpus *without)
{
	u64 found = 0, at = 0;
	int i;
	lop_for_words(i) {
		u32 n = i & (LOP_CPU_WORDS - 1);
		u64 w = a->word[n] & b->word[n] & ~without->word[n], missing = ~lop_all_if(found);
		found |= w & missing;
		at += 64 & ~lop_all_if(found);
	}
	return found ? (s32)(at + lop_lowest_bit(found)) : LOP_NONE;
}

/* A preference: keeps of `a` what is also in `b`, if that leaves any CPU. */
lop_rule void lop_cpus_prefer(struct lop_cpus *a, const struct lop_cpus *b)
{
	u64 left = 0;
	int i;
	lop_for_words(i) left |= a->word[i & (LOP_CPU_WORDS - 1)] & b->word[i & (LOP_CPU_WORDS - 1)];
	left = lop_all_if(left);
	lop_for_words(i) a->word[i & (LOP_CPU_WORDS - 1)] &= b->word[i & (LOP_CPU_WORDS - 1)] | ~left;
}

/* A dislike: drops from `a` what is in `b`, if that leaves any CPU. */
lop_rule void lop_cpus_avoid(struct lop_cpus *a, const struct lop_cpus *b)
{
	u64 left = 0;
	int i;
	lop_for_words(i) left |= a->word[i & (LOP_CPU_WORDS - 1)] & ~b->word[i & (LOP_CPU_WORDS - 1)];
	left = lop_all_if(left);
	lop_for_words(i) a->word[i & (LOP_CPU_WORDS - 1)] &= ~(b->word[i & (LOP_CPU_WORDS - 1)] & left);
}

/*
 * The first CPU of the set at or above `from`; LOP_NONE if there is none. To visit all, starting at -1:
 *     lop_for(n, 0, LOP_MAX_CPUS) { cpu = lop_cpus_next(set, cpu + 1); if (cpu < 0) break; ... }
 */
lop_rule s32 lop_cpus_seek(const struct lop_cpus *s, u32 from)
{
	u64 above = ~0ULL << (from % 64);
	s32 next = LOP_NONE;
	int i;
	lop_for_words(i) { /* from 0: a compiler that knows the start drops the mask that the verifier needs */
		if ((u32)i < from / 64)
			continue;
		u64 w = s->word[i & (LOP_CPU_WORDS - 1)] & above;
		above = ~0ULL;
		if (!w)
			continue;
		next = (s32)(i * 64 + lop_lowest_bit(w));
		break;
	}
	return next;
}

/* The same, verified once in place of at each call. */
lop_subprog s32 lop_cpus_next(const struct lop_cpus *s lop_nonnull, u32 from) { return lop_cpus_seek(s, from); }
