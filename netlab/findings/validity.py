"""What makes figures doubtful: links and hosts unlike the matrix, clocks, other load."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from types import MappingProxyType
from typing import Any

from netlab.ethernet import Link
from netlab.findings.buffers import above_ceiling
from netlab.findings.derived import StreamSample
from netlab.findings.finding import Facts, Finding, Group, Kind, finding
from netlab.findings.kind import kinds_named
from netlab.findings.rates import step_of
from netlab.findings.series import Point, Series
from netlab.findings.stream_end import StreamEnd
from netlab.findings.stream_limits import (
    evidence,
    findings_of,
    is_marked,
    limit_of,
    lost_to_pauses,
    lost_to_stops,
)
from netlab.findings.stream_rules import COVERED, robbed, starved, throttled
from netlab.findings.traffic import LOOPBACK
from netlab.results.run import Run
from netlab.trial.record import as_number, grouped

FAR_BELOW = 0.11
"""A pairing is far below its link if it reaches at most this share of the ceiling. A link may
negotiate a tenth of its rate; the remaining 0.01 allows for errors of the clocks."""

SEVERAL = 3
"""If a pairing is not far below its link, at least this number of its cells must reach the same
lower rate that links negotiate. Two cells are enough if their ceilings differ."""

LARGE_MESSAGE_BYTES = 700
"""A pairing is judged only if one of its cells has messages of at least this length (half a frame).
A host may be too slow to fill a link with small messages."""

STEADY = (
    *("kernel", "boot_id", "machine_id", "cpu_model", "cpu_count", "virtual", "governor", "turbo"),
    *("idle_state_deepest", "congestion", "ecn", "rmem_max_bytes", "wmem_max_bytes", "tcp_rmem"),
    *("tcp_wmem", "tcp_no_metrics_save", "tcp_timestamps", "default_qdisc", "power_plan"),
    "tcp_window_scaling",
    *("route_interface", "route_source", "route_gateway", "interface_mtu_bytes"),
    *("interface_driver", "interface_speed_bit_per_s", "interface_duplex", "interface_qdisc"),
    *("interface_queue_length", "interface_offloads", "interface_ring_rx", "interface_ring_tx"),
    *("interface_coalesce_rx_us", "interface_pause_rx", "interface_pause_tx", "interface_eee"),
    *("interface_queues_rx", "interface_queues_tx", "interface_carrier"),
    *("udp_fast_send_threshold_bytes", "udp_default_receive_window_bytes", "tcp_1323_options"),
)
"""Facts that change only if someone changes the host; counters and self-tuning values are left
out."""


def links(
    series: Iterable[Series],
    link: Link | None,
    of_hosts: Collection[str],
    slower_links: Collection[str] = (),
    of_mesh: Collection[str] = (),
) -> Iterator[Finding]:
    """One finding per pairing whose best share of the ceiling is at most about a tenth, or matches
    another lower rate that links negotiate.

    ``of_hosts``: cells that a host limits. ``of_mesh``: cells that a finding about a mesh already
    calls slow. If a pairing is fastest in one of these cells, its link is not suspected.
    ``slower_links``: pairings that already have a finding about a slower link.
    """
    if link is None:
        return
    pairings: dict[str, list[tuple[float, Point, int]]] = {}
    for one_series in series:
        size = one_series.group.message_bytes
        if one_series.test != "stream" or size is None:
            continue
        for point in one_series.measured:
            if point.highest_ceiling and not point.paced and not point.same_host:
                share = max(point.values) / point.highest_ceiling
                pairings.setdefault(one_series.group.pairing, []).append((share, point, size))
    best = {pairing: max(share for share, _, _ in points) for pairing, points in pairings.items()}
    rate = link.rate_bit_per_s
    for pairing, points in pairings.items():
        _, at_best, _ = max(points, key=lambda point: point[0])
        large = any(size >= LARGE_MESSAGE_BYTES for _, _, size in points)
        if pairing in slower_links or not large or at_best.cell in {*of_hosts, *of_mesh}:
            continue
        step = step_of(best[pairing] * rate, rate)
        at_step = [
            point.highest_ceiling or 0
            for share, point, _ in points
            if step and step_of(share * rate, rate) == step
        ]
        # Enough cells at the step rule out chance.
        several = len(at_step) >= SEVERAL or len(set(map(round, at_step))) > 1
        if best[pairing] > FAR_BELOW and not several:
            continue
        figures = {
            "throughput_bit_per_s": max(at_best.values),
            "ceiling_share": best[pairing],
            "link_rate_bit_per_s": rate,
            "step_rate_bit_per_s": step,
            "others_ceiling_share": max(
                (share for other, share in best.items() if other != pairing), default=None
            ),
        }
        cells = tuple(dict.fromkeys(point.cell for _, point, _ in points))
        yield finding(Kind.LINK_FAR_BELOW, Group(pairing), cells, figures)


def hosts(
    facts: Facts, link: Link | None, wired: Collection[str], routes: Facts | None = None
) -> Iterator[Finding]:
    """Findings from the facts of each host.

    ``wired``: the hosts that measured over a cable; the interfaces of other hosts do not matter.
    ``routes``: the facts of the interfaces of additional test addresses of the hosts.
    """
    for host, readings in facts.items():
        changes: dict[str, str] = {}
        for name in STEADY:
            # A reading without a value of a fact is ignored.
            values = dict.fromkeys(str(r[name]) for r in readings if r.get(name) not in (None, ""))
            if len(values) > 1:
                changes[name] = " → ".join(values)
        if changes:
            group, figures = Group(host=host), {"facts": len(changes)}
            yield finding(Kind.FACTS_CHANGED, group, (), figures, changes)
    of_hosts = [
        found
        for host in (host for host in facts if host in wired)
        for interface_facts in _interfaces(facts[host], (routes or {}).get(host, ()))
        for found in _interface(host, interface_facts, link)
    ]
    yield from _of_all(of_hosts, wired)
    under: dict[str, list[str]] = {}
    for host, readings in facts.items():
        names = {str(reading["virtual"]) for reading in readings if reading.get("virtual")}
        if len(names) == 1 and names != {"none"}:
            under.setdefault(names.pop(), []).append(host)
    for hypervisor, guests in under.items():
        words = {"hosts": ", ".join(guests), "hypervisor": hypervisor}
        yield finding(Kind.VIRTUAL_MACHINE, Group(), (), {"hosts": len(guests)}, words)


def _of_all(findings: Sequence[Finding], wired: Collection[str]) -> Iterator[Finding]:
    """The findings about interfaces; one in their place if all hosts have the same other MTU."""
    others = [found for found in findings if found.kind is Kind.INTERFACE_MTU]
    sizes = {found.evidence["interface_mtu_bytes"] for found in others}
    if len(others) == len(wired) > 1 == len(sizes):
        words = {"hosts": ", ".join(found.group.host for found in others)}
        yield finding(Kind.INTERFACE_MTUS, Group(), (), others[0].evidence, words)
        findings = [found for found in findings if found not in others]
    yield from findings


def _interfaces(
    readings: Iterable[Mapping[str, Any]], routes: Iterable[Mapping[str, Any]]
) -> Iterator[Mapping[str, Any]]:
    """The last facts of each interface: of the host's facts first, then of ``routes``."""
    followed: dict[str, Any] = {}
    for reading in readings:
        followed |= {name: value for name, value in reading.items() if value not in (None, "")}
    yield followed
    of_interface = {str(route.get("route_interface", "")): route for route in routes}
    of_interface.pop(str(followed.get("route_interface", "")), None)
    yield from of_interface.values()


