"""Keeps this machine's CPUs from sleeping while a lab with shaped cables is up.

The timer that refills a shaped cable's token bucket must wake on time. If the timer is late by more
than the depth of the bucket (a time), the cable loses rate. A real cable does not. A CPU in a deep
sleep state wakes late. A virtual CPU wakes milliseconds late, because its hypervisor has given the
physical CPU to others. A process can write a latency to the kernel's ``/dev/cpu_dma_latency``,
which limits how deep CPUs sleep (kernel documentation, "PM Quality Of Service Interface"). The
limit ends with the last process that holds the file open.

For cables without a rate, netlab does not limit CPU sleep, because they need no timer. A CPU that
polls instead of sleeping takes execution units from the other thread of its core. A receiver that
sleeps between its calls would then appear slower than it is.
"""

from __future__ import annotations

import os
import struct
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

DEVICE = Path("/dev/cpu_dma_latency")


@contextmanager
def limit(device: Path = DEVICE) -> Iterator[tuple[int, ...]]:
    """The descriptor of the open file that limits CPU sleep, for processes to inherit. The tuple is
    empty if the file cannot be opened.
    """
    try:
        descriptor = os.open(device, os.O_WRONLY | os.O_CLOEXEC)
    except OSError:  # a kernel without the device, or a container that hides it
        yield ()
        return
    try:
        os.write(descriptor, struct.pack("=i", 0))
        yield (descriptor,)
    finally:
        os.close(descriptor)
