"""Link checks: links and hosts that differ from what the matrix states.

Links are judged by the share of the wire ceiling that pairings (server and client) reach. Hosts are
judged by their facts (kernel, CPU, interface settings and others), recorded before, during and
after a run.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from typing import Any

from netlab.ethernet import Link
from netlab.findings.finding import Finding, Group, Kind, finding
from netlab.findings.framing import step_of
from netlab.findings.series import Point, Series
from netlab.findings.traffic import LOOPBACK
from netlab.trial.record import as_number

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
    *("route_interface", "route_source", "route_gateway", "interface_mtu_bytes"),
    *("interface_driver", "interface_speed_bit_per_s", "interface_duplex", "interface_qdisc"),
    *("interface_queue_length", "interface_offloads", "interface_ring_rx", "interface_ring_tx"),
    *("interface_coalesce_rx_us", "interface_pause_rx", "interface_pause_tx", "interface_eee"),
    *("interface_queues_rx", "interface_queues_tx", "interface_carrier"),
    *("udp_fast_send_threshold_bytes", "udp_default_receive_window_bytes", "tcp_1323_options"),
)
"""Facts that change only if someone changes the host; counters and self-tuning values are left
out."""

Facts = Mapping[str, Sequence[Mapping[str, Any]]]
"""Host → its facts in the order in which they were recorded."""


def links(
    series: Iterable[Series],
    link: Link | None,
    of_hosts: Collection[str],
    slower_links: Collection[str] = (),
    of_mesh: Collection[str] = (),
) -> tuple[Finding, ...]:
    """One finding per pairing whose best share of the ceiling is at most about a tenth, or matches
    another lower rate that links negotiate.

    ``of_hosts``: cells that a host limits. ``of_mesh``: cells that a finding about a mesh (several
    hosts, each measured with the others) already calls slow. If a pairing is fastest in one of
    these cells, its link is not suspected. ``slower_links``: pairings that already have a finding
    about a slower link.
    """
    if link is None:
        return ()
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
    findings = []
    for pairing, points in pairings.items():
        _, at_best, _ = max(points, key=lambda point: point[0])
        large = any(size >= LARGE_MESSAGE_BYTES for _, _, size in points)
        if pairing in slower_links or not large or at_best.cell in {*of_hosts, *of_mesh}:
            continue
        step = step_of(best[pairing] * link.rate_bit_per_s, link.rate_bit_per_s)
        if best[pairing] > FAR_BELOW and not (step and _several(points, step, link)):
            continue
        other_shares = [share for other_pairing, share in best.items() if other_pairing != pairing]
        findings.append(
            finding(
                Kind.LINK_FAR_BELOW,
                Group(pairing),
                tuple(dict.fromkeys(point.cell for _, point, _ in points)),
                {
                    "throughput_bit_per_s": max(at_best.values),
                    "ceiling_share": best[pairing],
                    "link_rate_bit_per_s": link.rate_bit_per_s,
                    "step_rate_bit_per_s": step,
                    "others_ceiling_share": max(other_shares, default=None),
                },
            )
        )
    return tuple(findings)


def _several(points: Iterable[tuple[float, Point, int]], step: float, link: Link) -> bool:
    """Whether enough cells reach the rate ``step`` to rule out chance."""
    at_step = [
        point
        for share, point, _ in points
        if step_of(share * link.rate_bit_per_s, link.rate_bit_per_s) == step
    ]
    ceilings = {round(point.highest_ceiling or 0) for point in at_step}
    return len(at_step) >= SEVERAL or (len(at_step) > 1 and len(ceilings) > 1)


def hosts(
    facts: Facts, link: Link | None, wired: Collection[str], routes: Facts | None = None
) -> tuple[Finding, ...]:
    """Findings from the facts of each host.

    ``wired``: the hosts that measured over a cable; the interfaces of other hosts do not matter.
    ``routes``: the facts of the interfaces of additional test addresses of the hosts.
    """
    return (
        *(result for host in facts for result in _changed(host, facts[host])),
        *(
            result
            for host in facts
            if host in wired
            for interface_facts in _interfaces(facts[host], (routes or {}).get(host, ()))
            for result in _interface(host, interface_facts, link)
        ),
        *_virtual(facts),
    )


def _changed(host: str, readings: Sequence[Mapping[str, Any]]) -> Iterator[Finding]:
    """Facts that differ between the readings. A reading without a value of a fact is ignored."""
    changes: dict[str, str] = {}
    for name in STEADY:
        values = [facts[name] for facts in readings if facts.get(name) not in (None, "")]
        differing = list(dict.fromkeys(str(value) for value in values))
        if len(differing) > 1:
            changes[name] = " → ".join(differing)
    if changes:
        yield finding(Kind.FACTS_CHANGED, Group(host=host), (), {"facts": len(changes)}, changes)


def _interfaces(
    readings: Sequence[Mapping[str, Any]], routes: Sequence[Mapping[str, Any]]
) -> Iterator[Mapping[str, Any]]:
    """The last facts of each interface: first the interface in the host's facts, then the
    interfaces of ``routes``.
    """
    followed: dict[str, Any] = {}
    for reading in readings:
        followed |= {name: value for name, value in reading.items() if value not in (None, "")}
    yield followed
    routes_by_interface: dict[str, Mapping[str, Any]] = {}
    for route in routes:
        routes_by_interface[str(route.get("route_interface", ""))] = route
    routes_by_interface.pop(str(followed.get("route_interface", "")), None)
    yield from routes_by_interface.values()


def _interface(host: str, facts: Mapping[str, Any], link: Link | None) -> Iterator[Finding]:
    name = str(facts.get("route_interface", ""))
    if name in LOOPBACK:
        return
    group, words = Group(host=host), {"interface": name}
    speed = as_number(facts.get("interface_speed_bit_per_s"))
    mtu_bytes = as_number(facts.get("interface_mtu_bytes"))
    if link is not None and speed and speed < link.rate_bit_per_s:
        figures = {"interface_speed_bit_per_s": speed, "link_rate_bit_per_s": link.rate_bit_per_s}
        yield finding(Kind.INTERFACE_SPEED, group, (), figures, words)
    if link is not None and mtu_bytes and mtu_bytes != link.mtu_bytes:
        figures = {"interface_mtu_bytes": mtu_bytes, "link_mtu_bytes": link.mtu_bytes}
        yield finding(Kind.INTERFACE_MTU, group, (), figures, words)
    if facts.get("interface_duplex") == "half":
        yield finding(Kind.INTERFACE_DUPLEX, group, (), {}, {**words, "duplex": "half"})


def _virtual(facts: Facts) -> Iterator[Finding]:
    """One finding for all hosts under one hypervisor."""
    under: dict[str, list[str]] = {}
    for host, readings in facts.items():
        names = {str(reading["virtual"]) for reading in readings if reading.get("virtual")}
        if len(names) == 1 and names != {"none"}:
            under.setdefault(names.pop(), []).append(host)
    for hypervisor, guests in under.items():
        words = {"hosts": ", ".join(guests), "hypervisor": hypervisor}
        yield finding(Kind.VIRTUAL_MACHINE, Group(), (), {"hosts": len(guests)}, words)
