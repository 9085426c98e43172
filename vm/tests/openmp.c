/* SPDX-License-Identifier: GPL-2.0-only */
#include <stdbool.h>
#include <unistd.h>
/*
 * openmp FILE: a program of four threads under OpenMP that knows nothing of hints. Its first thread computes alone until the
 * file exists, then all do until it is gone, then that one alone again.
 */

static void until(const char *file, bool exists)
{
	while ((access(file, F_OK) == 0) != exists)
		for (volatile int turns = 0; turns < 100000; turns++)
			;
}

static void part(const char *file, bool exists)
{
#pragma omp parallel num_threads(4)
	until(file, exists);
}

int main(int argc, char **argv)
{
	if (argc != 2)
		return 2;
	part(argv[1], false);
	until(argv[1], true);
	part(argv[1], false);
	until(argv[1], true);
	return 0;
}
