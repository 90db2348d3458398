"""The plan of a lab: hosts, cables, names and addresses. Nothing here touches the system.

A plan is saved before its first piece is made, so that ``down`` knows all possible pieces after a
crash. Names follow from the lab's name and its slot. A slot is a number that no other lab of this
machine has; it determines addresses and interface names.
"""

from __future__ import annotations

import dataclasses
import ipaddress
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from netlab.errors import HostError
from netlab.lab.options import LEAST_IPV6_MTU_BYTES, UIDS_A_LAB, LabOptions, options_from_json

Network = ipaddress.IPv4Network | ipaddress.IPv6Network
Place = tuple[int, str]
"""The address ranges of a lab: its slot and its management network, with prefix length."""

SLOTS = 64
POOLS = (
    # RFC 2544 reserves 198.18.0.0/15 for such benchmarks, but some proxies use it.
    ("198.19.{slot}.0/24", "198.18.{slot}.0/24"),
    ("10.219.{slot}.0/24", "10.218.{slot}.0/24"),
    ("172.29.{slot}.0/24", "172.28.{slot}.0/24"),
)
"""Pairs of a management network and a test network, IPv4, in order of preference."""
TEST_IPV6 = "fd6e:6c61:62{slot:02x}::/64"
"""Unique local addresses (RFC 4193) that spell "nlab"."""

FIRST_UID = 70_000
"""First user id of the labs. Neither systemd (65536 to 524287) nor Debian (65536 and more) assigns
an id by itself from here up to 100000, where subordinate ids begin. Each host has an id of its own,
also across labs."""
SECOND = "second"
"""Name of the second test network, and of each host's interface in it."""
ROUTER = "router"
"""Name of the forwarding device in the topology ``router``, also in the lab's inventory."""
ACCOUNT = "netlab"
"""The account for logins."""
DEFAULT_QUEUE_FRAMES = 1000
DEFAULT_DEVICE_QUEUE_FRAMES = 50
"""Queue of a router in frames: short enough to lose frames within a test of one second."""


@dataclass(frozen=True, slots=True)
class LabHost:
    """One host: a network namespace, and in it an sshd with namespaces of its own."""

    name: str
    os: str
    """Operating system letter: L, or W for a host whose programs are Windows programs."""
    namespace: str
    port: str
    """Name of the interface at the root namespace's end of the host's management link."""
    management_address: str
    user: str
    uid: int
    addresses: tuple[str, ...]
    """Addresses in the network ``test``: IPv4, then IPv6 if the MTU allows it."""
    second: tuple[str, ...] = ()
    """Addresses in the network ``second``; empty if the host has no cable to it."""
    cpu_share: float | None = None
    """Share of one CPU for all processes of the host together; None: no limit."""

    @property
    def networks(self) -> Mapping[str, tuple[str, ...]]:
        """Name of a test network → the host's addresses in it."""
        return {"test": self.addresses, **({SECOND: self.second} if self.second else {})}


@dataclass(frozen=True, slots=True)
class CableEnd:
    """One end of a cable."""

    namespace: str
    interface: str
    addresses: tuple[str, ...]
    """Addresses with prefix length."""


@dataclass(frozen=True, slots=True)
class Cable:
    """A link between two hosts, or between a host and the switch or router."""

    ends: tuple[CableEnd, CableEnd]
    """The host's end, then the end at the other host, the switch or the router."""
    mtu: int
    rate: float | None
    """Rate in bit/s, as in LabOptions."""
    queue_frames: int
    software_checksums: bool
    device_rate: float | None = None
    """Rate in bit/s of the second end, if a router there forwards less than ``rate``."""
    device_queue_frames: int | None = None
    """Queue at the second end; None: as at the first end."""

    def shape_at(self, end: CableEnd) -> tuple[float | None, int]:
        """Rate in bit/s (None: unshaped) and queue in frames for sending from this end."""
        if end is self.ends[0]:
            return self.rate, self.queue_frames
        rates = [rate for rate in (self.rate, self.device_rate) if rate is not None]
        return min(rates, default=None), self.device_queue_frames or self.queue_frames


