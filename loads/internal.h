/* SPDX-License-Identifier: GPL-2.0-only */
#pragma once
#include "load.h"
/* Shared by options.c, work.c and report.c; not for loads. */

extern const struct load *load_self; /* which load this program is; set by load_begin() */
extern bool load_spoilt;             /* --spoil was given */

/*
 * Sets the name under which traces show the calling thread and the threads it starts from now on: lop-NAME, cut to 15
 * characters.
 */
void load_name_process(const char *name);
