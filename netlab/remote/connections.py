"""All open connections to hosts in one place, so that another thread can close them."""

from __future__ import annotations

import threading
import weakref
from typing import TYPE_CHECKING

from netlab.errors import HostGone

if TYPE_CHECKING:
    from netlab.remote.transport import Transport


class Connections:
    """The connections of one netlab process to its hosts, each registered before it is used.

    Pass the same object to every ``Agent.open(…, connections=…)``. ``close()`` then ends every wait
    on a host, in any thread and at any stage: the lookup of a name, a login, an ssh-agent, a file
    transfer, a greeting, a request to an agent. Each call that waits raises ``HostGone`` within a
    fraction of a second. A connection that is registered later is closed at once, and ``add``
    raises ``HostGone``.
    """

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._transports: weakref.WeakSet[Transport] = weakref.WeakSet()
        self._closed = False

    def add(self, transport: Transport) -> None:
        """Register a connection before its first use; HostGone after ``close``."""
        with self._lock:
            if not self._closed:
                self._transports.add(transport)
                return
        transport.close()
        raise HostGone("the run is ending")

    def close(self) -> None:
        """Close all connections without waiting for a host. Any thread may call it repeatedly."""
        with self._lock:
            self._closed = True
            transports = list(self._transports)
        for transport in transports:
            transport.close()