@dataclass(frozen=True, slots=True)
class LabPlan:
    """All pieces of a lab by their names."""

    name: str
    slot: int
    bridge: str
    """The management network's bridge, in the root namespace."""
    controller_address: str
    """Address of this bridge, with prefix length."""
    hosts: tuple[LabHost, ...]
    cables: tuple[Cable, ...]
    hosts_file: Path
    options: LabOptions
    switch: str | None = None
    """Namespace of the switch that connects all hosts; None: no switch."""
    router: str | None = None
    """Namespace of the router between two hosts; None: no router."""
    device: LabHost | None = None
    """The router as a host with a login, so that it can be observed."""

    @property
    def logins(self) -> tuple[LabHost, ...]:
        """All machines with an sshd, the hosts first."""
        return self.hosts if self.device is None else (*self.hosts, self.device)

    @property
    def place(self) -> Place:
        """The address ranges of the lab."""
        return self.slot, str(ipaddress.ip_interface(self.controller_address).network)

    @property
    def is_shaped(self) -> bool:
        """Whether a cable has a rate."""
        ends = [(cable, end) for cable in self.cables for end in cable.ends]
        return any(cable.shape_at(end)[0] is not None for cable, end in ends)

    def as_json(self) -> dict[str, Any]:
        """Plain data, the paths as text."""
        plain = dataclasses.asdict(self)
        plain["hosts_file"] = str(self.hosts_file)
        wish = self.options.hosts_file
        plain["options"]["hosts_file"] = None if wish is None else str(wish)
        return plain


def plan_from_json(plain: Mapping[str, Any]) -> LabPlan:
    """The inverse of ``LabPlan.as_json``."""
    cables = []
    for cable in plain["cables"]:
        first, second = (
            CableEnd(**{**end, "addresses": tuple(end["addresses"])}) for end in cable["ends"]
        )
        cables.append(Cable(**{**cable, "ends": (first, second)}))
    device = plain.get("device")
    return LabPlan(
        **{
            **plain,
            "hosts": tuple(map(_host_from_json, plain["hosts"])),
            "device": None if device is None else _host_from_json(device),
            "cables": tuple(cables),
            "hosts_file": Path(plain["hosts_file"]),
            "options": options_from_json(plain["options"]),
        }
    )


def _host_from_json(plain: Mapping[str, Any]) -> LabHost:
    listed = {name: tuple(plain.get(name, ())) for name in ("addresses", "second")}
    return LabHost(**{**plain, **listed})


def bridge_of(slot: int) -> str:
    """The bridge's name, and the prefix of its ports' names; each name has at most 15 bytes."""
    return f"nlab{slot}"


def make_plan(
    options: LabOptions,
    folder: Path,
    *,
    routes: Iterable[Network],
    taken_slots: Iterable[int],
    places: Mapping[str, Place] | None = None,
) -> LabPlan:
    """Plan the hosts and cables: one cable between two hosts, or one cable from each host to a
    switch or router.

    ``routes``: networks that this machine has routes to. ``taken_slots``: slots of other labs, and
    slots whose interface names exist. ``places``: address ranges of labs when they were up last, by
    name. A lab prefers the ranges that it had before; ranges that other labs had are the last
    choice. Raises HostError if every pool is in use.
    """
    candidates = _wanted(options.name, dict(places or {}))
    slot, management, test = _free_networks(candidates, list(routes), frozenset(taken_slots))
    first, second = _test_networks(options, slot, test)
    switch = f"netlab-{options.name}-switch" if options.switched else None
    router = f"netlab-{options.name}-{ROUTER}" if options.routed else None
    hosts: list[LabHost] = []
    plugs: list[CableEnd] = []
    sockets: list[CableEnd] = []
    for number, (name, os) in enumerate(options.hosts, start=1):
        near = _halves(first)[number - 1] if options.routed else first
        further = second if options.has_second(name) else []
        host = LabHost(
            name=name,
            os=os,
            **_management(options, slot, number, management, name),
            addresses=tuple(str(network[number + 1]) for network in near),
            second=tuple(str(network[number + 1]) for network in further),
            cpu_share=options.cpu_shares.get(name),
        )
        hosts.append(host)
        plugs.append(CableEnd(host.namespace, "test", _with_prefix(host.addresses, near)))
        if router is not None:
            gateways = [str(network[1]) for network in near]
            sockets.append(CableEnd(router, name, _with_prefix(gateways, near)))
        elif switch is not None:
            sockets.append(CableEnd(switch, name, ()))
    cables = _cables(hosts, plugs, sockets, options)
    return LabPlan(
        name=options.name,
        slot=slot,
        bridge=bridge_of(slot),
        controller_address=f"{management[1]}/{management.prefixlen}",
        hosts=tuple(hosts),
        cables=(*cables, *_second_cables(hosts, second, switch, options)),
        # `down` may be called from another folder.
        hosts_file=(options.hosts_file or folder / "hosts.yaml").absolute(),
        options=options,
        switch=switch,
        router=router,
        device=None if router is None else _device(options, slot, management, sockets),
    )


def _cables(
    hosts: list[LabHost], plugs: list[CableEnd], sockets: list[CableEnd], options: LabOptions
) -> list[Cable]:
    """One cable between two hosts, or one cable from each host to the switch or router.

    ``plugs`` are the hosts' ends of the cables, ``sockets`` the other ends, in the same order.
    """
    if not sockets:
        return [_cable(plugs, options)]
    ends = zip(hosts, plugs, sockets, strict=True)
    return [_cable((plug, socket), options, host.name) for host, plug, socket in ends]


