/* SPDX-License-Identifier: GPL-2.0-only */
#include "load.h"
#include "internal.h"
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

const struct load *load_self;
bool load_spoilt;
static uint64_t begun_ns;

uint64_t load_started_ns(void)
{
	return begun_ns;
}

_Noreturn void load_refuse(const char *option, const char *value, const char *way_out)
{
	fprintf(stderr, "%s: --%s %s: %s; see %s --help\n", load_self->name, option, value, way_out, load_self->name);
	exit(2);
}

_Noreturn void load_fail(const char *what, int error, const char *way_out)
{
	fprintf(stderr, "%s: cannot %s: %s; %s\n", load_self->name, what, strerror(error), way_out);
	exit(1);
}

static const struct load_option *option_named(const char *name, size_t length)
{
	for (size_t i = 0; i < load_self->nr_options; i++) {
		const struct load_option *option = &load_self->options[i];

		if (strlen(option->name) == length && !memcmp(option->name, name, length))
			return option;
	}
	return NULL;
}

/* The accepted values, to follow "give ..."; for text the load itself gives them. */
static void describe(const struct load_option *option, char *out, size_t size)
{
	size_t used = 0;

	switch (option->kind) {
	case LOAD_COUNT:
		snprintf(out, size, "a whole number from %.15g to %.15g", option->least, option->most);
		break;
	case LOAD_REAL:
		snprintf(out, size, "a number from %g to %g", option->least, option->most);
		break;
	case LOAD_CHOICE:
		for (size_t i = 0; option->choices[i] && used < size; i++) {
			const char *between = i == 0 ? "" : option->choices[i + 1] ? ", " : " or ";

			used += (size_t)snprintf(out + used, size - used, "%s%s", between, option->choices[i]);
		}
		break;
	case LOAD_TEXT:
		snprintf(out, size, "a value");
		break;
	}
}

static _Noreturn void refuse_value(const struct load_option *option, const char *value)
{
	char allowed[200], way_out[220];

	describe(option, allowed, sizeof(allowed));
	snprintf(way_out, sizeof(way_out), "give %s", allowed);
	load_refuse(option->name, *value ? value : "(nothing)", way_out);
}

/* Decimal digits, point and exponent only: 1000000 and 1e6 alike. */
static double number(const struct load_option *option, const char *value)
{
	char *end;
	double found = strtod(value, &end);

	if (!*value || *end || strspn(value, "0123456789.eE+-") != strlen(value))
		refuse_value(option, value);
	if (!(found >= option->least && found <= option->most) || (option->kind == LOAD_COUNT && found != floor(found)))
		refuse_value(option, value);
	return found;
}

static void set_choice(const struct load_option *option, const char *value)
{
	for (unsigned i = 0; option->choices[i]; i++)
		if (!strcmp(option->choices[i], value)) {
			*option->value.choice = i;
			return;
		}
	refuse_value(option, value);
}

static void set(const struct load_option *option, const char *value)
{
	switch (option->kind) {
	case LOAD_COUNT:
		*option->value.count = (uint64_t)number(option, value);
		break;
	case LOAD_REAL:
		*option->value.real = number(option, value);
		break;
	case LOAD_CHOICE:
		set_choice(option, value);
		break;
	case LOAD_TEXT:
		*option->value.text = value;
		break;
	}
}

static void print_default(const struct load_option *option)
{
	switch (option->kind) {
	case LOAD_COUNT:
		printf("%llu", (unsigned long long)*option->value.count);
		break;
	case LOAD_REAL:
		printf("%g", *option->value.real);
		break;
	case LOAD_CHOICE:
		printf("%s", option->choices[*option->value.choice]);
		break;
	case LOAD_TEXT:
		printf("%s", *option->value.text);
		break;
	}
}

static _Noreturn void help(void)
{
	char allowed[200];

	printf("%s: %s\n\nUsage: %s [--OPTION VALUE]...\n\n", load_self->name, load_self->purpose, load_self->name);
	for (size_t i = 0; i < load_self->nr_options; i++) {
		const struct load_option *option = &load_self->options[i];

		describe(option, allowed, sizeof(allowed));
		printf("  --%s VALUE\n      %s%s%s [", option->name, option->help, option->kind == LOAD_TEXT ? "" : ": ",
			option->kind == LOAD_TEXT ? "" : allowed);
		print_default(option);
		printf("]\n");
	}
	printf("  --spoil\n      Spoils the result before it is checked, to see the check fail\n");
	printf("  --help\n      This text\n\n");
	printf("An instruction is one of the documented loop: %d make a turn of about as many cycles.\n", LOAD_INSTRUCTIONS_PER_TURN);
	printf("One JSON object goes to standard output. Exit code: 0, 1 if the result is wrong, 2 for a wrong option.\n\n");
	printf("Example: %s\n", load_self->example);
	exit(fflush(stdout) ? 1 : 0);
}

static _Noreturn void refuse_argument(const char *argument, const char *reason)
{
	fprintf(stderr, "%s: %s: %s; %s --help lists all options\n", load_self->name, argument, reason, load_self->name);
	exit(2);
}

/* One option and its value, as one argument (--name=value) or two; returns how many it took. */
static int read_option(int left, char **argv)
{
	const char *argument = argv[0];

	if (strncmp(argument, "--", 2))
		refuse_argument(argument, "options are written --name VALUE");
	size_t length = strcspn(argument + 2, "=");
	const struct load_option *option = option_named(argument + 2, length);

	if (!option)
		refuse_argument(argument, "there is no such option");
	if (argument[2 + length] == '=') {
		set(option, argument + 3 + length);
		return 1;
	}
	if (left < 2)
		refuse_value(option, "");
	set(option, argv[1]);
	return 2;
}

void load_begin(const struct load *load, int argc, char **argv)
{
	load_self = load;
	for (int i = 1; i < argc;) {
		if (!strcmp(argv[i], "--help") || !strcmp(argv[i], "-h"))
			help();
		if (!strcmp(argv[i], "--spoil")) {
			load_spoilt = true;
			i++;
		} else {
			i += read_option(argc - i, argv + i);
		}
	}
	load_name_process(load->name);
	begun_ns = load_now_ns();
}
