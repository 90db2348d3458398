"""A path that is shorter than the links, and of which no router tells."""

from __future__ import annotations

from netlab.measurement.path_mtu import NarrowPath

SILENT = NarrowPath(
    sender="right",
    receiver="left",
    sender_address="10.0.0.2",
    receiver_address="10.0.0.1",
    mtu_bytes=1500,
    interface_mtu_bytes=9000,
    is_reported=False,
    whole_passes=False,
    pieces_pass=False,
    segments_pass=False,
)
