"""The way to a host: this machine, or SSH."""

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
    """The way to ``host``; HostError and its kin where there is none.

    It is registered with ``connections`` before its login begins, so that closing those ends the
    login too. ``on_event`` hears what takes long, from another thread.
    """
    if host.local:
        here = LocalTransport(host)
        if connections is not None:
            connections.add(here)
        return here
    import_paramiko()
    from netlab.remote.ssh import SshTransport

    there = SshTransport(host)
    if connections is not None:
        connections.add(there)
    there.log_in(on_event)
    return there
