/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* The types that policy/ takes from whoever includes it: in the kernel they come from vmlinux.h. */
#pragma once
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
typedef uint8_t u8;
typedef uint16_t u16;
typedef uint32_t u32;
typedef int32_t s32;
typedef int64_t s64;
typedef uint64_t u64;