def _interface(host: str, facts: Mapping[str, Any], link: Link | None) -> Iterator[Finding]:
    name, group = str(facts.get("route_interface", "")), Group(host=host)
    if name in LOOPBACK:
        return
    words = {"interface": name}
    speed = as_number(facts.get("interface_speed_bit_per_s"))
    mtu_bytes = as_number(facts.get("interface_mtu_bytes"))
    if link is not None and speed and speed < link.rate_bit_per_s:
        figures = {"interface_speed_bit_per_s": speed, "link_rate_bit_per_s": link.rate_bit_per_s}
        yield finding(Kind.INTERFACE_SPEED, group, (), figures, words)
    if link is not None and mtu_bytes and mtu_bytes != link.mtu_bytes:
        figures = {
            "interface_mtu_bytes": mtu_bytes,
            "link_mtu_bytes": link.mtu_bytes,
            "shorter_share": max(0.0, 1 - mtu_bytes / link.mtu_bytes),
        }
        yield finding(Kind.INTERFACE_MTU, group, (), figures, words)
    if facts.get("interface_duplex") == "half":
        yield finding(Kind.INTERFACE_DUPLEX, group, words={**words, "duplex": "half"})


CLOCK_PPM = 100
"""Maximum difference between the rates of two clocks of one host, in ppm."""

