"""The options of a lab, and its plan: hosts, cables, names and addresses; touches no system.

A plan is saved before its first piece is made, so that ``down`` knows all possible pieces after a
crash. Names follow from the lab's name and its slot, a number that no other lab of this machine
has; it determines addresses and interface names.
"""

from __future__ import annotations

import dataclasses
import ipaddress
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import chain
from pathlib import Path
from string import ascii_lowercase
from typing import Any

from netlab.errors import HostError, UsageError
from netlab.units import format_rate, plain_figures

MOST_LINUX_HOSTS = 60
"""All network namespaces of a machine share one table of neighbours, with 1024 entries for each IP
version by default: it is full when each of 60 hosts has talked to 17 others within 5 s. Memory (8
MB for each host) and addresses (126 in half of a /24) would be enough for more hosts."""
MOST_WINDOWS_HOSTS = 4
UIDS_A_LAB = 72
"""Number of user ids reserved for a lab: more than a lab has hosts and routers."""
ENDS_OF_A_ROUTER = 2
LEAST_IPV6_MTU_BYTES = 1280
LEAST_CPU_SHARE = 0.01
"""Minimum share of one CPU: 1 ms in each period, the minimum that the kernel accepts."""
MOST_CPU_SHARE = 64.0

_SUFFIXES = [*ascii_lowercase, *(f"{a}{b}" for a in "abc" for b in ascii_lowercase)]
"""Ends of the hosts' names: a to z, aa to az, ba …"""

_NAME = re.compile(r"[a-z0-9](?:[a-z0-9-]{0,18}[a-z0-9])?")


def check_name(name: str) -> None:
    """Raise UsageError for an invalid name of a lab: it is also the name of a folder."""
    if not _NAME.fullmatch(name):
        rule = "a lab's name has 1 to 20 characters a-z, 0-9 and -, such as lab-2"
        raise UsageError(f"--name {name}: {rule}")


def linux_of(in_all: int, windows: int, *, routed: bool) -> int:
    """Number of Linux hosts of ``in_all`` (``--number``); UsageError if no lab can have so many."""
    least, most = 2 + windows, MOST_LINUX_HOSTS + windows
    if routed:
        least = most = ENDS_OF_A_ROUTER
    if max(least, windows) <= in_all <= most:
        return in_all - windows
    options = f"--number {in_all}" + (f" --windows {windows}" if windows else "")
    if routed:
        raise UsageError(f"{options}: a lab with a router has two hosts, one at each end")
    why = ", at least two of them Linux" if windows else ""
    raise UsageError(f"{options}: a lab has {least} to {most} hosts{why}")


