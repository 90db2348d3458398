"""Rates of streams: the bytes that a bottleneck counts, the wire ceiling, the plateau of TCP."""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from enum import Enum
from itertools import combinations
from statistics import fmean
from typing import Any

from netlab import ethernet
from netlab.ethernet import Link
from netlab.results.ceilings import flow_ceiling
from netlab.results.tcp_series import TcpSeries
from netlab.trial.record import FlowValues


class Accounting(Enum):
    """The bytes that a bottleneck counts for each IP packet."""

    WIRE = "wire"
    """The frame with preamble and gap (all its byte times on the wire), as on a link."""
    FRAME = "frame"
    """The frame from its header to the FCS, at least 64 bytes, as in a policer of a switch."""
    HEADED = "headed"
    """The Ethernet header and the packet, without FCS and padding, as in Linux's tbf and htb."""
    PACKET = "packet"
    """The IP packet, as in a policer of a router."""

    def counted_bytes(self, packets: Iterable[int], *, vlan: bool = False) -> int:
        """The bytes that such a bottleneck counts for IP packets of these sizes."""
        tag = ethernet.TAG_BYTES if vlan else 0
        if self is Accounting.WIRE:
            return sum(ethernet.packet_wire_bytes(size + tag) for size in packets)
        if self is Accounting.PACKET:
            return sum(packets)
        headed = [size + ethernet.HEADER_BYTES + tag for size in packets]
        if self is Accounting.HEADED:
            return sum(headed)
        return sum(max(size + ethernet.FCS_BYTES, ethernet.MIN_FRAME_BYTES) for size in headed)


@dataclass(frozen=True, slots=True, kw_only=True)
class Framing:
    """The framing of one UDP message, or of one full TCP segment, on the stated link."""

    payload_bytes: int
    packets: tuple[int, ...]
    """Sizes of the message's IP packets on the cable, headers (and a tunnel's) included."""
    vlan: bool
    link_rate_bit_per_s: float

    def counted_bytes(self, accounting: Accounting) -> int:
        """The bytes that a bottleneck with this accounting counts for the message."""
        return accounting.counted_bytes(self.packets, vlan=self.vlan)

    def rate_bit_per_s(self, throughput_bit_per_s: float, accounting: Accounting) -> float:
        """The rate that such a bottleneck counts for a payload throughput, in bit/s."""
        return throughput_bit_per_s * self.counted_bytes(accounting) / self.payload_bytes

    @property
    def ceiling_share(self) -> float:
        """The wire ceiling of such messages as a share of the link's rate, 0 to 1."""
        return self.payload_bytes / self.counted_bytes(Accounting.WIRE)


_STEPS_MBIT = (10, 100, 1000, 2500, 5000, 10_000, 25_000, 40_000, 50_000, 100_000, 200_000)
STEPS_BIT_PER_S = tuple(mbit * 1e6 for mbit in _STEPS_MBIT)
"""Rates that links negotiate (IEEE 802.3)."""

STEP_BELOW, STEP_ABOVE = 0.02, 0.005
"""Shares by which a measured rate may be below, and above, a rate that links negotiate."""

UNLIKE_STATED = 0.9
"""A rate counts as lower than the stated rate if it is at most this share of the stated rate."""


def step_of(rate_bit_per_s: float, stated_bit_per_s: float) -> float | None:
    """The rate of ``STEPS_BIT_PER_S`` that a measured rate on the wire matches; ``None`` if there
    is none. Only rates lower than the stated rate (``UNLIKE_STATED``) are compared.
    """
    for step in STEPS_BIT_PER_S:
        is_near = (1 - STEP_BELOW) * step <= rate_bit_per_s <= (1 + STEP_ABOVE) * step
        if is_near and step <= UNLIKE_STATED * stated_bit_per_s:
            return step
    return None


SIZES, SPAN = 3, 4
"""Minimum number of sizes that show a rate, and minimum ratio of the largest to the smallest."""


