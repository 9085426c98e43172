/* SPDX-License-Identifier: MIT OR Apache-2.0 */
#pragma once

/*
 * Where the memory of a process comes from. Returns a descriptor of it, of a size that fits its header (record.h), with
 * all records free; -1: nobody listens. Whoever reads the memory takes it for gone when the descriptor is closed, so it
 * stays open until the process ends or executes another program. A forked child asks for memory of its own.
 */
int lop_channel(void);
