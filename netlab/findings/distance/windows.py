"""How much of a connection may be on its way at a time, by the buffers at its ends. Pure.

Of each buffer bounds are known, and sometimes what is likely in between: a buffer counts what the
system's own structures take of it, which differs with how a card is handed its segments.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

UNSCALED_BYTES = 65_535
"""The largest window without the option that scales it (RFC 7323, section 2)."""

RECEIVE_SHARE = 0.5
"""Of a receive buffer that Linux announces at least (``tcp_adv_win_scale`` of 1); more where its
segments fill their structures."""
SENT_SHARE, SENT_LEAST, SENT_MOST = 0.45, 0.4, 0.63
"""Of a send buffer of Linux that is on its way where each segment has a structure of its own, as on
cards without segmentation offload: 1448 of 2304 bytes are payload, and a program goes on writing
only once a third is free. Measured at 20 and 50 ms: 0.42 to 0.47 of 128 and 512 KiB in effect."""


@dataclass(frozen=True, slots=True, kw_only=True)
class InFlight:
    """Bytes of payload that a buffer lets be on their way."""

    least: float
    most: float
    """Infinite where nothing is known."""
    likely: float | None = None
    """Between both; ``None``: no more than they is known."""

    @property
    def told(self) -> float:
        """The likely, else the most."""
        return self.most if self.likely is None else self.likely


UNKNOWN = InFlight(least=0, most=math.inf)


@dataclass(frozen=True, slots=True, kw_only=True)
class BuffersInEffect:
    """What is known of the two buffers of a connection; ``None`` is not known."""

    tuned: bool
    """The systems size them: nobody asked for a size."""
    send_bytes: int | None = None
    receive_bytes: int | None = None
    announced_bytes: int | None = None
    """The largest that the sender saw; ``None`` also where a full queue may have closed it."""
    scaled: bool | None = None
    """Whether both ends scale their windows."""


def by_receiver(known: BuffersInEffect, facts: Mapping[str, Any]) -> InFlight:
    """What the receiver's window may come to; ``facts`` are its host's."""
    found = _tuned(known, facts) if known.tuned else _fixed(known)
    if known.scaled is False:
        return InFlight(
            least=min(found.least, UNSCALED_BYTES),
            most=min(found.most, UNSCALED_BYTES),
            likely=None if found.likely is None else min(found.likely, UNSCALED_BYTES),
        )
    return found


def _tuned(known: BuffersInEffect, facts: Mapping[str, Any]) -> InFlight:
    seen, most = known.announced_bytes or 0, largest_of(facts.get("tcp_rmem"))
    if most is None:
        return InFlight(least=seen, most=math.inf)
    return InFlight(least=max(seen, RECEIVE_SHARE * most), most=max(seen, most))


def _fixed(known: BuffersInEffect) -> InFlight:
    size, seen = known.receive_bytes, known.announced_bytes
    if size is None:
        return InFlight(least=0, most=math.inf)
    if seen is None or not RECEIVE_SHARE * size <= seen <= size:
        return InFlight(least=min(seen or size, RECEIVE_SHARE * size), most=size)
    return InFlight(least=RECEIVE_SHARE * size, most=size, likely=seen)


def by_sender(known: BuffersInEffect, facts: Mapping[str, Any]) -> InFlight:
    """What the send buffer lets be on its way; known of Linux alone. ``facts`` are its host's."""
    limit = largest_of(facts.get("tcp_wmem"))
    if limit is None:
        return UNKNOWN
    size = limit if known.tuned else known.send_bytes
    if size is None:
        return UNKNOWN
    if segments_one_by_one(facts):
        likely = None if known.tuned else SENT_SHARE * size
        return InFlight(least=SENT_LEAST * size, most=SENT_MOST * size, likely=likely)
    return InFlight(least=SENT_LEAST * size, most=size)


def segments_one_by_one(facts: Mapping[str, Any]) -> bool:
    """Whether a host is known to cut its segments before its interface gets them."""
    offloads = facts.get("interface_offloads")
    return isinstance(offloads, str) and not {"tso", "gso"} & set(offloads.split(","))


def largest_of(three: object) -> int | None:
    """The largest of the three sizes of ``tcp_rmem`` or ``tcp_wmem``: auto-tuning's limit."""
    words = three.split() if isinstance(three, str) else []
    return int(words[2]) if len(words) == 3 and words[2].isdecimal() else None
