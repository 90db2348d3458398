"""What a host counted while frames passed: CPU time, and frames dropped, with their place. Pure.

    two readings of counters that only grow → what happened between them

A counter that a system does not tell is absent, before as after; so is what follows from it.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

PLACES = ("interface", "queue", "softnet", "socket")
"""Where a host drops frames: its interfaces; the queues in front of them; a CPU's backlog, which is
the whole machine's; the receiving socket."""

WAYS = ("sent", "received")
"""Ways of pause frames (IEEE 802.3 annex 31B): an interface asks its neighbour to wait, or is
asked. They hide loss: a queue that would have dropped frames fills the one before it."""

HOSTS = ("client", "server", *(f"observed_{number}" for number in range(1, 10)))
"""Keys of the hosts of a trial in its record: its ends, and those that are observed."""

OF_A_HOST = (
    *("busy_share", "busiest_core_share", "busiest_core"),
    *(f"{place}_dropped_frames" for place in PLACES),
    *(f"pause_frames_{way}" for way in WAYS),
)
"""What a record says of each of them, behind its key."""

_INTERFACE = ("interface_dropped_packets", "interface_errors")
_QUEUE = "interface_queue_dropped_packets"
_SOFTNET = "softnet_dropped_packets"
_ABOVE_OTHERS = frozenset(
    {
        *("802.1Q VLAN Support", "bonding", "team", "bridge", "openvswitch"),
        *("macvlan", "macvtap", "ipvlan", "ipvtap"),
        *("tun", "wireguard", "vxlan", "geneve"),
        *("ipip", "sit", "gre", "gretap", "erspan", "ip6tnl", "ip6gre", "ip6gretap"),
    }
)
"""Drivers, as Linux calls them, of interfaces whose frames another interface takes and sends."""


@dataclass(frozen=True, slots=True)
class Cpu:
    """How busy a host's CPUs were, all of them and the busiest one; shares from 0 to 1."""

    busy_share: float
    busiest_core_share: float
    busiest_core: int
    """Its number, as the system counts."""
    steal_share: float | None = None
    """Of all their time, what a hypervisor gave to others; ``None``: not told."""


@dataclass(frozen=True, slots=True)
class Counters:
    """A host's counters at one moment."""

    dropped: Mapping[str, int]
    """Place → frames, since the system started."""
    ticks: Mapping[int, tuple[int, int]] = field(default_factory=dict)
    """Number of a CPU → (busy, all) so far, in the system's own unit."""
    pauses: Mapping[str, int] = field(default_factory=dict)
    """Way of ``WAYS`` → pause frames of its interfaces, since these came up."""


@dataclass(frozen=True, slots=True)
class Watched:
    """What became of one host during a trial."""

    name: str
    """The host's."""
    cpu: Cpu | None
    """``None``: not told, or too short a time to tell."""
    dropped: Mapping[str, int]
    """Place of ``PLACES`` → frames; a place that is not counted is absent."""
    pauses: Mapping[str, int] = field(default_factory=dict)
    """Way of ``WAYS`` → pause frames; absent where an interface does not count them."""

    @property
    def dropped_on_the_way(self) -> int:
        """Frames that it dropped behind the sender's queue and in front of a receiver's socket: by
        an interface, by the backlog behind it, or counted by both.

        What the queue of a sender had no room for is told to the sender: it was never sent.
        """
        return max(self.dropped.get("interface", 0), self.dropped.get("softnet", 0))


def counters_in(facts: Sequence[Mapping[str, Any]], *, softnet: bool = True) -> Counters:
    """The counters in the `facts` of one host, one for each of its routes under test.

    An interface that several of the routes leave by is counted once. ``softnet``: whether the
    backlog is this host's own.
    """
    by_interface = {str(each.get("route_interface", "")): each for each in facts}
    dropped: dict[str, int] = {}
    for each in by_interface.values():
        for place, names in (("interface", _INTERFACE), ("queue", (_QUEUE,))):
            told = [int(each[name]) for name in names if name in each]
            if told:
                dropped[place] = dropped.get(place, 0) + sum(told)
    last = facts[-1] if facts else {}
    pauses = {
        way: sum(int(each[name]) for each in by_interface.values())
        for way in WAYS
        if facts and all((name := f"interface_pause_frames_{way}") in each for each in facts)
    }
    if softnet and _SOFTNET in last:
        dropped["softnet"] = int(last[_SOFTNET])
    return Counters(dropped, _ticks_in(last), pauses)


def drops_in(facts: Mapping[str, Any]) -> Counters:
    """The counters of drops in the `facts` of one route: those that hide none.

    An interface without a queue drops nothing in it. What lies above other interfaces (a VLAN, a
    bond, a bridge, a tunnel) does not count what these drop.
    """
    counters = counters_in([facts])
    counted = dict(counters.dropped)
    if facts.get("interface_qdisc") == "noqueue":
        counted.setdefault("queue", 0)
    if facts.get("interface_driver") in _ABOVE_OTHERS:
        for place in ("interface", "queue"):
            counted.pop(place, None)
    return Counters(counted, pauses=counters.pauses)


def dropped_between(before: Counters, after: Counters) -> dict[str, int]:
    """Place → frames dropped between two readings, where both tell."""
    return _grown(before.dropped, after.dropped)


def paused_between(before: Counters, after: Counters) -> dict[str, int]:
    """Way → pause frames between two readings, where both tell."""
    return _grown(before.pauses, after.pauses)


def _grown(before: Mapping[str, int], after: Mapping[str, int]) -> dict[str, int]:
    """By how much counters grew; none of them ever falls."""
    return {name: max(0, count - before[name]) for name, count in after.items() if name in before}


def cpu_between(before: Counters, after: Counters) -> Cpu | None:
    """How busy the CPUs were between two readings; ``None`` where no time passed or none is told.

    Of a CPU that came or went meanwhile, or whose counts went back, nothing is known.
    """
    spans = {
        number: (busy - before.ticks[number][0], total - before.ticks[number][1])
        for number, (busy, total) in after.ticks.items()
        if number in before.ticks
        and total > before.ticks[number][1]
        and busy >= before.ticks[number][0]
    }
    if not spans:
        return None
    shares = {number: busy / total for number, (busy, total) in spans.items()}
    busiest = max(shares, key=lambda number: shares[number])
    busy_all, total_all = (sum(each) for each in zip(*spans.values(), strict=True))
    return Cpu(busy_all / total_all, shares[busiest], busiest)


def cpu_in(result: Mapping[str, Any]) -> Cpu | None:
    """How busy a host was over a probe's own window, as its `result` has it; else ``None``."""
    names = ("host_busy_share", "host_busiest_core_share", "host_busiest_core")
    if any(name not in result for name in names):
        return None
    busy, core, number = (result[name] for name in names)
    return Cpu(busy, core, number, result.get("host_steal_share"))


def busiest(hosts: Iterable[Watched]) -> Watched | None:
    """The host with the busiest CPU of all; ``None`` where nothing is known of any."""
    known = [each for each in hosts if each.cpu is not None]
    return max(known, key=lambda each: each.cpu.busiest_core_share if each.cpu else 0, default=None)


def _ticks_in(facts: Mapping[str, Any]) -> dict[int, tuple[int, int]]:
    columns = [facts.get(f"cpu_{name}", []) for name in ("numbers", "busy_ticks", "total_ticks")]
    return {number: (busy, total) for number, busy, total in zip(*columns, strict=False)}
