/* SPDX-License-Identifier: GPL-2.0-only */
#include "lopsided.h"
#include <stdio.h>
#include <unistd.h>
/* Says its number at first and for each line that it reads, each time while a hint holds. Ends with its standard input. */

int main(void)
{
	do {
		lop_sequential_begin();
		printf("%d\n", (int)getpid());
		fflush(stdout);
		lop_sequential_end();
	} while (getchar() != EOF);
}
