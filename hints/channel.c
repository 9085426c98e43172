/* SPDX-License-Identifier: MIT OR Apache-2.0 */
#include "channel.h"
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>
/*
 * The memory comes from a Unix socket: in the folder that LOP_HINT_DIR names, as under `lop run` by affinity, else in that
 * of `lop start`. Whoever listens there knows by the kernel which process connects, and answers with a descriptor of a
 * page for it alone.
 *
 * The page is a file, or a map of the scheduler in the kernel. From then on the process holds a lock on a file. A lock of
 * this kind belongs to the process, not to the descriptor: the kernel tells whose it is, forked children do not have it,
 * and it goes when the process ends or executes another program, since that closes the descriptor. So a reader knows
 * whether there is still somebody who gives these hints. The scheduler in the kernel knows by itself; and a lock on its
 * map would be one on all its maps, since they share an inode.
 */

#define FOLDER "/run/lopsided/hints"
/* How long the first call waits to be connected, and then for an answer, where somebody listens but does nothing. */
#define PATIENCE_S 1

/* A descriptor above those of standard input and output: a program may have closed these, and expect the next file there. */
static int above_standard(int file)
{
	int above = fcntl(file, F_DUPFD_CLOEXEC, STDERR_FILENO + 1);

	close(file);
	return above;
}

static int connect_to(const char *folder)
{
	const struct timeval patience = { .tv_sec = PATIENCE_S };
	struct sockaddr_un address = { .sun_family = AF_UNIX };
	int connection;

	if (snprintf(address.sun_path, sizeof(address.sun_path), "%s/socket", folder) >= (int)sizeof(address.sun_path))
		return -1;
	connection = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
	if (connection < 0)
		return -1;
	setsockopt(connection, SOL_SOCKET, SO_RCVTIMEO, &patience, sizeof(patience));
	setsockopt(connection, SOL_SOCKET, SO_SNDTIMEO, &patience, sizeof(patience));
	if (connect(connection, (struct sockaddr *)&address, sizeof(address)) == 0)
		return connection;
	close(connection);
	return -1;
}

/* The descriptor that is passed along with one byte; -1: none is. */
static int receive(int connection)
{
	union {
		struct cmsghdr header;
		char room[CMSG_SPACE(sizeof(int))];
	} passed = { 0 };
	char byte;
	struct iovec data = { .iov_base = &byte, .iov_len = 1 };
	struct msghdr message = { .msg_iov = &data, .msg_iovlen = 1, .msg_control = &passed, .msg_controllen = sizeof(passed) };
	struct cmsghdr *header;
	int page;

	if (recvmsg(connection, &message, MSG_CMSG_CLOEXEC) != 1)
		return -1;
	header = CMSG_FIRSTHDR(&message);
	if (!header || header->cmsg_level != SOL_SOCKET || header->cmsg_type != SCM_RIGHTS ||
	    header->cmsg_len != CMSG_LEN(sizeof(page)))
		return -1;
	memcpy(&page, CMSG_DATA(header), sizeof(page));
	return page;
}

static int lock_file(int page)
{
	const struct flock whole = { .l_type = F_WRLCK, .l_whence = SEEK_SET };
	struct stat stat;

	if (fstat(page, &stat) != 0)
		return -1;
	return S_ISREG(stat.st_mode) ? fcntl(page, F_SETLK, &whole) : 0;
}

int lop_channel(void)
{
	const char *folder = secure_getenv("LOP_HINT_DIR");
	int connection, page;

	connection = connect_to(folder ? folder : FOLDER);
	if (connection < 0)
		return -1;
	page = receive(connection);
	close(connection);
	if (page >= 0)
		page = above_standard(page);
	if (page < 0 || lock_file(page) == 0)
		return page;
	close(page);
	return -1;
}