@dataclass(frozen=True, slots=True)
class LabOptions:
    """The options of a lab as the user gives them."""

    name: str = "lab"
    rate: float | None = None
    """Rate of the test cable in bit/s, with Ethernet framing; None: limited only by the CPU."""
    mtu: int = 1500
    """Bytes, 68 to 65535; below 1280 the cable has no IPv6."""
    queue_frames: int | None = None
    """Queue at each end of a shaped cable, in full frames; None: 1000, as a network card has."""
    checksums: str = "offloaded"
    """``software``: the hosts compute and check every checksum, as on a real cable."""
    hosts_file: Path | None = None
    """Path of the inventory; None: in the lab's folder."""
    windows: int = 0
    """Number of hosts with Windows programs, besides the Linux hosts; 0 to 4."""
    linux: int | None = None
    """Number of Linux hosts, 2 to 60. None: 2, but with a router 2 minus the number of Windows
    hosts."""
    second_rate: float | None = None
    """Rate in bit/s of a second cable, to a second switch; None: no second cable."""
    second_hosts: tuple[str, ...] = ()
    """The hosts that have a second cable; empty: all hosts."""
    topology: str = "cable"
    """``cable``: one cable directly between two hosts; with more hosts, each host has one cable to
    a switch. ``star``: a switch for two hosts as well. ``router``: a forwarding device between the
    two hosts."""
    device_rate: float | None = None
    """Rate in bit/s that the router forwards each way; None: the rate of its cables."""
    device_queue_frames: int | None = None
    """Queue of the router each way, in full frames; None: 50, as in a small router."""
    cpu_shares: Mapping[str, float] = field(default_factory=dict)
    """Host → share of one CPU for all processes of the host; other hosts are not limited."""
    rates: Mapping[str, float] = field(default_factory=dict)
    """Host → rate in bit/s of its own test cable, if it is not ``rate``."""
    mtus: Mapping[str, int] = field(default_factory=dict)
    """Host → MTU in bytes of its own test cable, if it is not ``mtu``."""
    frames: bool = False
    """Whether the account of the Linux hosts may send raw Ethernet frames (CAP_NET_RAW)."""
    sudo: bool = False
    """Whether the account of the Linux hosts may change settings of its host with ``sudo``."""

    @property
    def routed(self) -> bool:
        """Whether there is a router between the hosts."""
        return self.topology == "router"

    @property
    def hosts(self) -> tuple[tuple[str, str], ...]:
        """Each host's name and the letter of its system, the Linux hosts first."""
        linux = self.linux
        if linux is None:
            linux = max(0, ENDS_OF_A_ROUTER - self.windows) if self.routed else 2
        return tuple(
            (f"{system}-{suffix}", letter)
            for system, letter, count in (("linux", "L", linux), ("windows", "W", self.windows))
            for suffix in _SUFFIXES[:count]
        )

    @property
    def switched(self) -> bool:
        """Whether each host has its own cable to a switch."""
        several = len(self.hosts) > 2 or self.second_rate is not None
        return not self.routed and (several or self.topology == "star")

    def sends_frames(self, host: LabHost) -> bool:
        """Whether this host's account may send raw Ethernet frames."""
        return self.frames and host.os == "L"

    def changes_settings(self, host: LabHost) -> bool:
        """Whether this host's account may change settings of the host."""
        return self.sudo and host.os == "L" and host.name != ROUTER

    def check(self) -> None:
        """Raise UsageError for options that no lab can have."""
        for fault in chain(self._faults_of_hosts(), self._faults_of_cables()):
            raise UsageError(fault)

    def _faults_of_hosts(self) -> Iterator[str]:
        if self.routed and self.second_rate is not None:
            yield "--second: with `--topology router`, each host has only one cable"
        if self.routed and len(self.hosts) != ENDS_OF_A_ROUTER:
            words = [] if self.linux is None else [f"--linux {self.linux}"]
            words += [f"--windows {self.windows}"] if self.windows else []
            yield f"{' '.join(words)}: a lab with a router has two hosts, one at each end"
        if not self.routed and self.linux is not None and not 2 <= self.linux <= MOST_LINUX_HOSTS:
            yield f"--linux {self.linux}: a lab has 2 to {MOST_LINUX_HOSTS} Linux hosts"
        if not self.routed and (self.device_rate, self.device_queue_frames) != (None, None):
            yield "--device-rate and --device-queue need `--topology router`"
        if self.device_rate is not None and not 64e3 <= self.device_rate <= 400e9:
            option = f"--device-rate {format_rate(self.device_rate)}"
            yield f"{option}: a router forwards 64 kbit/s to 400 Gbit/s"
        rates = (self.device_rate, self.rate)
        if self.device_queue_frames is not None and rates == (None, None):
            yield "--device-queue needs --device-rate or --rate"
        names = [name for name, _ in self.hosts]
        for option, hosts in (
            ("--cpu-quota", self.cpu_shares),
            ("--rate-of", self.rates),
            ("--mtu-of", self.mtus),
            ("--second-of", self.second_hosts),
        ):
            if strangers := [host for host in hosts if host not in names]:
                yield f"{option} {strangers[0]}: no such host; this lab has {', '.join(names)}"

    def _faults_of_cables(self) -> Iterator[str]:
        if (self.rates or self.mtus) and not (self.switched or self.routed):
            yield (
                "--rate-of, --mtu-of: the two hosts share one cable with one --rate and --mtu; "
                "--topology star gives each host its own cable"
            )
        if self.second_hosts and self.second_rate is None:
            yield "--second-of needs --second RATE"
        for host, mtu in self.mtus.items():
            if not LEAST_IPV6_MTU_BYTES <= mtu <= 65535:
                yield f"--mtu-of {host}={mtu}: should be {LEAST_IPV6_MTU_BYTES} to 65535 bytes"
        for host, share in self.cpu_shares.items():
            if not LEAST_CPU_SHARE <= share <= MOST_CPU_SHARE:
                option = f"--cpu-quota {host}={plain_figures(100 * share, 6)}%"
                yield f"{option}: should be 1 % of a CPU to {100 * MOST_CPU_SHARE:g} % (64 CPUs)"
        check_name(self.name)
        of_hosts = [(f"--rate-of {host}", rate) for host, rate in self.rates.items()]
        for name, rate in (("--rate", self.rate), ("--second", self.second_rate), *of_hosts):
            if rate is not None and not 64e3 <= rate <= 400e9:
                yield f"{name} {format_rate(rate)}: a cable has 64 kbit/s to 400 Gbit/s"
        if self.queue_frames is not None and self.rate is None and not self.rates:
            yield "--queue needs --rate: an unshaped cable has no queue"


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