SAVING = frozenset({"powersave", "ondemand", "conservative", "schedutil"})
"""Governors that change a CPU's frequency with its load."""

SAVING_PLANS = frozenset({"Power saver", "Balanced", "Energiesparmodus", "Ausbalanciert"})
"""Power plans of Windows; their names are in the language of the installation."""


def doubts(
    samples: Sequence[StreamSample],
    facts: Facts = MappingProxyType({}),
    changed: Collection[str] = (),
    unsteady: Iterable[Finding] = (),
) -> tuple[Finding, ...]:
    """All doubts; ``facts``: those of each host before and after the run.

    ``changed``: names of facts that netlab changes during the run (``variants`` of the matrix).
    Such changes raise no doubt. ``unsteady``: findings about trials whose path explains them.
    """
    told = {key for finding in unsteady for key in finding.trials}
    kernels = Counter(its[0].get("boot_id") for its in facts.values() if its)

    def is_alone(host: str) -> bool:
        # Of two hosts with one kernel, such as namespaces, each has the other's work on its CPUs.
        its = facts.get(host)
        return not its or its[0].get("boot_id") is None or kernels[its[0]["boot_id"]] == 1

    def is_off(_sample: StreamSample, end: StreamEnd) -> bool:
        return end.judged and end.clock_ppm is not None and abs(end.clock_ppm) > CLOCK_PPM

    def is_disturbed(sample: StreamSample, end: StreamEnd) -> bool:
        # Waits that the end's own quota caused do not count, nor those where the limit is known.
        waited = starved(end) and not throttled(end) and is_alone(end.host)
        stopped = lost_to_stops(sample) or lost_to_pauses(sample)
        is_told = sample.record.key in told or stopped
        unknown = (None, Kind.NOT_DETERMINED, Kind.PACING)
        return (waited or robbed(end)) and not is_told and limit_of(sample) in unknown

    return (
        *above_ceiling(samples),
        *_of_lengths(samples, changed),
        *(() if "congestion" in changed else _congestion(samples)),
        *_with_steps((end.host, s.cell, end.clock_step_ns) for s in samples for end in s.ends),
        *_of_hosts(samples, Kind.CLOCK_RATE, is_off, ("clock_ppm",)),
        *_of_hosts(samples, Kind.OTHER_LOAD, is_disturbed, ("run_queue_share", "steal_share")),
        *power_saving(facts),
    )


