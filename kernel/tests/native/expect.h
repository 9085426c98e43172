/* SPDX-License-Identifier: GPL-2.0-only */
#pragma once
#include <stdio.h>
#include <stdlib.h>

#define expect(what, holds)                                             \
	do {                                                            \
		if (!(holds)) {                                         \
			printf("%s:%d: does not hold: %s\n", __FILE__, __LINE__, what); \
			exit(1);                                        \
		}                                                       \
	} while (0)
