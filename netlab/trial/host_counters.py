"""A host's counters during a trial: CPU time, and dropped frames by place.

A counter that a system does not report is absent, and so are the values derived from it.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from operator import itemgetter
from typing import Any

PLACES = ("interface", "queue", "softnet", "socket")
"""Where a host drops frames: at its interfaces; in the queues from which its interfaces send
(qdisc); in the backlog of its CPUs (softnet), which is counted for the whole machine; at the
receiving socket."""

WAYS = ("sent", "received")
"""Directions of pause frames (IEEE 802.3 annex 31B), by which an interface asks its neighbour to
wait, or is asked to wait. Pause frames hide loss: a full queue drops no frames, but stops the
neighbour, whose queue then fills."""

HOSTS = ("client", "server", *(f"observed_{number}" for number in range(1, 10)))
"""Keys of a trial's hosts in the trial's record: the two ends, and the observed hosts."""

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
"""Linux' names of drivers whose interfaces send and receive through other interfaces."""


@dataclass(frozen=True, slots=True)
class Cpu:
    """How busy a host's CPUs were, all of them together and the busiest one; shares from 0 to 1."""

    busy_share: float
    busiest_core_share: float
    busiest_core: int
    """Number of the busiest core, as the system counts cores."""
    steal_share: float | None = None
    """Share of all CPU time that a hypervisor gave to other machines; ``None``: unknown."""


@dataclass(frozen=True, slots=True)
class Counters:
    """A host's counters at one moment."""

    dropped: Mapping[str, int]
    """Place of ``PLACES`` → frames dropped since the system started."""
    ticks: Mapping[int, tuple[int, int]] = field(default_factory=dict)
    """Number of a CPU → busy time and total time so far, in the system's own unit."""
    pauses: Mapping[str, int] = field(default_factory=dict)
    """Direction of ``WAYS`` → pause frames of the host's interfaces since they came up."""

    def until(self, later: Counters) -> tuple[dict[str, int], dict[str, int]]:
        """Place → frames dropped, and direction → pause frames, between this reading and a later
        one, as far as both readings have them.
        """
        dropped, paused = (
            {name: max(0, count - first[name]) for name, count in last.items() if name in first}
            for first, last in ((self.dropped, later.dropped), (self.pauses, later.pauses))
        )
        return dropped, paused


@dataclass(frozen=True, slots=True)
class Watched:
    """The load and drops of one host during a trial."""

    name: str
    cpu: Cpu | None
    """Load of its CPUs; ``None``: not reported, or the time was too short."""
    dropped: Mapping[str, int]
    """Place of ``PLACES`` → dropped frames; a place that is not counted is absent."""
    pauses: Mapping[str, int] = field(default_factory=dict)
    """Direction of ``WAYS`` → pause frames; absent if an interface does not count them."""

    @property
    def dropped_on_the_way(self) -> int:
        """Frames that the host dropped between the sender's queue and a receiver's socket: at an
        interface, or in the backlog behind the interface.

        One drop may be counted in both places, so this is the larger of the two counts. Drops in a
        sender's own queue are not included: they are reported to the sender, and the dropped frames
        were never sent.
        """
        return max(self.dropped.get("interface", 0), self.dropped.get("softnet", 0))


def counters_in(facts: Sequence[Mapping[str, Any]], *, softnet: bool = True) -> Counters:
    """The counters of one host. ``facts``: what the host's probe reported for each tested route.

    An interface that several routes use is counted once. ``softnet``: whether the backlog
    counter counts the frames of this host alone; otherwise this counter is left out.
    """
    by_interface = {str(route.get("route_interface", "")): route for route in facts}
    drops: dict[str, int] = {}
    for route in by_interface.values():
        for place, names in (("interface", _INTERFACE), ("queue", (_QUEUE,))):
            counts = [int(route[name]) for name in names if name in route]
            if counts:
                drops[place] = drops.get(place, 0) + sum(counts)
    last = facts[-1] if facts else {}
    pauses = {
        way: sum(int(route[name]) for route in by_interface.values())
        for way in WAYS
        if facts and all((name := f"interface_pause_frames_{way}") in route for route in facts)
    }
    if softnet and _SOFTNET in last:
        drops["softnet"] = int(last[_SOFTNET])
    columns = [last.get(f"cpu_{name}", []) for name in ("numbers", "busy_ticks", "total_ticks")]
    ticks = {number: (busy, total) for number, busy, total in zip(*columns, strict=False)}
    return Counters(drops, ticks, pauses)


def drops_in(facts: Mapping[str, Any]) -> Counters:
    """The drop counters of one route, whose ``facts`` a probe reported. Counters that do not count
    all drops are left out.

    An interface without a queue cannot drop frames in a queue. An interface on top of others (a
    VLAN, a bond, a bridge, a tunnel) does not count the drops of these other interfaces, so its
    counters are left out.
    """
    counters = counters_in([facts])
    drops = dict(counters.dropped)
    if facts.get("interface_qdisc") == "noqueue":
        drops.setdefault("queue", 0)
    if facts.get("interface_driver") in _ABOVE_OTHERS:
        for place in ("interface", "queue"):
            drops.pop(place, None)
    return Counters(drops, pauses=counters.pauses)


def cpu_between(first_reading: Counters, last_reading: Counters) -> Cpu | None:
    """CPU load between two readings; ``None`` if no time passed or the CPUs are unknown.

    CPUs that were added or removed in between, or whose counts decreased, are left out.
    """
    spans: dict[int, tuple[int, int]] = {}
    for number, (busy, total) in last_reading.ticks.items():
        first_busy, first_total = first_reading.ticks.get(number, (busy, total))
        if total > first_total and busy >= first_busy:
            spans[number] = busy - first_busy, total - first_total
    if not spans:
        return None
    shares = {number: busy / total for number, (busy, total) in spans.items()}
    busiest = max(shares, key=shares.__getitem__)
    busy_all, total_all = (sum(ticks) for ticks in zip(*spans.values(), strict=True))
    return Cpu(busy_all / total_all, shares[busiest], busiest)


def cpu_in(result: Mapping[str, Any]) -> Cpu | None:
    """A host's CPU load in a probe's `result`; ``None`` if the result has no CPU load."""
    names = ("host_busy_share", "host_busiest_core_share", "host_busiest_core")
    if any(name not in result for name in names):
        return None
    busy, core, number = (result[name] for name in names)
    return Cpu(busy, core, number, result.get("host_steal_share"))


def busiest(hosts: Iterable[Watched]) -> Watched | None:
    """The host with the busiest CPU; ``None`` if no CPU load is known."""
    loads = [(host.cpu.busiest_core_share, host) for host in hosts if host.cpu is not None]
    return max(loads, key=itemgetter(0), default=(0.0, None))[1]
