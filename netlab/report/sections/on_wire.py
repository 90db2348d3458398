"""What a message of a reading becomes on the cable: the IP packets of it, or why not. Pure."""

from __future__ import annotations

from netlab.ethernet import MAX_DATAGRAM_BYTES, MIN_MTU_BYTES, IpVersion, mss_of, packets
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
    mss_bytes, timestamps = flow.mss_bytes, flow.tcp_timestamps is not False
    if tcp and mss_bytes is None:
        return _("the segment size of TCP is not recorded.")
    ip_version: IpVersion = 6 if reading.settings.get("ip_version") == 6 else 4
    whole = mss_bytes if tcp else reading.message_bytes
    size = (whole or 0) if size_bytes is None else size_bytes
    try:
        return packets(
            "TCP" if tcp else "UDP",
            size,
            link.mtu_bytes,
            ip_version=ip_version,
            timestamps=timestamps,
            mss_bytes=mss_bytes,
        )
    except ValueError:
        if tcp and size < 1:
            return _("a message of {size} bytes carries no payload.", size=size)
        if link.mtu_bytes < MIN_MTU_BYTES[ip_version]:
            return _mtu_too_small(link.mtu_bytes, ip_version)
        if not tcp:
            return _message_too_long(size, ip_version)
        most = mss_of(link.mtu_bytes, ip_version=ip_version, timestamps=timestamps)
        return _mss_impossible(mss_bytes, link.mtu_bytes, most)


def _mtu_too_small(mtu_bytes: int, ip_version: IpVersion) -> str:
    return _(
        "an MTU of {mtu} bytes: IPv{version} asks for {least} at least.",
        mtu=mtu_bytes,
        version=ip_version,
        least=MIN_MTU_BYTES[ip_version],
    )


def _mss_impossible(mss_bytes: int | None, mtu_bytes: int, most: int) -> str:
    return _(
        "an MSS of {mss} bytes: MTU {mtu} allows 1 to {most}.",
        mss=mss_bytes,
        mtu=mtu_bytes,
        most=most,
    )


def _message_too_long(size: int, ip_version: IpVersion) -> str:
    return _(
        "a UDP message of {size} bytes: IPv{version} carries 0 to {most}.",
        size=size,
        version=ip_version,
        most=MAX_DATAGRAM_BYTES[ip_version],
    )
