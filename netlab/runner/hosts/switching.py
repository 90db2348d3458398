"""How often Python switches between the threads of a run with many hosts."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from contextlib import contextmanager

A_HOST_S = 0.0001
"""Switch interval for each host: 0.1 s for 1000 hosts."""


@contextmanager
def switching_seldom(hosts: int) -> Iterator[None]:
    """Within this context, threads that wait for the interpreter ask for it less often, in
    proportion to the number of hosts. Up to 50 hosts, Python's own interval of 5 ms stays.

    Each host and each pair of a round has a thread, and one thread runs at a time. Each of the
    others wakes once in an interval to ask for its turn. With the threads of 1000 hosts and 5 ms,
    the kernel would spend more time on these wake-ups than the threads need for their work. A
    thread that waits for a host gives up its turn at once, whatever the interval.
    """
    earlier_s = sys.getswitchinterval()
    sys.setswitchinterval(max(earlier_s, hosts * A_HOST_S))
    try:
        yield
    finally:
        sys.setswitchinterval(earlier_s)
