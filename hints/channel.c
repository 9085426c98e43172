/* SPDX-License-Identifier: MIT OR Apache-2.0 */
#include "channel.h"
#include "record.h"
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>
/*
 * The file PID.hints in the folder that LOP_HINT_DIR names, as under `lop run` by affinity. The file is there before its
 * lock: a reader that finds it unlocked ignores it, so it never sees half a header, nor what a process left behind. A
 * lock of this kind belongs to the process, not to the descriptor: the kernel tells whose it is, forked children do not
 * have it, and it goes when the process ends or executes another program, since that closes the descriptor.
 */

/* Sparse: pages of records that no thread takes use no memory. */
#define NR_RECORDS 4095

static int fail(int file)
{
	close(file);
	return -1;
}

/* A descriptor above those of standard input and output: a program may have closed these, and expect the next file there. */
static int above_standard(int file)
{
	int above = fcntl(file, F_DUPFD_CLOEXEC, STDERR_FILENO + 1);

	close(file);
	return above;
}

int lop_channel(void)
{
	const struct lop_hint_page page = {
		.magic = LOP_HINT_MAGIC,
		.version = LOP_HINT_VERSION,
		.record_bytes = sizeof(struct lop_hint_record),
		.nr_records = NR_RECORDS,
	};
	struct flock whole = { .l_type = F_WRLCK, .l_whence = SEEK_SET };
	const char *folder = secure_getenv("LOP_HINT_DIR");
	char path[PATH_MAX];
	int file;

	if (!folder || snprintf(path, sizeof(path), "%s/%d.hints", folder, (int)getpid()) >= (int)sizeof(path))
		return -1;
	file = open(path, O_RDWR | O_CREAT | O_TRUNC | O_CLOEXEC | O_NOFOLLOW, 0600);
	if (file >= 0)
		file = above_standard(file);
	if (file < 0)
		return -1;
	if (ftruncate(file, sizeof(page) + NR_RECORDS * sizeof(struct lop_hint_record)) != 0 ||
	    pwrite(file, &page, sizeof(page), 0) != sizeof(page) || fcntl(file, F_SETLK, &whole) != 0)
		return fail(file);
	return file;
}
