"""What a lab is made of: hosts, cables, names and addresses. Pure; nothing here touches the system.

A plan is written down before the first piece of it is made, so that ``down`` knows after any
crash what may be there. Names follow from the lab's name and its slot; a slot is a number that no
other lab of this machine has, and decides addresses and interface names.
"""

from __future__ import annotations

import dataclasses
import ipaddress
import re
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from netlab.errors import HostError, UsageError

Network = ipaddress.IPv4Network | ipaddress.IPv6Network

SLOTS = 64
POOLS = (
    # RFC 2544 keeps 198.18.0.0/15 for benchmarks of this kind; some proxies squat on it.
    ("198.19.{slot}.0/24", "198.18.{slot}.0/24"),
    ("10.219.{slot}.0/24", "10.218.{slot}.0/24"),
    ("172.29.{slot}.0/24", "172.28.{slot}.0/24"),
)
"""Management network and test network, IPv4, in order of preference."""
TEST_IPV6 = "fd6e:6c61:62{slot:02x}::/64"
"""Unique local addresses (RFC 4193) that spell "nlab"."""

FIRST_UID = 59000
"""Below the numbers that Debian and systemd give away; one a host, so that labs do not share."""
UIDS_A_LAB = 8
MOST_LINUX_HOSTS = 6
MOST_WINDOWS_HOSTS = 4
SECOND = "second"
"""Name of the second test network, and of each host's interface in it."""
ACCOUNT = "netlab"
"""Whom one logs in as."""
LEAST_IPV6_MTU_BYTES = 1280
DEFAULT_QUEUE_FRAMES = 1000

_NAME = re.compile(r"[a-z0-9](?:[a-z0-9-]{0,18}[a-z0-9])?")


@dataclass(frozen=True, slots=True)
class LabOptions:
    """What the user asks for."""

    name: str = "lab"
    rate: float | None = None
    """Rate of the test cable in bit/s, Ethernet framing counted; None: as fast as the CPU is."""
    mtu: int = 1500
    """Bytes, 68 to 65535; below 1280 the cable has no IPv6."""
    queue_frames: int | None = None
    """Full frames that wait at each end of a shaped cable; None: 1000, as a network card has."""
    checksums: str = "offloaded"
    """``software``: the hosts compute and check every checksum, as a cable would need it."""
    hosts_file: Path | None = None
    """Where the inventory goes; None: into the lab's own folder."""
    windows: int = 0
    """Hosts whose programs are Windows programs, besides the Linux ones; 0 to 4."""
    linux: int = 2
    """Linux hosts, 2 to 6; more than two hosts are plugged into a switch."""
    second_rate: float | None = None
    """Rate in bit/s of a second cable of each host, into a switch of its own; None: there is none.
    """
    topology: str = "cable"
    """``router``: a device that forwards stands between the two hosts, with a cable to each."""
    device_rate: float | None = None
    """bit/s that the router forwards each way; None: as much as its cables carry."""
    device_queue_frames: int | None = None
    """Full frames that wait in it, each way; None: as many as at the hosts' ends."""

    def check(self) -> None:
        """Raise UsageError for what no lab can be made of."""
        self._check_hosts()
        if not _NAME.fullmatch(self.name):
            raise UsageError(
                f"--name {self.name}: a lab's name has 1 to 20 of a-z, 0-9 and -, such as lab-2"
            )
        for name, rate in (("--rate", self.rate), ("--second", self.second_rate)):
            if rate is not None and not 64e3 <= rate <= 400e9:
                raise UsageError(f"{name} {rate:g} bit/s: a cable has 64 kbit/s to 400 Gbit/s")
        if not 68 <= self.mtu <= 65535:
            raise UsageError(f"--mtu {self.mtu}: a cable carries 68 to 65535 bytes")
        if self.queue_frames is not None and self.queue_frames < 1:
            raise UsageError(f"--queue {self.queue_frames}: a queue holds 1 frame or more")
        if self.queue_frames is not None and self.rate is None:
            raise UsageError("--queue says nothing without --rate: an unshaped cable has no queue")
        if self.checksums not in {"offloaded", "software"}:
            raise UsageError(f"--checksums {self.checksums}: offloaded or software")

    def _check_hosts(self) -> None:
        if not 0 <= self.windows <= MOST_WINDOWS_HOSTS:
            raise UsageError(f"--windows {self.windows}: 1 to {MOST_WINDOWS_HOSTS} Windows hosts")
        if not 2 <= self.linux <= MOST_LINUX_HOSTS:
            raise UsageError(f"--linux {self.linux}: 2 to {MOST_LINUX_HOSTS} Linux hosts")
        if self.linux + self.windows >= UIDS_A_LAB:
            hosts = f"--linux {self.linux} --windows {self.windows}"
            raise UsageError(f"{hosts}: a lab has {UIDS_A_LAB - 1} hosts at most")
        if self.topology not in {"cable", "router"}:
            raise UsageError(f"--topology {self.topology}: cable or router")
        self._check_device()

    def _check_device(self) -> None:
        routed = self.topology == "router"
        if not routed and (self.device_rate, self.device_queue_frames) != (None, None):
            raise UsageError("--device-rate and --device-queue are of `--topology router`")
        if routed and (self.windows or self.linux > 2 or self.second_rate is not None):
            given = "--windows, --linux and --second"
            raise UsageError(f"{given}: a lab with a router has its two Linux hosts and no more")
        if self.device_rate is not None and not 64e3 <= self.device_rate <= 400e9:
            given = f"--device-rate {self.device_rate:g} bit/s"
            raise UsageError(f"{given}: a router forwards 64 kbit/s to 400 Gbit/s")
        if self.device_queue_frames is not None:
            if self.device_queue_frames < 1:
                given = f"--device-queue {self.device_queue_frames}"
                raise UsageError(f"{given}: a queue holds 1 frame or more")
            if self.device_rate is None and self.rate is None:
                raise UsageError("--device-queue says nothing without --device-rate or --rate")


