/* SPDX-License-Identifier: GPL-2.0-only */
#pragma once
#include "load.h"
/* Between options.c, work.c and report.c; not for loads. */

extern const struct load *load_self; /* which load this program is; set by load_begin() */
extern bool load_spoilt;             /* --spoil was given */

/* Names the calling thread, and those that it creates from now on, for traces: lop-NAME, cut to 15 letters. */
void load_name_process(const char *name);
