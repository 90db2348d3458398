"""What a finding claims about a cause, as data: where it is, what it is, which packets, and when.

The words are the same for all kinds of findings, so claims can be compared with each other, and
with a cause that was planted (docs/truths.md).
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from netlab.trial.record import Value

# fmt: off
WHERE = ("sender", "sender-socket", "sender-queue", "cable", "device", "path", "path-back",
    "receiver-socket", "receiver")
"""Places of a cause, in the order in which data pass them; ``path``: somewhere between the hosts,
``path-back``: the way of the acknowledgements."""

WHAT = ("rate", "drops", "delay", "jitter", "order", "copies", "corruption", "length", "pause",
    "cpu", "memory", "setting")
"""What a cause limits or does: a highest rate, lost packets, …"""

WHICH = ("all", "protocol", "family", "length", "class", "port", "direction", "acknowledgements",
    "fragments")
"""Which packets a cause concerns: all, or those of one protocol, IP version, length, …"""

WHEN = ("always", "trials", "onset", "periodic", "bursts", "begin")
"""When a cause acts: always, in some trials, from a moment on, …"""

SELECTS: Mapping[str, str] = {"protocol": "protocol", "ip_version": "family", "dscp": "class",
    "source_port": "port", "message_bytes": "length", "direction": "direction"}
"""Setting of a cell that decides about its packets → word of ``WHICH``."""

HOST = "host"
"""Stands for the end, ``sender`` or ``receiver``, whose host the finding names."""

PLACE = "cause_place"
"""Word of a finding that says where its cause is, if its kind does not."""

_KINDS: Mapping[str, str] = {
    "sender cpu": "cpu-bound/sender sender-call-rate cpu-wait/sender-quota "
        "cpu-wait/sender-programs search-limit/sender",
    "receiver cpu": "cpu-bound/receiver cpu-wait/receiver-quota cpu-wait/receiver-programs "
        "search-limit/receiver",
    "host cpu": "saturated-core cpu-wait/steal trip-waited-for-cpu other-load "
        "host-delay/hypervisor",
    " cpu": "cpu-bound/both",
    "sender rate": "off-rate/less", "sender-socket memory": "buffer-limit/sender",
    "receiver-socket memory": "buffer-limit/receiver", "host memory": "socket-buffer/capped",
    "sender-queue drops": "loss-limit/sender-queue loss/queue loss/unsent",
    "receiver-socket drops": "loss-limit/socket loss/socket", "receiver drops": "loss/backlog",
    "host drops": "loss-limit/host loss/interface",
    "path drops": "loss-limit/path loss/path congestion loss-recovery requests-lost-under-load "
        "trips/lost-there",
    "path drops  fragments": "fragments-lost",
    "path drops begin": "first-packet-lost",
    " drops": "loss-limit/unknown loss/unknown sent-again",
    "cable rate": "rate-limit/link link-far-below",
    "device rate": "rate-limit/shaper packet-rate search-limit/frame-rate search-limit/bit-rate "
        "search-limit/device",
    " rate": "off-rate/held other-traffic",
    "path rate": "rate-limit/either rate-limit/half-duplex mesh-limit/pair mesh-limit/mesh "
        "two-rates delivery/marked",
    "host rate": "mesh-limit/host",
    " rate onset": "trend/proved",
    " rate trials": "first-trial-slower", " jitter": "rtt-outliers path-jitter",
    "path corruption": "loss-limit/damaged loss/damaged trips/damaged-there",
    "path order": "delivery/reordered delivery/overtaken trips/overtaken-there",
    "path-back drops": "trips/lost-back way-back/lost",
    "path-back copies": "trips/copied-back way-back/copied",
    "path-back corruption": "way-back/damaged trips/damaged-back",
    "path-back order": "trips/overtaken-back way-back/overtaken",
    "path copies": "delivery/copied delivery/again trips/copied-there", " length": "small-mss",
    "path pause": "path-pauses",
    "path delay trials": "longer-path/trials",
    "path delay": "longer-path/packets longer-path/times far-host "
        "queue-on-path queue-under-load/standing search-limit/queue",
    "cable setting": "interface/mtus mtu-mismatch/changed",
    "path length": "clamped-mss no-result/mtu mtu-mismatch/stream mtu-mismatch/black-hole "
        "mtu-mismatch/reported",
    " pause": "interruption/final host-delay/process", " pause trials": "interruption/earlier",
    "host setting": "unscaled-window interface/speed interface/mtu interface/duplex "
        "congestion-differs clock/rate",
    "host setting onset": "facts-changed clock/step",
}
# fmt: on
"""Where, what, when and which → the kinds of findings that claim it; others claim no cause."""

CLAIMED: Mapping[str, tuple[str, ...]] = {
    kind: (*claim.split(" "), "", "")[:4]
    for claim, kinds in _KINDS.items()
    for kind in kinds.split()
}
"""Kind of finding → where, what, when and which packets it claims; empty: it does not say."""

SHARES = (
    "damaged_share",
    "costs_share",
    "lost_share",
    "paused_share",
    "depth_share",
    "change_share",
    "shorter_share",
    "odd_share",
    "lost_acknowledgements_share",
    "damaged_acknowledgements_share",
    "old_acknowledgements_share",
)
"""Figures of the evidence that are the share which a cause takes; the first known one is used."""

COUNTS: Mapping[str, str] = {
    **dict.fromkeys(("lost_messages", "reordered_messages", "duplicate_messages"), "sent_messages"),
    "copied_packets": "sent_segments",
}
"""Else a figure of the evidence that counts what a cause concerned → the one that counts all."""


Terms = tuple[tuple[str, tuple[Value | None, ...]], ...]
"""(setting, its values): a cell meets the terms if it has one of the values of each setting."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Claim:
    """A cause that a finding claims; an empty word: nothing is said about it."""

    where: str
    what: str
    which: str = ""
    when: str = ""
    share: float | None = None
    """How much of the rate, or of the packets, it takes: 0 to 1."""
    sender: str = ""
    receiver: str = ""
    """Hosts of the direction that it concerns."""
    only: Terms = ()
    """What the affected cells have in common, and no other cell has."""