@dataclass(frozen=True, slots=True)
class LabHost:
    """One host: a network namespace, and in it an sshd with namespaces of its own."""

    name: str
    os: str
    """Operating system letter: L, or W for one whose programs are Windows programs."""
    namespace: str
    port: str
    """The root namespace's end of its management link, an interface name."""
    management_address: str
    user: str
    uid: int
    addresses: tuple[str, ...]
    """Of the network ``test``: IPv4, then IPv6 where the MTU allows it."""
    second: tuple[str, ...] = ()
    """Of the network ``second``, the same; none where there is no such network."""

    @property
    def networks(self) -> Mapping[str, tuple[str, ...]]:
        """Name of a test network → the addresses in it."""
        return {"test": self.addresses, **({SECOND: self.second} if self.second else {})}


@dataclass(frozen=True, slots=True)
class CableEnd:
    """Where a cable is plugged in."""

    namespace: str
    interface: str
    addresses: tuple[str, ...]
    """With prefix length."""


@dataclass(frozen=True, slots=True)
class Cable:
    """A link between two hosts, or a host and the switch; the same in both directions."""

    ends: tuple[CableEnd, CableEnd]
    """A host's first; the switch's or the router's second."""
    mtu: int
    rate: float | None
    """bit/s, as in LabOptions."""
    queue_frames: int
    software_checksums: bool
    device_rate: float | None = None
    """bit/s that leave its second end, where that is a router's which forwards less."""
    device_queue_frames: int | None = None
    """What waits there; None: as at the first end."""

    def shape_at(self, end: CableEnd) -> tuple[float | None, int]:
        """Rate in bit/s (None: unshaped) and queue in frames of what leaves one of its ends."""
        if end is self.ends[0]:
            return self.rate, self.queue_frames
        rate = self.rate if self.device_rate is None else self.device_rate
        return rate, self.device_queue_frames or self.queue_frames