@dataclass(frozen=True, slots=True)
class Cable:
    """A link between two hosts, or between a host and the switch or router."""

    ends: tuple[CableEnd, CableEnd]
    """The host's end, then the end at the other host, the switch or the router."""
    mtu: int
    rate: float | None
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
        ends = tuple(CableEnd(**_with_tuples(end, "addresses")) for end in cable["ends"])
        cables.append(Cable(**{**cable, "ends": ends}))
    hosts = [LabHost(**_with_tuples(host, "addresses", "second")) for host in plain["hosts"]]
    device, options = plain.get("device"), _with_tuples(plain["options"], "second_hosts")
    file = options["hosts_file"]
    own = {
        "hosts": tuple(hosts),
        "device": device and LabHost(**_with_tuples(device, "addresses", "second")),
        "cables": tuple(cables),
        "hosts_file": Path(plain["hosts_file"]),
        "options": LabOptions(**{**options, "hosts_file": None if file is None else Path(file)}),
    }
    return LabPlan(**{**plain, **own})


def _with_tuples(plain: Mapping[str, Any], *names: str) -> dict[str, Any]:
    """JSON data in which the lists with these names are tuples; a missing one is empty."""
    return {**plain, **{name: tuple(plain.get(name, ())) for name in names}}


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
    """Plan the hosts and cables. Raises HostError if every pool of addresses is in use.

    ``routes``: networks that this machine has routes to. ``taken_slots``: slots of other labs, and
    slots whose interface names exist. ``places``: address ranges of labs when they were up last, by
    name. A lab prefers its own ranges; those of other labs are the last choice.
    """
    slot, management, first = _free_networks(options.name, places or {}, list(routes), taken_slots)
    first = first if options.mtu >= LEAST_IPV6_MTU_BYTES else first[:1]
    first, second = (first, []) if options.second_rate is None else _halves(first)
    switch = f"netlab-{options.name}-switch" if options.switched else None
    router = f"netlab-{options.name}-{ROUTER}" if options.routed else None
    hosts: list[LabHost] = []
    plugs: list[CableEnd] = []
    sockets: list[CableEnd] = []
    more: list[Cable] = []
    for number, (name, os) in enumerate(options.hosts, start=1):
        near = _halves(first)[number - 1] if options.routed else first
        further = second if name in (options.second_hosts or dict(options.hosts)) else []
        host = dataclasses.replace(
            _machine(options, slot, management, number, name, os, _nth(near, number + 1)),
            second=_nth(further, number + 1),
            cpu_share=options.cpu_shares.get(name),
        )
        hosts.append(host)
        plugs.append(CableEnd(host.namespace, "test", _with_prefix(host.addresses, near)))
        if router is not None:
            sockets.append(CableEnd(router, name, _with_prefix(_nth(near, 1), near)))
        elif switch is not None:
            sockets.append(CableEnd(switch, name, ()))
            if further:
                end = CableEnd(host.namespace, SECOND, _with_prefix(host.second, further))
                cable = _cable((end, CableEnd(switch, f"{name}-2", ())), options)
                more.append(dataclasses.replace(cable, rate=options.second_rate))
    pairs = zip(plugs, sockets, strict=True) if sockets else [plugs]
    device = None
    if router is not None:
        of_first_host = _nth(_halves(first)[0], 1)
        device = _machine(options, slot, management, len(hosts) + 1, ROUTER, "L", of_first_host)
    return LabPlan(
        name=options.name,
        slot=slot,
        bridge=bridge_of(slot),
        controller_address=f"{management[1]}/{management.prefixlen}",
        hosts=tuple(hosts),
        cables=(*(_cable(pair, options) for pair in pairs), *more),
        # `down` may be called from another folder.
        hosts_file=(options.hosts_file or folder / "hosts.yaml").absolute(),
        options=options,
        switch=switch,
        router=router,
        device=device,
    )