def _of_lengths(streams: Sequence[StreamSample], changed: Collection[str]) -> Iterator[Finding]:
    """Doubts about the lengths of packets and segments."""
    longest: dict[tuple[str, str | None], int] = {}
    for sample in streams:
        own = sample.sender.host, sample.sender.interface
        longest[own] = max(longest.get(own, 0), sample.sender.mtu_bytes or 0)

    def another_mtu(sample: StreamSample) -> Kind | None:
        mtu = sample.sender.mtu_bytes
        is_less = mtu and mtu < longest[sample.sender.host, sample.sender.interface]
        return Kind.MTU_MISMATCH_CHANGED if is_less else None

    def smaller_packets(sample: StreamSample) -> Kind | None:
        path, link = sample.path_mtu_bytes, sample.link_mtu_bytes
        if not sample.same_host and path is not None and link is not None and path < link:
            return None if another_mtu(sample) else Kind.MTU_MISMATCH_STREAM
        return None

    def shorter_segments(sample: StreamSample) -> Kind | None:
        if not sample.small_mss_bytes or smaller_packets(sample):
            return None
        announced = sample.measured.whole("receiver_tcp_end_advmss") or 0
        return Kind.CLAMPED_MSS if announced > sample.small_mss_bytes else Kind.SMALL_MSS

    if "interface_mtu_bytes" not in changed:
        yield from findings_of(streams, smaller_packets)
        yield from findings_of(streams, another_mtu, in_most=False)
    # Each connection agrees on the length of its segments, so a single trial is certain.
    yield from findings_of(streams, shorter_segments, in_most=False)


ODD = 0.001
"""Minimum share of the messages, or of the segments sent again, that were late or copied."""

FEW = 2
"""So many segments may arrive twice because TCP sent them again before the window opened; so many
acknowledgements may be of other connections."""

ODD_BACK = 0.03
"""Minimum share of lost, or copied, acknowledgements. Both ends count them in windows of their own:
up to 0.4 % apart in recorded runs without loss, and by what is under way at the edges."""


def delivered(samples: Sequence[StreamSample]) -> Iterator[Finding]:
    """Messages and segments that were not lost, but late, copied or marked."""
    for kind in kinds_named("delivery"):

        def shown(sample: StreamSample, kind: Kind = kind) -> Kind | None:
            if kind is Kind.DELIVERY_MARKED:
                return kind if is_marked(sample) else None
            figures = evidence(kind, [sample])
            odd, number = (figures[name] or 0 for name in kind.figures[:2])
            few = FEW if kind is Kind.DELIVERY_AGAIN else 0
            return kind if 0 < ODD * number <= odd and odd > few else None

        # Single needless repeats are usual.
        yield from findings_of(samples, shown, in_most=kind is Kind.DELIVERY_TWICE)


_COUNTED_BACK = {
    Kind.WAY_BACK_DAMAGED: "sender_tcp_checksum_errors",
    Kind.WAY_BACK_OVERTAKEN: "sender_tcp_old_segments",
}
"""Kind of finding → the value that counts such acknowledgements."""


def way_back(samples: Sequence[StreamSample]) -> Iterator[Finding]:
    """Acknowledgements that were lost, damaged, copied or overtaken."""

    def shown(sample: StreamSample) -> Kind | None:
        share = sample.lost_acknowledgements_share or 0.0
        damaged = sample.damaged_acknowledgements_share or 0.0
        kind = Kind.WAY_BACK_LOST if share > 0 else Kind.WAY_BACK_COPIED
        series, window_ns = sample.tcp_series, sample.sender.window_ns or 1
        # As many as come in a round trip may be under way at an edge.
        longest_us = max(series.rtt_us) if series and series.rtt_us else 0
        # So may what comes in while an end does not run, as it reads its counters late.
        least = ODD_BACK + 1e3 * longest_us / window_ns
        least += max(end.stalled_share for end in sample.ends)
        # None may come in the time by which one window is longer: TCP may wait to send again.
        least += abs((sample.receiver.window_ns or window_ns) / window_ns - 1)
        return kind if abs(share) >= least and damaged < COVERED * abs(share) else None

    yield from findings_of(samples, shown, in_most=False)
    for kind, name in _COUNTED_BACK.items():

        def odd(sample: StreamSample, kind: Kind = kind, name: str = name) -> Kind | None:
            number = sample.measured.whole(name) or 0
            share = evidence(kind, [sample])[kind.figures[0]]
            # Of several streams, only the first one's acknowledgements are counted.
            is_odd = number > FEW and not sample.flow and (share is None or share >= ODD)
            return kind if is_odd else None

        yield from findings_of(samples, odd, in_most=False)


