/* SPDX-License-Identifier: GPL-2.0-only */
/* The types that policy/ expects from its includer; in the kernel they come from vmlinux.h. */
#pragma once
typedef unsigned char u8;
typedef unsigned short u16;
typedef unsigned int u32;
typedef unsigned long long u64;
typedef signed char s8;
typedef short s16;
typedef int s32;
typedef long long s64;
typedef _Bool bool;
#define true 1
#define false 0