def runs_of(sizes: Sequence[int]) -> Iterator[slice]:
    """The runs of neighbours among ascending sizes that are enough to show a rate in common."""
    for start, end in combinations(range(len(sizes) + 1), 2):
        if end - start >= SIZES and sizes[end - 1] >= SPAN * sizes[start]:
            yield slice(start, end)


def offered_bit_per_s(settings: Mapping[str, Any], message_bytes: int) -> float | None:
    """The rate of a paced stream in bit/s; ``None`` if the stream is sent as fast as possible."""
    rate, messages = settings.get("rate_bit_per_s"), settings.get("message_rate_per_s")
    if isinstance(rate, int | float):
        return float(rate)
    return 8.0 * message_bytes * messages if isinstance(messages, int | float) else None


def flow_mtu_bytes(flow: FlowValues, link: Link) -> int:
    """The smaller one of the path's known MTU and the link's MTU."""
    path = flow.whole("sender_path_mtu_bytes")
    return link.mtu_bytes if path is None else min(path, link.mtu_bytes)


def ceiling_of(
    settings: Mapping[str, Any],
    values: Mapping[str, Any],
    prefix: str,
    link: Link | None,
    *,
    highest: bool = False,
) -> float | None:
    """The wire ceiling of one flow in payload bit/s, as ``flow_ceiling``; ``None`` if the link is
    not known or not used. Over UDP, a known path MTU counts instead of the link's MTU if it is
    smaller.
    """
    if link is None or values.get("same_host") is True:
        return None
    flow = FlowValues(values, prefix)
    of_path = settings.get("protocol") == "UDP"
    mtu_bytes = flow_mtu_bytes(flow, link) if of_path else link.mtu_bytes
    return flow_ceiling(settings, flow, link, mtu_bytes, highest=highest)


def framing_of(
    settings: Mapping[str, Any], values: Mapping[str, Any], prefix: str, link: Link | None
) -> Framing | None:
    """The framing of one UDP message, or of one full TCP segment, on the link, as ``ceiling_of``
    assumes it; ``None`` if the ceiling is not known.
    """
    if link is None or ceiling_of(settings, values, prefix, link) is None:
        return None
    flow, version = FlowValues(values, prefix), ethernet.ip_version_of(settings)
    size: int = settings["message_bytes"]
    if settings.get("protocol") == "UDP":
        packets = ethernet.fragments(size, mtu_bytes=flow_mtu_bytes(flow, link), ip_version=version)
    else:
        timestamps = values.get(prefix + "tcp_timestamps") is not False
        largest = ethernet.mss_of(link.mtu_bytes, ip_version=version, timestamps=timestamps)
        size = largest if flow.mss_bytes is None else min(flow.mss_bytes, largest)
        packets = (size + link.mtu_bytes - largest,)
    packets = tuple(packet + link.overhead_bytes for packet in packets)
    rate = link.rate_bit_per_s
    return Framing(payload_bytes=size, packets=packets, vlan=link.vlan, link_rate_bit_per_s=rate)


STEP_US = 15_000
"""Minimum length of a step, the time between two samples over which a rate is computed:
acknowledgements arrive in bursts."""

STEPS = 10
"""Minimum number of steps in a series."""

FLAT = 0.02
"""Share by which the rates of a plateau may differ."""

MANY = 0.25
"""Minimum share of the steps that are at the plateau."""


def plateau_bit_per_s(series: TcpSeries | None) -> float | None:
    """The most frequent rate of the steps, in bit/s; at least a quarter of them must have it.

    ``None`` if no rate is that frequent, or if too few steps are known.
    """
    if series is None:
        return None
    rates: list[float] = []
    points = zip(series.time_us, series.delivered_bytes, strict=False)
    start = next(points, (0, 0))
    for point in points:
        if point[0] - start[0] >= STEP_US:
            rates.append(8e6 * (point[1] - start[1]) / (point[0] - start[0]))
            start = point
    rates.sort()
    if len(rates) < STEPS:
        return None
    spans = (
        (bisect_right(rates, (1 + FLAT) * low) - first, first)
        for first, low in enumerate(rates)
        if low > 0
    )
    number, first = max(spans, default=(0, 0))
    return fmean(rates[first : first + number]) if number >= MANY * len(rates) else None
