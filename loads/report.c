/* SPDX-License-Identifier: GPL-2.0-only */
#include "load.h"
#include "internal.h"
#include <stdio.h>
#include <string.h>

/* More levels than any report has. */
#define DEPTH 16

static char closers[DEPTH];
static int depth;
static bool follows; /* at this depth, a value has been printed before */

static void quoted(const char *text, char dash)
{
	putchar('"');
	for (; *text; text++) {
		unsigned char c = (unsigned char)*text;

		if (c < ' ')
			printf("\\u%04x", c);
		else if (c == '"' || c == '\\')
			printf("\\%c", c);
		else
			putchar(c == '-' ? dash : c);
	}
	putchar('"');
}

/* Prints comma and name; names of options get _ for -. */
static void next(const char *name)
{
	if (follows)
		putchar(',');
	if (name) {
		quoted(name, '_');
		putchar(':');
	}
	follows = true;
}

static void open_one(const char *name, char opener, char closer)
{
	next(name);
	putchar(opener);
	closers[depth++] = closer;
	follows = false;
}

void json_object(const char *name)
{
	open_one(name, '{', '}');
}

void json_array(const char *name)
{
	open_one(name, '[', ']');
}

void json_close(void)
{
	putchar(closers[--depth]);
	follows = true;
}

void json_count(const char *name, uint64_t value)
{
	next(name);
	printf("%llu", (unsigned long long)value);
}

void json_real(const char *name, double value)
{
	next(name);
	printf("%.17g", value);
}

void json_ms(const char *name, uint64_t ns)
{
	next(name);
	printf("%llu.%06u", (unsigned long long)(ns / 1000000), (unsigned)(ns % 1000000));
}

void json_text(const char *name, const char *value)
{
	next(name);
	quoted(value, '-');
}

void json_bits(const char *name, uint64_t value)
{
	next(name);
	printf("\"0x%016llx\"", (unsigned long long)value);
}

void json_flag(const char *name, bool value)
{
	next(name);
	printf("%s", value ? "true" : "false");
}

static void parameter(const struct load_option *option)
{
	switch (option->kind) {
	case LOAD_COUNT:
		json_count(option->name, *option->value.count);
		break;
	case LOAD_REAL:
		json_real(option->name, *option->value.real);
		break;
	case LOAD_CHOICE:
		json_text(option->name, option->choices[*option->value.choice]);
		break;
	case LOAD_TEXT:
		json_text(option->name, *option->value.text);
		break;
	}
}

void load_report(uint64_t ended_ns)
{
	json_object(NULL);
	json_text("load", load_self->name);
	json_object("parameters");
	for (size_t i = 0; i < load_self->nr_options; i++)
		parameter(&load_self->options[i]);
	json_close();
	json_count("started_monotonic_ns", load_started_ns());
	json_ms("wall_ms", ended_ns - load_started_ns());
}

void load_report_times(uint64_t started_ns, uint64_t ended_ns)
{
	json_ms("started_ms", started_ns - load_started_ns());
	json_ms("ended_ms", ended_ns - load_started_ns());
}

void load_report_threads(const struct load_team *team, void (*more)(const struct load_thread *))
{
	json_array("threads");
	for (uint64_t i = 0; i < team->size; i++) {
		const struct load_thread *thread = &team->threads[i];

		json_object(NULL);
		json_count("thread", thread->index);
		load_report_times(thread->started_ns, thread->ended_ns);
		json_ms("cpu_ms", thread->cpu_ns);
		if (more)
			more(thread);
		json_close();
	}
	json_close();
}

void load_report_waits(const struct load_thread *thread)
{
	json_count("waits", thread->waits);
	json_count("sleeps", thread->sleeps);
	json_count("flags_raised", thread->flags_raised);
	json_count("flags_left", thread->flags_left);
}

void load_report_phases(const struct load_phase *phases, size_t count)
{
	json_array("phases");
	for (size_t i = 0; i < count; i++) {
		json_object(NULL);
		json_text("name", phases[i].name);
		load_report_times(phases[i].started_ns, phases[i].ended_ns);
		json_close();
	}
	json_close();
}

uint64_t load_spoil(uint64_t result)
{
	return load_spoilt ? result + 1 : result;
}

bool load_team_computed(const struct load_team *team, uint64_t instructions, uint64_t times)
{
	for (uint64_t i = 0; i < team->size; i++)
		if (load_spoil(team->threads[i].value) != load_expected(load_first(i), instructions, times))
			return false;
	return true;
}

uint64_t load_team_checksum(const struct load_team *team)
{
	uint64_t sum = 0;

	for (uint64_t i = 0; i < team->size; i++)
		sum += team->threads[i].value;
	return sum;
}

int load_end(bool correct)
{
	json_flag("correct", correct);
	json_close();
	putchar('\n');
	if (!correct)
		fprintf(stderr, "%s: the result is wrong%s\n", load_self->name, load_spoilt ? ", since --spoil was given" : "");
	if (fflush(stdout)) {
		fprintf(stderr, "%s: cannot write to standard output; give it somewhere to go\n", load_self->name);
		return 1;
	}
	return correct ? 0 : 1;
}
