"""Suspicion: links and hosts whose figures are not what the matrix takes them for. Pure.

Links by what pairings reach of them, hosts by their facts before, in the course of and after a run.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from typing import Any

from netlab.experiment.matrix import Link
from netlab.findings.evidence import number
from netlab.findings.finding import Finding, Group, Kind, finding
from netlab.findings.framing import step_of
from netlab.findings.series import Point, Series
from netlab.findings.traffic.interfaces import LOOPBACK

FAR_BELOW = 0.11
"""Most of the ceiling that a pairing may reach to be called far below its link: links negotiate
tenths of their rate, and a little of clocks goes on top."""

SEVERAL = 3
"""Cells at one rate that links negotiate; of different ceilings two will do."""

LARGE_MESSAGE_BYTES = 700
"""Some message of a pairing must be half a frame or more: of small ones a host may send too few."""

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
"""Facts that stay while nobody changes a host; counters and what balances itself are none."""

Facts = Mapping[str, Sequence[Mapping[str, Any]]]
"""Host → its facts as they were noted, one after the other."""


def links(
    series: Iterable[Series],
    link: Link | None,
    of_hosts: Collection[str],
    slower_links: Collection[str] = (),
    of_mesh: Collection[str] = (),
) -> tuple[Finding, ...]:
    """One finding a pairing that nowhere reaches more than a tenth of what its link carries, or
    more than another link that is negotiated.

    ``of_hosts`` are the cells that a host's own speed limits: where the best is one of them the
    link is under no suspicion. ``slower_links`` are pairings of which it is said already, and
    ``of_mesh`` cells that are slow with a host or pair that is named.
    """
    if link is None:
        return ()
    pairings: dict[str, list[tuple[float, Point, int]]] = {}
    for each in series:
        size = each.group.message_bytes
        if each.test != "stream" or size is None:
            continue
        for point in each.measured:
            if point.highest_ceiling and not point.paced and not point.same_host:
                share = max(point.values) / point.highest_ceiling
                pairings.setdefault(each.group.pairing, []).append((share, point, size))
    best = {pairing: max(share for share, _, _ in those) for pairing, those in pairings.items()}
    found = []
    for pairing, those in pairings.items():
        _, at_best, _ = max(those, key=lambda each: each[0])
        large = any(size >= LARGE_MESSAGE_BYTES for _, _, size in those)
        if pairing in slower_links or not large or at_best.cell in {*of_hosts, *of_mesh}:
            continue
        step = step_of(best[pairing] * link.rate_bit_per_s, link.rate_bit_per_s)
        if best[pairing] > FAR_BELOW and not (step and _several(those, step, link)):
            continue
        others = [share for other, share in best.items() if other != pairing]
        found.append(
            finding(
                Kind.LINK_FAR_BELOW,
                Group(pairing),
                tuple(dict.fromkeys(point.cell for _, point, _ in those)),
                {
                    "throughput_bit_per_s": max(at_best.values),
                    "ceiling_share": best[pairing],
                    "link_rate_bit_per_s": link.rate_bit_per_s,
                    "step_rate_bit_per_s": step,
                    "others_ceiling_share": max(others, default=None),
                },
            )
        )
    return tuple(found)


def _several(those: Iterable[tuple[float, Point, int]], step: float, link: Link) -> bool:
    """Whether so many cells come to that rate that it is none by chance."""
    at = [
        point
        for share, point, _ in those
        if step_of(share * link.rate_bit_per_s, link.rate_bit_per_s) == step
    ]
    ceilings = {round(point.highest_ceiling or 0) for point in at}
    return len(at) >= SEVERAL or (len(at) > 1 and len(ceilings) > 1)


def hosts(
    facts: Facts, link: Link | None, wired: Collection[str], routes: Facts | None = None
) -> tuple[Finding, ...]:
    """What the facts of each host say against it.

    ``wired`` are the hosts that measured over a cable: only of these the interface matters, and
    those behind their other test addresses, of which ``routes`` has the facts.
    """
    return (
        *(found for host in facts for found in _changed(host, facts[host])),
        *(
            found
            for host in facts
            if host in wired
            for told in _interfaces(facts[host], (routes or {}).get(host, ()))
            for found in _interface(host, told, link)
        ),
        *_virtual(facts),
    )


def _changed(host: str, noted: Sequence[Mapping[str, Any]]) -> Iterator[Finding]:
    """Facts that were not the same each time that they were read; one that is absent says nothing.

    An interface's facts are compared only while the route goes over the same one.
    """
    changed: dict[str, str] = {}
    for name in STEADY:
        known = [facts[name] for facts in noted if facts.get(name) not in (None, "")]
        differing = list(dict.fromkeys(str(value) for value in known))
        if len(differing) > 1:
            changed[name] = " → ".join(differing)
    if changed:
        yield finding(Kind.FACTS_CHANGED, Group(host=host), (), {"facts": len(changed)}, changed)


def _interfaces(
    noted: Sequence[Mapping[str, Any]], routes: Sequence[Mapping[str, Any]]
) -> Iterator[Mapping[str, Any]]:
    """What was told last of each interface: of the one that a host's facts follow, and others."""
    followed: dict[str, Any] = {}
    for each in noted:
        followed |= {name: value for name, value in each.items() if value not in (None, "")}
    yield followed
    others: dict[str, Mapping[str, Any]] = {}
    for each in routes:
        others[str(each.get("route_interface", ""))] = each
    others.pop(str(followed.get("route_interface", "")), None)
    yield from others.values()


def _interface(host: str, last: Mapping[str, Any], link: Link | None) -> Iterator[Finding]:
    name = str(last.get("route_interface", ""))
    if name in LOOPBACK:
        return
    group, words = Group(host=host), {"interface": name}
    speed = number(last.get("interface_speed_bit_per_s"))
    mtu_bytes = number(last.get("interface_mtu_bytes"))
    if link is not None and speed and speed < link.rate_bit_per_s:
        told = {"interface_speed_bit_per_s": speed, "link_rate_bit_per_s": link.rate_bit_per_s}
        yield finding(Kind.LINK_SPEED, group, (), told, words)
    if link is not None and mtu_bytes and mtu_bytes != link.mtu_bytes:
        told = {"interface_mtu_bytes": mtu_bytes, "link_mtu_bytes": link.mtu_bytes}
        yield finding(Kind.LINK_MTU, group, (), told, words)
    if last.get("interface_duplex") == "half":
        yield finding(Kind.DUPLEX, group, (), {}, {**words, "duplex": "half"})


def _virtual(facts: Facts) -> Iterator[Finding]:
    """One finding for all hosts under one hypervisor."""
    under: dict[str, list[str]] = {}
    for host, noted in facts.items():
        names = {str(each["virtual"]) for each in noted if each.get("virtual")}
        if len(names) == 1 and names != {"none"}:
            under.setdefault(names.pop(), []).append(host)
    for hypervisor, names_of in under.items():
        words = {"hosts": ", ".join(names_of), "hypervisor": hypervisor}
        yield finding(Kind.VIRTUAL_MACHINE, Group(), (), {"hosts": len(names_of)}, words)
