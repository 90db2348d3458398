"""The floor of a round trip: the minimum time of its frames, both ways, on the stated link."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable

from netlab.ethernet import IP_BYTES, TCP_BYTES, ip_version_of, packets, transfer_floor_bytes
from netlab.experiment.matrix import Link
from netlab.findings.finding import Finding, Group, Kind, finding
from netlab.findings.round_trips.trips import WHAT, TripCell, TripTrial, median_of, trip_cells
from netlab.findings.series import Series
from netlab.findings.trial_words import in_trials
from netlab.messages import Message, _
from netlab.units import format_rate

TOLERANCE = 0.01
TOLERANCE_NS = 1000.0
"""Because of clock errors, a time may be below the floor by ``TOLERANCE`` (a share of the floor)
plus ``TOLERANCE_NS``."""


def below_floor(series: Iterable[Series], link: Link | None) -> tuple[Finding, ...]:
    """A warning for each pairing (server and client), protocol and message size with a round trip
    below its floor.

    Groups whose typical round trip is below the floor come first.
    """
    if link is None:
        return ()
    groups: dict[tuple[str, Group], list[TripCell]] = defaultdict(list)
    for cell in trip_cells(series):
        of_cell = cell.group
        groups[cell.test, Group(of_cell.pairing, of_cell.protocol, of_cell.message_bytes)].append(
            cell
        )
    findings = [
        below
        for (test, group), cells in groups.items()
        if (below := _of_group(test, group, cells, link)) is not None
    ]
    return tuple(sorted(findings, key=lambda below: "typical_trip_ns" not in below.evidence))


def _of_group(test: str, group: Group, cells: Iterable[TripCell], link: Link) -> Finding | None:
    entries = [
        (trial, floor, least)
        for cell in cells
        for trial in cell.trials
        if (floor := floor_ns(trial, cell.test, link)) is not None
        and (least := _shortest_ns(trial)) is not None
    ]
    below = [entry for entry in entries if is_below(entry[2], entry[1])]
    if not below:
        return None
    _trial, floor, least = min(below, key=lambda entry: entry[2] / entry[1])
    typical = median_of(_typical_ns(trial) for trial, _floor, _least in below)
    figures: dict[str, float | None] = {
        "shortest_trip_ns": least,
        "floor_trip_ns": floor,
        "typical_trip_ns": typical if typical and is_below(typical, floor) else None,
        "link_rate_bit_per_s": link.rate_bit_per_s,
        "trials": len(below),
        "of_trials": len(entries),
    }
    trials = tuple(trial.key for trial, _floor, _least in below)
    words = {
        "what": WHAT[test],
        "link": _of_link(link),
        **(in_trials(len(below), len(entries)) if len(below) < len(entries) else {}),
    }
    keys = tuple(dict.fromkeys(cell for cell, _number in trials))
    return finding(Kind.BELOW_FLOOR, group, keys, figures, words, trials)


def is_below(time_ns: float, floor: float) -> bool:
    """Whether a time is below the floor by more than the clocks explain."""
    return time_ns < (1 - TOLERANCE) * floor - TOLERANCE_NS


def floor_ns(trial: TripTrial, test: str, link: Link) -> float | None:
    """Minimum time of request and answer on the link, in ns. For the test ``connect``, the two
    packets that open the connection are included.

    ``None`` if both ends are one host, or if the sizes are not known.
    """
    request = _requested(trial, "message_bytes")
    if trial.same_host or not request:
        return None
    answer = trial.number("client_response_bytes") or _requested(trial, "response_bytes") or request
    sides = (("client", request), ("server", answer))
    packet_lists = [_packets(trial, end, round(size), link) for end, size in sides]
    if test == "connect":
        # Without TCP options: the record does not show which options each connection uses.
        opening = (IP_BYTES[ip_version_of(trial.settings)] + TCP_BYTES,)
        packet_lists += [opening, opening]
    total_bytes = 0
    for packet_bytes in packet_lists:
        if packet_bytes is None:
            return None
        total_bytes += transfer_floor_bytes(packet_bytes, vlan=link.vlan, cables=link.hops + 1)
    return 8e9 * total_bytes / link.rate_bit_per_s


def _packets(trial: TripTrial, end: str, size: int, link: Link) -> tuple[int, ...] | None:
    """Sizes of the IP packets of one message. If an option or the path's MTU is unknown, the floor
    is too low, never too high.
    """
    path_mtu = trial.number(f"{end}_path_mtu_bytes")
    mtu = link.mtu_bytes if path_mtu is None else round(path_mtu)
    mss = trial.number("mss_bytes")
    try:
        if trial.settings.get("protocol") == "UDP":
            return packets("UDP", size, mtu, ip_version=ip_version_of(trial.settings))
        return packets(
            "TCP",
            size,
            link.mtu_bytes,
            ip_version=ip_version_of(trial.settings),
            timestamps=trial.record.values.get("tcp_timestamps") is True,
            mss_bytes=None if mss is None else round(mss),
        )
    except ValueError:
        return None


def _requested(trial: TripTrial, name: str) -> float | None:
    value = trial.settings.get(name)
    return float(value) if isinstance(value, int) and not isinstance(value, bool) else None


def _shortest_ns(trial: TripTrial) -> float | None:
    """The shortest round trip. If single times are missing, the mean, which is never shorter."""
    least = trial.number("rtt_min_ns")
    return trial.mean_ns if least is None else least


def _typical_ns(trial: TripTrial) -> float | None:
    """The median round trip; the mean if there is no histogram."""
    times = trial.histogram
    half = None if times is None else times.percentile(0.5)
    return trial.mean_ns if half is None else float(half)


def _of_link(link: Link) -> Message:
    rate = format_rate(link.rate_bit_per_s)
    if not link.hops:
        return _("a link of {rate}", rate=rate)
    return _("{cables} links of {rate} in series", cables=link.hops + 1, rate=rate)
