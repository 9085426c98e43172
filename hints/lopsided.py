# SPDX-License-Identifier: MIT OR Apache-2.0
"""Tells the scheduler Lopsided what it cannot see of a program.

Hints are about the calling thread and end with it; nothing depends on them but speed. No call fails or prints, and where
no scheduler listens none does anything. Needs liblopsided.so.0: importing raises OSError without it.

    import lopsided

    lopsided.length(7)  # this thread has 7 files to compile, others have more or fewer
    with lopsided.sequential():
        ...  # what the other threads wait for
"""

import contextlib
import ctypes

# PyDLL keeps the interpreter's lock, which CDLL gives up and takes again: that would cost more than the call, and let other
# threads in between.
_library = ctypes.PyDLL("liblopsided.so.0")


def _call(name, *types):
    call = getattr(_library, "lop_" + name)
    call.argtypes, call.restype = types, None
    return call


def _during(name, what):
    begin, end = _call(name + "_begin"), _call(name + "_end")

    @contextlib.contextmanager
    def hint():
        begin()
        try:
            yield
        finally:
            end()

    hint.__name__, hint.__doc__ = name, what
    return hint


# How much a thread asks of cache and memory: not known, below 0.1, more, above 1 miss of the last-level cache per thousand
# instructions.
MEMORY_UNKNOWN, MEMORY_VERY_LOW, MEMORY_MODERATE, MEMORY_INTENSIVE = range(4)

# LOP_VERSION of the library.
version = _library.lop_version
version.argtypes, version.restype = (), ctypes.c_uint
# How many threads of the process want to run at the same time, from 1; 0: not known.
parallelism = _call("parallelism", ctypes.c_uint)
# The work of the calling thread, in any unit that is the same for all threads of the program; 0: not known.
length = _call("length", ctypes.c_uint)
# The same for the next process that the calling thread forks. A thread says its length() itself.
next_length = _call("next_length", ctypes.c_uint)
# Of the calling thread: one of MEMORY_...
memory = _call("memory", ctypes.c_uint)
sequential = _during("sequential", "All other threads of the program wait for this one.")
lock_holder = _during("lock_holder", "Others wait, or soon will, for a lock that the thread holds.")
spinning = _during("spinning", "The thread waits in a loop: whoever needs its core may have it.")
background = _during("background", "Nobody waits for what the thread does: it may be done on the cheapest core.")
