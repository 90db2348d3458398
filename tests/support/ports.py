"""Ports that a test names before a server of its own listens on them."""

from __future__ import annotations

import socket

_HELD: list[socket.socket] = []


def own_port() -> int:
    """A TCP port of loopback that nobody else gets until this process ends.

    A socket is bound to it that does not listen, so that the system hands it out no more; a server
    that is named it and sets SO_REUSEADDR binds it as well (socket(7)).
    """
    holder = socket.socket()
    holder.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
    holder.bind(("127.0.0.1", 0))
    _HELD.append(holder)
    return int(holder.getsockname()[1])
