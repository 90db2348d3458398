"""A message → its IP packets on the cable, or why these cannot be known. No I/O."""

from __future__ import annotations

from netlab.ethernet import ip_version_of, packets
from netlab.experiment.matrix import Link
from netlab.experiment.records import Record
from netlab.messages import _, joined

SAME_HOST = _("server and client are one host: no cable was touched.")
NO_LINK = _("the link was not stated.")


def packets_of(record: Record, size_bytes: int | None, link: Link) -> tuple[int, ...] | str:
    """Sizes in bytes of the IP packets of one message of ``size_bytes``, sent as in ``record``.

    If ``size_bytes`` is ``None``, the message is a full segment (TCP), or has the message size of
    ``record`` (UDP). If the sizes cannot be known, the result is a sentence that says why.
    """
    flow, tcp = record.flow(""), record.protocol == "TCP"
    mss_bytes, timestamps = flow.mss_bytes, flow.tcp_timestamps is not False
    if tcp and mss_bytes is None:
        return _("the segment size of TCP is not recorded.")
    ip_version = ip_version_of(record.settings)
    full_bytes = mss_bytes if tcp else record.message_bytes
    size = (full_bytes or 0) if size_bytes is None else size_bytes
    try:
        return packets(
            "TCP" if tcp else "UDP",
            size,
            link.mtu_bytes,
            ip_version=ip_version,
            timestamps=timestamps,
            mss_bytes=mss_bytes,
        )
    except ValueError as impossible:
        return joined("", [*impossible.args, "."])