def _machine(
    options: LabOptions,
    slot: int,
    management: ipaddress.IPv4Network,
    number: int,
    name: str,
    os: str,
    addresses: tuple[str, ...],
) -> LabHost:
    """A host or the router, with the address and the account for logins; ``number``: from 1."""
    return LabHost(
        name=name,
        os=os,
        namespace=f"netlab-{options.name}-{name}",
        port=f"{bridge_of(slot)}-{number}",
        management_address=str(management[number + 1]),
        user=ACCOUNT,
        uid=FIRST_UID + slot * UIDS_A_LAB + number,
        addresses=addresses,
    )


def _cable(ends: Sequence[CableEnd], options: LabOptions) -> Cable:
    """The cable of a host, whose name the end at the switch or router has, or of both hosts."""
    first, second = ends
    host = second.interface
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
    halves: list[list[Network]] = [[*network.subnets(prefixlen_diff=1)] for network in networks]
    return [low for low, _ in halves], [high for _, high in halves]


def _nth(networks: Iterable[Network], place: int) -> tuple[str, ...]:
    """The address at this place in each network."""
    return tuple(str(network[place]) for network in networks)


def _with_prefix(addresses: Iterable[str], networks: Iterable[Network]) -> tuple[str, ...]:
    """Each address with the prefix length of its network."""
    pairs = zip(addresses, networks, strict=True)
    return tuple(f"{address}/{network.prefixlen}" for address, network in pairs)


def _free_networks(
    name: str, places: Mapping[str, Place], in_use: list[Network], taken_slots: Iterable[int]
) -> tuple[int, ipaddress.IPv4Network, list[Network]]:
    """A slot, a management network, and a test network of each IP version."""
    own, taken = places.get(name), frozenset(taken_slots)
    others = {slot for lab, (slot, _) in places.items() if lab != name}
    candidates = [
        (slot, management.format(slot=slot), test.format(slot=slot))
        for management, test in POOLS
        for slot in range(SLOTS)
    ]
    # The lab's previous ranges come first, those of other labs last.
    candidates.sort(key=lambda one: (one[:2] != own, one[0] in others))
    for slot, *texts in candidates:
        management, test = map(ipaddress.IPv4Network, texts)
        tests: list[Network] = [test, ipaddress.IPv6Network(TEST_IPV6.format(slot=slot))]
        if slot not in taken and not any(
            one.version == theirs.version and one.overlaps(theirs)
            for one in (management, *tests)
            for theirs in in_use
        ):
            return slot, management, tests
    raise HostError(
        "no free network for a lab: this machine has routes into all of 198.18.0.0/15, "
        "10.218.0.0/15 and 172.28.0.0/15, or too many labs are up"
    )