@dataclass(frozen=True, slots=True)
class LabPlan:
    """All pieces of a lab by their names."""

    name: str
    slot: int
    bridge: str
    """The management network's bridge, in the root namespace."""
    controller_address: str
    """With prefix length, of that bridge."""
    hosts: tuple[LabHost, ...]
    cables: tuple[Cable, ...]
    hosts_file: Path
    options: LabOptions
    switch: str | None = None
    """Namespace of the switch that more than two hosts are plugged into; None: a direct cable."""
    router: str | None = None
    """Namespace of the router between two hosts; None: there is none."""

    def as_json(self) -> dict[str, Any]:
        """Plain data, the paths as text."""
        plain = dataclasses.asdict(self)
        plain["hosts_file"] = str(self.hosts_file)
        wish = self.options.hosts_file
        plain["options"]["hosts_file"] = None if wish is None else str(wish)
        return plain


def plan_from_json(plain: Mapping[str, Any]) -> LabPlan:
    """The inverse of ``LabPlan.as_json``."""
    options = dict(plain["options"])
    if options["hosts_file"] is not None:
        options["hosts_file"] = Path(options["hosts_file"])
    cables = []
    for cable in plain["cables"]:
        first, second = (
            CableEnd(**{**end, "addresses": tuple(end["addresses"])}) for end in cable["ends"]
        )
        cables.append(Cable(**{**cable, "ends": (first, second)}))
    return LabPlan(
        **{
            **plain,
            "hosts": tuple(
                LabHost(**{**host, "addresses": tuple(host["addresses"]), "second": tuple(second)})
                for host in plain["hosts"]
                for second in [host.get("second", ())]
            ),
            "cables": tuple(cables),
            "hosts_file": Path(plain["hosts_file"]),
            "options": LabOptions(**options),
        }
    )


def bridge_of(slot: int) -> str:
    """The bridge's name, and the beginning of its ports' names; at most 15 bytes in all."""
    return f"nlab{slot}"


def make_plan(
    options: LabOptions, folder: Path, *, taken: Iterable[Network], taken_slots: Iterable[int]
) -> LabPlan:
    """Two Linux hosts and the cable between them; more hosts have a cable each to a switch.

    ``taken``: networks that this machine has routes to. ``taken_slots``: slots of other labs and of
    interfaces that bear our names. Raises HostError when every pool is taken.
    """
    slot, management, test = _free_networks(list(taken), frozenset(taken_slots))
    networks: list[Network] = [test]
    if options.mtu >= LEAST_IPV6_MTU_BYTES:
        networks.append(ipaddress.IPv6Network(TEST_IPV6.format(slot=slot)))
    routed = options.topology == "router"
    second: list[Network] = []
    if options.second_rate is not None:
        networks, second = _halves(networks)
    hosts = tuple(
        LabHost(
            name=name,
            os=os,
            namespace=f"netlab-{options.name}-{name}",
            port=f"{bridge_of(slot)}-{number}",
            management_address=str(management[number + 1]),
            user=ACCOUNT,
            uid=FIRST_UID + slot * UIDS_A_LAB + number,
            addresses=tuple(
                str(each[number + 1])
                for each in (_behind(number, networks) if routed else networks)
            ),
            second=tuple(str(network[number + 1]) for network in second),
        )
        for number, (name, os) in enumerate(_names(options), start=1)
    )
    switch = f"netlab-{options.name}-switch" if len(hosts) > 2 or second else None
    router = f"netlab-{options.name}-router" if routed else None
    ends = [
        _end(host, _behind(number, networks) if routed else networks)
        for number, host in enumerate(hosts, start=1)
    ]
    if router is not None:
        pairs = [
            (end, _port(router, host.name, _behind(number, networks)))
            for number, (end, host) in enumerate(zip(ends, hosts, strict=True), start=1)
        ]
    elif switch is None:
        pairs = [(ends[0], ends[1])]
    else:
        pairs = [
            (end, CableEnd(namespace=switch, interface=host.name, addresses=()))
            for end, host in zip(ends, hosts, strict=True)
        ]
    return LabPlan(
        name=options.name,
        slot=slot,
        bridge=bridge_of(slot),
        controller_address=f"{management[1]}/{management.prefixlen}",
        hosts=hosts,
        cables=(
            *(_cable(pair, options) for pair in pairs),
            *_second_cables(hosts, second, switch, options),
        ),
        # `down` may be called from another folder.
        hosts_file=(options.hosts_file or folder / "hosts.yaml").absolute(),
        options=options,
        switch=switch,
        router=router,
    )


