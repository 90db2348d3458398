"""Estimate: how long a plan takes, and what of it nobody can know before. Pure.

A count without a rate says nothing about time; the link does: its rate is the least that so many
messages take. Hosts may be slower, and a search takes what the path makes it take.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

from netlab import ethernet
from netlab.experiment.cells import Cell
from netlab.experiment.kinds import SEARCHES, Connect, RoundTrip, Stream, TestSettings
from netlab.experiment.matrix import Link
from netlab.experiment.schedule import Round

_BARE_SEGMENT_BYTES = ethernet.packet_wire_bytes(1)
"""On the wire, of a segment without payload: the shortest frame holds its headers and options."""


@dataclass(frozen=True, slots=True)
class Estimate:
    """The time of some rounds."""

    time_s: float
    """All that is known, overhead and pauses with it."""
    longest_s: float
    """The longest trial of it."""
    at_link_rate: int
    """Trials bounded by a count, reckoned at the link's rate: they may take longer."""
    counted: int
    """Trials bounded by a count where no link is known; no part of the time."""
    searching: int
    """Trials that search; no part of the time."""


def estimate(
    rounds: Iterable[Round], link: Link | None, *, overhead_s: float, pause_s: float
) -> Estimate:
    """How long rounds take, one after the other, ``pause_s`` between two of them."""
    time_s = longest_s = 0.0
    at_link_rate = counted = searching = made = 0
    for round_ in rounds:
        times_s = [0.0]
        for trial in round_.trials:
            asked_s = window_s(trial.cell.setup)
            known_s = least_s(trial.cell, link) if asked_s is None else asked_s
            times_s.append(known_s or 0.0)
            if isinstance(trial.cell.setup, SEARCHES):
                searching += 1
            elif known_s is None:
                counted += 1
            elif asked_s is None:
                at_link_rate += 1
        time_s += max(times_s) + overhead_s
        longest_s = max(longest_s, *times_s)
        made += 1
    time_s += pause_s * max(0, made - 1)
    return Estimate(time_s, longest_s, at_link_rate, counted, searching)


def window_s(setup: TestSettings) -> float | None:
    """Warm-up and window, as asked for.

    ``None`` where the settings do not say how long it takes: a count without a rate, a search.
    """
    if isinstance(setup, SEARCHES):
        return None
    if setup.duration_s is not None:
        return setup.warm_up_s + setup.duration_s
    if setup.count is None:
        return None
    if setup.message_rate_per_s is not None:
        return setup.warm_up_s + setup.count / setup.message_rate_per_s
    if isinstance(setup, Stream) and setup.rate_bit_per_s is not None:
        return setup.warm_up_s + 8 * setup.message_bytes * setup.count / setup.rate_bit_per_s
    return None


def least_s(cell: Cell, link: Link | None) -> float | None:
    """The least time of a trial that a count bounds, at the link's rate and with no other wait.

    ``None`` where there is no count, or no link to reckon with.
    """
    setup = cell.setup
    if isinstance(setup, SEARCHES) or setup.count is None or link is None:
        return None
    request_s = _serialisation_s(setup, setup.message_bytes, link)
    if request_s is None:
        return None
    cables = link.hops + 1
    if isinstance(setup, Stream):
        return setup.warm_up_s + setup.count * request_s
    answer_s = _serialisation_s(setup, setup.response_bytes or setup.message_bytes, link)
    if answer_s is None:
        return None
    there_and_back_s = cables * (request_s + answer_s) + setup.mirror_hold_s
    if isinstance(setup, Connect):
        # SYN and its answer; the last of the handshake goes with the request.
        there_and_back_s += cables * 2 * 8 * _BARE_SEGMENT_BYTES / link.rate_bit_per_s
    else:
        # Several under way share the cables: the busiest way, and the mirror, set the pace.
        busiest_s = max(request_s, answer_s, setup.mirror_hold_s)
        there_and_back_s = max(there_and_back_s / setup.outstanding, busiest_s)
    return setup.warm_up_s + setup.count * there_and_back_s


def _serialisation_s(
    setup: Stream | RoundTrip | Connect, message_bytes: int, link: Link
) -> float | None:
    """How long one message keeps one cable busy; ``None`` where the link cannot carry it."""
    try:
        if setup.protocol == "UDP":
            packets = ethernet.fragments(
                message_bytes, mtu_bytes=link.mtu_bytes, ip_version=setup.ip_version
            )
            on_wire = sum(ethernet.packet_wire_bytes(each, vlan=link.vlan) for each in packets)
            return 8 * on_wire / link.rate_bit_per_s
        mss = ethernet.mss_of(link.mtu_bytes, ip_version=setup.ip_version)
    except ValueError:
        return None
    headers = link.mtu_bytes - mss
    if isinstance(setup, Stream):
        # A stream is cut into full segments, wherever its messages end.
        on_wire_of_full = ethernet.packet_wire_bytes(link.mtu_bytes, vlan=link.vlan)
        return 8 * on_wire_of_full * (message_bytes / mss) / link.rate_bit_per_s
    whole, last = divmod(message_bytes, mss)
    sizes = [mss] * whole + ([last] if last else [])
    on_wire = sum(ethernet.packet_wire_bytes(headers + each, vlan=link.vlan) for each in sizes)
    return 8 * on_wire / link.rate_bit_per_s
