"""Connects to a host: this machine, or a host over SSH."""

from __future__ import annotations

from collections.abc import Callable

from netlab.experiment.hosts import Host
from netlab.remote.connections import Connections
from netlab.remote.late_invoke import import_paramiko
from netlab.remote.local import LocalTransport
from netlab.remote.transport import Transport


def connect(
    host: Host,
    on_event: Callable[[str], None] | None = None,
    connections: Connections | None = None,
) -> Transport:
    """Connect to ``host``; HostError or a subclass if that fails.

    The connection is registered with ``connections`` before its login begins, so that closing
    ``connections`` also ends the login. Another thread calls ``on_event`` with messages about slow
    steps.
    """
    if host.local:
        local = LocalTransport(host)
        if connections is not None:
            connections.add(local)
        return local
    import_paramiko()
    from netlab.remote.ssh import SshTransport

    remote = SshTransport(host)
    if connections is not None:
        connections.add(remote)
    remote.log_in(on_event)
    return remote
