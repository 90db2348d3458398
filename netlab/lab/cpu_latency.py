"""Keeps this machine's CPUs from sleeping while a lab with shaped cables is up.

The timer that refills a shaped cable's token bucket must wake on time. If it is late by more than
the depth of the bucket, the cable loses rate, which a real cable does not. A CPU in a deep sleep
state wakes late; a virtual CPU by milliseconds, because its hypervisor gave it away. A process that
holds the kernel's ``/dev/cpu_dma_latency`` open with a latency written to it limits how deep CPUs
sleep (kernel documentation, "PM Quality Of Service Interface"). The limit ends with the last
process that holds the file.

Cables without a rate do not get this: they need no timer, and a CPU that polls instead of sleeping
takes execution units from the other thread of its core. A receiver that sleeps between its calls
would look slower than it is.
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
    """The open file that limits CPU sleep, for processes to inherit; empty if unavailable."""
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
