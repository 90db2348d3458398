"""The way to a host: this machine, or SSH."""

from __future__ import annotations

from netlab.experiment.hosts import Host
from netlab.remote.local import LocalTransport
from netlab.remote.transport import Transport


def connect(host: Host) -> Transport:
    """The way to ``host``; HostError and its kin where there is none."""
    if host.local:
        return LocalTransport(host)
    from netlab.remote.ssh import SshTransport

    return SshTransport.connect(host)