def _congestion(samples: Iterable[StreamSample]) -> Iterator[Finding]:
    """Senders that use different congestion controls, none of them set by the matrix."""
    by_default = [
        sample
        for sample in samples
        if sample.congestion is not None and not sample.congestion_asked and not sample.same_host
    ]
    if len({sample.congestion for sample in by_default}) > 1:
        senders = grouped(by_default, lambda sample: sample.sender.host)
        words = {
            host: ", ".join(sorted({str(sample.congestion) for sample in senders[host]}))
            for host in sorted(senders)
        }
        cells = tuple(dict.fromkeys(sample.cell for sample in by_default))
        yield finding(Kind.CONGESTION_DIFFERS, Group(protocol="TCP"), cells, words=words)


def _with_steps(steps: Iterable[tuple[str, str, float | None]]) -> Iterator[Finding]:
    """Hosts whose wall clock was set during a trial: host, cell and step of each end of a trial.

    One trial is enough for a finding: a step is recorded only above 0.5 s, and no jitter is that
    large.
    """
    known = [(host, cell, step_ns) for host, cell, step_ns in steps if step_ns is not None]
    for host, of_host in grouped(known, lambda step: step[0]).items():
        cells = tuple(dict.fromkeys(cell for _host, cell, _step_ns in of_host))
        worst = max((step_ns for _host, _cell, step_ns in of_host), key=abs)
        yield finding(Kind.CLOCK_STEP, Group(host=host), cells, {"clock_step_ns": float(worst)})


def clock_steps_of_round_trips(run: Run) -> Iterator[Finding]:
    """Hosts whose wall clock was set during round trips, whose ends are client and server."""
    return _with_steps(
        (host, record.cell, record.number(f"{end}_wall_step_ns"))
        for record in run.latest.values()
        for host, end in ((record.client, "client"), (record.server, "server"))
    )


def _of_hosts(
    samples: Iterable[StreamSample],
    kind: Kind,
    rule: Callable[[StreamSample, StreamEnd], bool],
    figures: Iterable[str],
) -> Iterator[Finding]:
    """One finding per host, over the cells in which the rule holds in most of its trials."""
    all_ends = ((sample, end) for sample in samples for end in sample.ends)
    for host, of_host in grouped(all_ends, lambda pair: pair[1].host).items():
        shown: dict[str, list[StreamEnd]] = {}
        for cell, trials in grouped(of_host, lambda pair: pair[0].cell).items():
            ends = [end for sample, end in trials if rule(sample, end)]
            if 2 * len(ends) > len(trials):
                shown[cell] = ends
        worst: dict[str, float | None] = {}
        for name in figures:
            values = (getattr(end, name) for ends in shown.values() for end in ends)
            worst[name] = max((v for v in values if v is not None), key=abs, default=None)
        if shown:
            yield finding(kind, Group(host=host), tuple(shown), worst)


def power_saving(facts: Facts) -> Iterator[Finding]:
    """Hosts whose CPUs or interfaces save power, by their facts before or after the run."""
    for host, readings in facts.items():
        words: dict[str, str] = {}
        for reading in readings:
            if governors := SAVING & {*str(reading.get("governor")).split(",")}:
                words["governor"] = ", ".join(sorted(governors))
            if reading.get("power_plan") in SAVING_PLANS:
                words["power_plan"] = str(reading["power_plan"])
            if reading.get("interface_eee") == "active":
                words["interface_eee"] = "active"
        if words:
            yield finding(Kind.POWER_SAVING, Group(host=host), words=words)
