"""What is open towards hosts, in one place from which another thread can end all of it."""

from __future__ import annotations

import threading
import weakref
from typing import TYPE_CHECKING

from netlab.errors import HostGone

if TYPE_CHECKING:
    from netlab.remote.transport import Transport


class Connections:
    """The ways to hosts of one controller, each registered before it is used.

    Whoever opens agents hands one of these to ``Agent.open(…, connections=…)`` for all of them.
    ``close()`` then ends whatever waits on a host, in any thread and at any stage: a name that is
    looked up, a login, an ssh-agent, a file on its way, a greeting, a request to an agent. Each of
    those raises ``HostGone`` within a fraction of a second; what is registered later is closed at
    once and raises it too.
    """

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._transports: weakref.WeakSet[Transport] = weakref.WeakSet()
        self._closed = False

    def add(self, transport: Transport) -> None:
        """Register a way to a host, before anything is done with it; HostGone after ``close``."""
        with self._lock:
            if not self._closed:
                self._transports.add(transport)
                return
        transport.close()
        raise HostGone("the run is ending")

    def close(self) -> None:
        """End all of them, without waiting for any host. From any thread; safe to call again."""
        with self._lock:
            self._closed = True
            transports = list(self._transports)
        for transport in transports:
            transport.close()
