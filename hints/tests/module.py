# SPDX-License-Identifier: MIT OR Apache-2.0
"""Gives hints by the Python module, and ends at once. The test that runs it reads what was written."""

import os
import threading

import lopsided

assert lopsided.version() == 1
lopsided.parallelism(4)
lopsided.length(7)
lopsided.next_length(9)
lopsided.memory(lopsided.MEMORY_INTENSIVE)


def flags():
    with open(f"{os.environ['LOP_HINT_DIR']}/{os.getpid()}.hints", "rb") as page:
        page.seek(64 + 4)
        return int.from_bytes(page.read(4), "little")


# Closing a file ends the locks that the process has on it, but here nobody reads them.
for hint, bit in [(lopsided.spinning, 1), (lopsided.sequential, 2), (lopsided.lock_holder, 4), (lopsided.background, 8)]:
    with hint():
        assert flags() == bit, hint
    try:
        with hint():
            raise KeyError
    except KeyError:
        pass
    assert flags() == 0, hint
thread = threading.Thread(target=lopsided.length, args=[8])
thread.start()
thread.join()
held = lopsided.lock_holder()
held.__enter__()
os._exit(0)
