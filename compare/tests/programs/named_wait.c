/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* Three children; waits for the second by name (wait4), for the third by name (waitid), then for any. */
#include <stdlib.h>
#include <sys/wait.h>
#include <unistd.h>

int main(void)
{
	pid_t child[3];
	siginfo_t info;

	for (int i = 0; i < 3; i++) {
		child[i] = fork();
		if (child[i] < 0)
			return 1;
		if (child[i] == 0) {
			usleep(20000 * (i + 1));
			_exit(0);
		}
	}
	if (waitpid(child[1], NULL, 0) != child[1])
		return 2;
	if (waitid(P_PID, child[2], &info, WEXITED) != 0 || info.si_pid != child[2])
		return 3;
	return wait(NULL) == child[0] ? 7 : 4;
}
