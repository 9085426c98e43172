/* SPDX-License-Identifier: MIT OR Apache-2.0 */
#include <dlfcn.h>
#include <stdio.h>
/* opened LIBRARY ...: a program without OpenMP that has main() of a library run, which it opens for itself alone, with the other words. */

int main(int argc, char **argv)
{
	void *library = argc > 1 ? dlopen(argv[1], RTLD_NOW | RTLD_LOCAL) : NULL;
	int (*run)(int, char **) = library ? (int (*)(int, char **))dlsym(library, "main") : NULL;

	if (run)
		return run(argc - 1, argv + 1);
	fprintf(stderr, "opened: %s\n", argc > 1 ? dlerror() : "no library");
	return 2;
}