def _management(
    options: LabOptions, slot: int, number: int, management: ipaddress.IPv4Network, name: str
) -> dict[str, Any]:
    """Address and account for logins to host ``number`` (from 1)."""
    return {
        "namespace": f"netlab-{options.name}-{name}",
        "port": f"{bridge_of(slot)}-{number}",
        "management_address": str(management[number + 1]),
        "user": ACCOUNT,
        "uid": FIRST_UID + slot * UIDS_A_LAB + number,
    }


def _device(
    options: LabOptions,
    slot: int,
    management: ipaddress.IPv4Network,
    sockets: Sequence[CableEnd],
) -> LabHost:
    """The router, with its addresses on the first host's side."""
    number = len(sockets) + 1
    addresses = (address.partition("/")[0] for address in sockets[0].addresses)
    return LabHost(
        name=ROUTER,
        os="L",
        **_management(options, slot, number, management, ROUTER),
        addresses=tuple(addresses),
    )


def _test_networks(
    options: LabOptions, slot: int, test: ipaddress.IPv4Network
) -> tuple[list[Network], list[Network]]:
    """The networks ``test`` and the networks ``second`` (if any), one per IP version."""
    networks: list[Network] = [test]
    if options.mtu >= LEAST_IPV6_MTU_BYTES:
        networks.append(ipaddress.IPv6Network(TEST_IPV6.format(slot=slot)))
    return (networks, []) if options.second_rate is None else _halves(networks)


def _cable(ends: Sequence[CableEnd], options: LabOptions, host: str = "") -> Cable:
    """The cable of ``host``; if ``host`` is empty, the cable between the lab's two hosts."""
    first, second = ends
    routers = DEFAULT_DEVICE_QUEUE_FRAMES if options.routed else None
    return Cable(
        ends=(first, second),
        mtu=options.mtus.get(host, options.mtu),
        rate=options.rates.get(host, options.rate),
        queue_frames=options.queue_frames or DEFAULT_QUEUE_FRAMES,
        software_checksums=options.checksums == "software",
        device_rate=options.device_rate,
        device_queue_frames=options.device_queue_frames or routers,
    )


def _halves(networks: list[Network]) -> tuple[list[Network], list[Network]]:
    """The first halves of the networks, and the second halves."""
    first: list[Network] = []
    second: list[Network] = []
    for network in networks:
        low, high = network.subnets(prefixlen_diff=1)
        first.append(low)
        second.append(high)
    return first, second


def _second_cables(
    hosts: Iterable[LabHost], networks: list[Network], switch: str | None, options: LabOptions
) -> Iterator[Cable]:
    """A further cable of each host that has addresses in the second network."""
    for host in hosts:
        if host.second and switch is not None:
            host_end = CableEnd(host.namespace, SECOND, _with_prefix(host.second, networks))
            switch_end = CableEnd(switch, f"{host.name}-2", ())
            yield dataclasses.replace(
                _cable((host_end, switch_end), options), rate=options.second_rate
            )


def _with_prefix(addresses: Iterable[str], networks: Iterable[Network]) -> tuple[str, ...]:
    """Each address with the prefix length of its network."""
    pairs = zip(addresses, networks, strict=True)
    return tuple(f"{address}/{network.prefixlen}" for address, network in pairs)


Candidate = tuple[int, ipaddress.IPv4Network, ipaddress.IPv4Network]
"""A slot, a management network and a test network."""


def _wanted(name: str, places: dict[str, Place]) -> list[Candidate]:
    """All candidates: the lab's previous ranges first, those of other labs last."""
    own = places.pop(name, None)
    other_slots = frozenset(slot for slot, _ in places.values())

    def order(candidate: Candidate) -> tuple[bool, bool]:
        slot, management, _ = candidate
        return (slot, str(management)) != own, slot in other_slots

    return sorted(_candidates(), key=order)


def _free_networks(
    candidates: Iterable[Candidate], networks_in_use: list[Network], taken_slots: frozenset[int]
) -> Candidate:
    for slot, management, test in candidates:
        networks = (management, test, ipaddress.ip_network(TEST_IPV6.format(slot=slot)))
        if slot not in taken_slots and not any(
            ours.version == theirs.version and ours.overlaps(theirs)
            for ours in networks
            for theirs in networks_in_use
        ):
            return slot, management, test
    raise HostError(
        "no free network for a lab: this machine has routes into all of 198.18.0.0/15, "
        "10.218.0.0/15 and 172.28.0.0/15, or too many labs are up"
    )


def _candidates() -> Iterator[Candidate]:
    for management, test in POOLS:
        for slot in range(SLOTS):
            yield (
                slot,
                ipaddress.IPv4Network(management.format(slot=slot)),
                ipaddress.IPv4Network(test.format(slot=slot)),
            )
