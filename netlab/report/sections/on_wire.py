"""What a message of a reading becomes on the cable: the IP packets of it, or why not. Pure."""

from __future__ import annotations

from netlab.ethernet import IpVersion, packets
from netlab.experiment.matrix import Link
from netlab.messages import _
from netlab.results.readings import Reading

SAME_HOST = _("server and client are one host: no cable was touched.")
NO_LINK = _("the link was not stated.")


def packets_of(reading: Reading, size_bytes: int | None, link: Link) -> tuple[int, ...] | str:
    """Sizes of the IP packets of one message of ``size_bytes`` sent as ``reading`` was; ``None``
    is a full segment of TCP, or the reading's own message of UDP. A sentence where that cannot be
    known.
    """
    flow, tcp = reading.flows[""], reading.protocol == "TCP"
    if tcp and flow.mss_bytes is None:
        return _("the segment size of TCP is not recorded.")
    ip_version: IpVersion = 6 if reading.settings.get("ip_version") == 6 else 4
    whole = flow.mss_bytes if tcp else reading.message_bytes
    try:
        return packets(
            "TCP" if tcp else "UDP",
            (whole or 0) if size_bytes is None else size_bytes,
            link.mtu_bytes,
            ip_version=ip_version,
            timestamps=flow.tcp_timestamps is not False,
            mss_bytes=flow.mss_bytes,
        )
    except ValueError as error:
        return _("{sentence}.", sentence=error.args[0])
