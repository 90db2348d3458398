"""Keeps this machine's CPUs from sleeping while a lab with shaped cables is up.

The timer that refills a shaped cable's bucket must wake on time: what it is late by beyond the
bucket's depth is rate lost, which no real cable loses. A CPU that sleeps deeply wakes late, one of
a virtual machine by milliseconds, since its hypervisor gave it away. Whoever holds the kernel's
``/dev/cpu_dma_latency`` open with a latency in it bounds how deep CPUs sleep (the kernel's
documentation, "PM Quality Of Service Interface"); it ends with the last process that holds it.

Not over cables without a rate: they need no timer, and a CPU that waits for work by asking for it
takes room from its neighbour, where two of them are threads of one core. A receiver that sleeps
between its calls would look slower than it is.
"""

from __future__ import annotations

import os
import struct
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

DEVICE = Path("/dev/cpu_dma_latency")


@contextmanager
def held(device: Path = DEVICE) -> Iterator[tuple[int, ...]]:
    """The open file that bounds the sleep, for a process to inherit; none where there is none."""
    try:
        descriptor = os.open(device, os.O_WRONLY | os.O_CLOEXEC)
    except OSError:  # a kernel without it, or a container that does not show it
        yield ()
        return
    try:
        os.write(descriptor, struct.pack("=i", 0))
        yield (descriptor,)
    finally:
        os.close(descriptor)
