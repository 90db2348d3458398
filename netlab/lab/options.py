"""What the user asks of a lab, and what no lab can be made of. Pure."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from netlab.errors import UsageError
from netlab.units import format_rate, plain_figures

MOST_LINUX_HOSTS = 6
MOST_WINDOWS_HOSTS = 4
UIDS_A_LAB = 8
"""Numbers of accounts that a lab keeps for itself: one a host, and one more."""
ENDS_OF_A_ROUTER = 2
TOPOLOGIES = ("cable", "star", "router")
LEAST_IPV6_MTU_BYTES = 1280
LEAST_CPU_SHARE = 0.01
"""Of one CPU: a millisecond in each period of the kernel's, the least that it takes."""
MOST_CPU_SHARE = 64.0

_NAME = re.compile(r"[a-z0-9](?:[a-z0-9-]{0,18}[a-z0-9])?")


def check_name(name: str) -> None:
    """Raise UsageError for what is no lab's name: names are those of folders, too."""
    if not _NAME.fullmatch(name):
        raise UsageError(
            f"--name {name}: a lab's name has 1 to 20 of a-z, 0-9 and -, such as lab-2"
        )


def linux_of(in_all: int, windows: int, *, routed: bool) -> int:
    """The Linux hosts of a lab with so many hosts, as ``--number`` says it; UsageError where no
    lab has so many.
    """
    least, most = 2 + windows, min(MOST_LINUX_HOSTS + windows, UIDS_A_LAB - 1)
    if routed:
        least = most = ENDS_OF_A_ROUTER
    if max(least, windows) <= in_all <= most:
        return in_all - windows
    given = f"--number {in_all}" + (f" --windows {windows}" if windows else "")
    if routed:
        raise UsageError(f"{given}: a lab with a router has two hosts, one at each end")
    why = ", two of Linux at least" if windows else ""
    raise UsageError(f"{given}: a lab has {least} to {most} hosts{why}")


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
    linux: int | None = None
    """Linux hosts, 2 to 6; None: 2, or at a router what its two ends leave."""
    second_rate: float | None = None
    """Rate in bit/s of a second cable, into a switch of its own; None: there is none."""
    second_hosts: tuple[str, ...] = ()
    """The hosts that have a second cable; none named: all."""
    topology: str = "cable"
    """``cable``: straight between two hosts; more hosts have a cable each into a switch, as two
    have with ``star``. ``router``: a device that forwards stands between the two."""
    device_rate: float | None = None
    """bit/s that the router forwards each way; None: as much as its cables carry."""
    device_queue_frames: int | None = None
    """Full frames that wait in it, each way; None: 50, as a small router has."""
    cpu_shares: Mapping[str, float] = field(default_factory=dict)
    """Host → how much of one CPU all its processes have together; no other host is kept short."""
    rates: Mapping[str, float] = field(default_factory=dict)
    """Host → rate in bit/s of its own test cable, where it is not ``rate``."""
    mtus: Mapping[str, int] = field(default_factory=dict)
    """Host → MTU in bytes of its own test cable, where it is not ``mtu``."""
    frames: bool = False
    """Whether the account of the Linux hosts may send frames of its own (CAP_NET_RAW)."""

    @property
    def routed(self) -> bool:
        """Whether a router stands between the hosts."""
        return self.topology == "router"

    @property
    def hosts(self) -> tuple[tuple[str, str], ...]:
        """Each host's name and the letter of its system, the Linux ones first."""
        linux = self.linux
        if linux is None:
            linux = max(0, ENDS_OF_A_ROUTER - self.windows) if self.routed else 2
        return tuple(
            (f"{system}-{suffix}", letter)
            for system, letter, count in (("linux", "L", linux), ("windows", "W", self.windows))
            for suffix in "abcdef"[:count]
        )

    @property
    def switched(self) -> bool:
        """Whether each host has a cable of its own into a switch."""
        several = len(self.hosts) > 2 or self.second_rate is not None
        return not self.routed and (several or self.topology == "star")

    def has_second(self, host: str) -> bool:
        """Whether that host has a second cable."""
        return self.second_rate is not None and host in (self.second_hosts or dict(self.hosts))

    def check(self) -> None:
        """Raise UsageError for what no lab can be made of."""
        self._check_hosts()
        check_name(self.name)
        of_hosts = [(f"--rate-of {host}", rate) for host, rate in self.rates.items()]
        for name, rate in (("--rate", self.rate), ("--second", self.second_rate), *of_hosts):
            if rate is not None and not 64e3 <= rate <= 400e9:
                raise UsageError(f"{name} {format_rate(rate)}: a cable has 64 kbit/s to 400 Gbit/s")
        if not 68 <= self.mtu <= 65535:
            raise UsageError(f"--mtu {self.mtu}: a cable carries 68 to 65535 bytes")
        if self.queue_frames is not None and self.queue_frames < 1:
            raise UsageError(f"--queue {self.queue_frames}: a queue holds 1 frame or more")
        if self.queue_frames is not None and self.rate is None and not self.rates:
            raise UsageError("--queue says nothing without --rate: an unshaped cable has no queue")
        if self.checksums not in {"offloaded", "software"}:
            raise UsageError(f"--checksums {self.checksums}: offloaded or software")

    def _check_hosts(self) -> None:
        if self.topology not in TOPOLOGIES:
            raise UsageError(f"--topology {self.topology}: cable, star or router")
        if not 0 <= self.windows <= MOST_WINDOWS_HOSTS:
            raise UsageError(f"--windows {self.windows}: 1 to {MOST_WINDOWS_HOSTS} Windows hosts")
        if self.routed:
            self._check_ends()
        elif self.linux is not None and not 2 <= self.linux <= MOST_LINUX_HOSTS:
            raise UsageError(f"--linux {self.linux}: 2 to {MOST_LINUX_HOSTS} Linux hosts")
        if len(self.hosts) >= UIDS_A_LAB:
            hosts = f"--linux {self.linux} --windows {self.windows}"
            raise UsageError(f"{hosts}: a lab has {UIDS_A_LAB - 1} hosts at most")
        self._check_device()
        self._check_named_hosts()

    def _check_ends(self) -> None:
        if self.second_rate is not None:
            raise UsageError("--second: a host at a router has one cable")
        if len(self.hosts) != ENDS_OF_A_ROUTER:
            given = [] if self.linux is None else [f"--linux {self.linux}"]
            given += [f"--windows {self.windows}"] if self.windows else []
            hosts = " ".join(given)
            raise UsageError(f"{hosts}: a lab with a router has two hosts, one at each end")

    def _check_device(self) -> None:
        if not self.routed and (self.device_rate, self.device_queue_frames) != (None, None):
            raise UsageError("--device-rate and --device-queue are of `--topology router`")
        if self.device_rate is not None and not 64e3 <= self.device_rate <= 400e9:
            given = f"--device-rate {format_rate(self.device_rate)}"
            raise UsageError(f"{given}: a router forwards 64 kbit/s to 400 Gbit/s")
        if self.device_queue_frames is not None:
            if self.device_queue_frames < 1:
                given = f"--device-queue {self.device_queue_frames}"
                raise UsageError(f"{given}: a queue holds 1 frame or more")
            if self.device_rate is None and self.rate is None:
                raise UsageError("--device-queue says nothing without --device-rate or --rate")

    def _check_named_hosts(self) -> None:
        """What is said of one host by its name."""
        names = [name for name, _ in self.hosts]
        for option, given in (
            ("--cpu-quota", self.cpu_shares),
            ("--rate-of", self.rates),
            ("--mtu-of", self.mtus),
            ("--second-of", self.second_hosts),
        ):
            for host in given:
                if host not in names:
                    raise UsageError(f"{option} {host}: this lab has {', '.join(names)}")
        if (self.rates or self.mtus) and not (self.switched or self.routed):
            raise UsageError(
                "--rate-of, --mtu-of: two hosts have one cable between them, whose --rate and "
                "--mtu hold for both; give each its own with --topology star"
            )
        if self.second_hosts and self.second_rate is None:
            raise UsageError("--second-of says nothing without --second RATE")
        for host, mtu in self.mtus.items():
            if not LEAST_IPV6_MTU_BYTES <= mtu <= 65535:
                raise UsageError(f"--mtu-of {host}={mtu}: {LEAST_IPV6_MTU_BYTES} to 65535 bytes")
        for host, share in self.cpu_shares.items():
            if not LEAST_CPU_SHARE <= share <= MOST_CPU_SHARE:
                option = f"--cpu-quota {host}={plain_figures(100 * share, 6)}%"
                raise UsageError(f"{option}: 1 % of a CPU to {100 * MOST_CPU_SHARE:g} %, 64 CPUs")


def options_from_json(plain: Mapping[str, Any]) -> LabOptions:
    """The inverse of ``dataclasses.asdict`` and JSON, the path as text."""
    file = plain["hosts_file"]
    return LabOptions(
        **{
            **plain,
            "hosts_file": None if file is None else Path(file),
            "second_hosts": tuple(plain["second_hosts"]),
        }
    )
