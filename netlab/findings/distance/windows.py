"""How much data of a connection can be in flight, according to the buffers at its ends.

Each buffer gives a lower and an upper bound of the data in flight, and sometimes a likely value
between them. The size of a buffer includes the system's own structures. Their size depends on how
the segments are passed to the network card.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

UNSCALED_BYTES = 65_535
"""The largest receive window without TCP's window scaling (RFC 7323, section 2)."""

RECEIVE_SHARE = 0.5
"""Minimum share of a receive buffer that Linux announces as the receive window
(``tcp_adv_win_scale`` of 1). Linux announces more if segments fill their structures."""
SENT_SHARE, SENT_LEAST, SENT_MOST = 0.45, 0.4, 0.63
"""Likely, minimum and maximum share of a Linux send buffer that is in flight, if each segment has
its own structure, as on cards without segmentation offload. A full segment takes 2304 bytes of the
buffer, of which 1448 are payload, and a program resumes writing only when a third of the buffer is
free. At round trips of 20 and 50 ms and effective buffers of 128 and 512 KiB, 0.42 to 0.47 were
measured."""


@dataclass(frozen=True, slots=True, kw_only=True)
class InFlight:
    """Bytes of payload that a buffer allows in flight."""

    least: float
    most: float
    """Infinite if nothing is known."""
    likely: float | None = None
    """Between the two bounds; ``None``: only the bounds are known."""

    @property
    def estimate(self) -> float:
        """The likely value if it is known, otherwise the upper bound."""
        return self.most if self.likely is None else self.likely


UNKNOWN = InFlight(least=0, most=math.inf)


@dataclass(frozen=True, slots=True, kw_only=True)
class BuffersInEffect:
    """What is known about the two buffers of a connection; ``None``: not known."""

    auto_tuning: bool
    """Whether the systems choose the sizes, because no size was requested."""
    send_bytes: int | None = None
    receive_bytes: int | None = None
    announced_bytes: int | None = None
    """The largest receive window that the sender saw; also ``None`` if a full receive queue may
    have closed the window."""
    window_scaling: bool | None = None
    """Whether both ends scale their windows."""


def by_receiver(buffers: BuffersInEffect, facts: Mapping[str, Any]) -> InFlight:
    """The bounds of the receive window; ``facts`` are the facts of the receiver's host."""
    in_flight = (
        _auto_tuned_window(buffers, facts) if buffers.auto_tuning else _fixed_window(buffers)
    )
    if buffers.window_scaling is False:
        return InFlight(
            least=min(in_flight.least, UNSCALED_BYTES),
            most=min(in_flight.most, UNSCALED_BYTES),
            likely=None if in_flight.likely is None else min(in_flight.likely, UNSCALED_BYTES),
        )
    return in_flight


def _auto_tuned_window(buffers: BuffersInEffect, facts: Mapping[str, Any]) -> InFlight:
    announced_bytes, most = buffers.announced_bytes or 0, largest_of(facts.get("tcp_rmem"))
    if most is None:
        return InFlight(least=announced_bytes, most=math.inf)
    return InFlight(
        least=max(announced_bytes, RECEIVE_SHARE * most), most=max(announced_bytes, most)
    )


def _fixed_window(buffers: BuffersInEffect) -> InFlight:
    size, announced_bytes = buffers.receive_bytes, buffers.announced_bytes
    if size is None:
        return InFlight(least=0, most=math.inf)
    if announced_bytes is None or not RECEIVE_SHARE * size <= announced_bytes <= size:
        return InFlight(least=min(announced_bytes or size, RECEIVE_SHARE * size), most=size)
    return InFlight(least=RECEIVE_SHARE * size, most=size, likely=announced_bytes)


def by_sender(buffers: BuffersInEffect, facts: Mapping[str, Any]) -> InFlight:
    """The bounds of the data in flight that the send buffer allows; known for Linux only.

    ``facts`` are the facts of the sender's host.
    """
    limit = largest_of(facts.get("tcp_wmem"))
    if limit is None:
        return UNKNOWN
    size = limit if buffers.auto_tuning else buffers.send_bytes
    if size is None:
        return UNKNOWN
    if segments_one_by_one(facts):
        likely = None if buffers.auto_tuning else SENT_SHARE * size
        return InFlight(least=SENT_LEAST * size, most=SENT_MOST * size, likely=likely)
    return InFlight(least=SENT_LEAST * size, most=size)


def segments_one_by_one(facts: Mapping[str, Any]) -> bool:
    """Whether a host is known to cut its data into segments before they reach its interface."""
    offloads = facts.get("interface_offloads")
    return isinstance(offloads, str) and not {"tso", "gso"} & set(offloads.split(","))


def largest_of(sizes: object) -> int | None:
    """The largest of the three sizes of ``tcp_rmem`` or ``tcp_wmem``: auto-tuning's limit."""
    words = sizes.split() if isinstance(sizes, str) else []
    return int(words[2]) if len(words) == 3 and words[2].isdecimal() else None