def _names(options: LabOptions) -> Iterator[tuple[str, str]]:
    """Each host's name and the letter of its system."""
    for system, letter, count in (
        ("linux", "L", options.linux),
        ("windows", "W", options.windows),
    ):
        for suffix in "abcdef"[:count]:
            yield f"{system}-{suffix}", letter


def _cable(ends: tuple[CableEnd, CableEnd], options: LabOptions) -> Cable:
    return Cable(
        ends=ends,
        mtu=options.mtu,
        rate=options.rate,
        queue_frames=options.queue_frames or DEFAULT_QUEUE_FRAMES,
        software_checksums=options.checksums == "software",
        device_rate=options.device_rate,
        device_queue_frames=options.device_queue_frames,
    )


def _halves(networks: list[Network]) -> tuple[list[Network], list[Network]]:
    """The first half of each network, and the second."""
    first: list[Network] = []
    second: list[Network] = []
    for network in networks:
        low, high = network.subnets(prefixlen_diff=1)
        first.append(low)
        second.append(high)
    return first, second


def _second_cables(
    hosts: tuple[LabHost, ...], networks: list[Network], switch: str | None, options: LabOptions
) -> Iterator[Cable]:
    """A further cable of each host, where there is a second network."""
    if not networks or switch is None:
        return
    for host in hosts:
        addresses = tuple(
            f"{address}/{network.prefixlen}"
            for address, network in zip(host.second, networks, strict=True)
        )
        here = CableEnd(namespace=host.namespace, interface=SECOND, addresses=addresses)
        there = CableEnd(namespace=switch, interface=f"{host.name}-2", addresses=())
        cable = _cable((here, there), options)
        yield dataclasses.replace(cable, rate=options.second_rate)


def _end(host: LabHost, networks: list[Network]) -> CableEnd:
    addresses = tuple(
        f"{address}/{network.prefixlen}"
        for address, network in zip(host.addresses, networks, strict=True)
    )
    return CableEnd(namespace=host.namespace, interface="test", addresses=addresses)


def _behind(number: int, networks: list[Network]) -> list[Network]:
    """The networks of a host at a router: the first half of each for host 1, the second for 2."""
    return _halves(networks)[number - 1]


def _port(router: str, interface: str, networks: list[Network]) -> CableEnd:
    """The router's end of a host's cable: the first address of the network there."""
    addresses = tuple(f"{network[1]}/{network.prefixlen}" for network in networks)
    return CableEnd(namespace=router, interface=interface, addresses=addresses)


def _free_networks(
    taken: list[Network], taken_slots: frozenset[int]
) -> tuple[int, ipaddress.IPv4Network, ipaddress.IPv4Network]:
    for slot, management, test in _candidates():
        wanted = (management, test, ipaddress.ip_network(TEST_IPV6.format(slot=slot)))
        if slot not in taken_slots and not any(
            ours.version == theirs.version and ours.overlaps(theirs)
            for ours in wanted
            for theirs in taken
        ):
            return slot, management, test
    raise HostError(
        "no free network for a lab: this machine has routes into all of 198.18.0.0/15, "
        "10.218.0.0/15 and 172.28.0.0/15, or too many labs are up"
    )


def _candidates() -> Iterator[tuple[int, ipaddress.IPv4Network, ipaddress.IPv4Network]]:
    for management, test in POOLS:
        for slot in range(SLOTS):
            yield (
                slot,
                ipaddress.IPv4Network(management.format(slot=slot)),
                ipaddress.IPv4Network(test.format(slot=slot)),
            )
