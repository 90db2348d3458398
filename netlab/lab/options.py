"""The options of a lab, and their checks."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from string import ascii_lowercase
from typing import Any

from netlab.errors import UsageError
from netlab.units import format_rate, plain_figures

MOST_LINUX_HOSTS = 60
"""All network namespaces of a machine share one table of neighbours, with 1024 entries for each IP
version by default: it is full when each of 60 hosts has talked to 17 others within 5 s. Memory (8
MB for each host) and addresses (126 in half of a /24) would be enough for more hosts."""
MOST_WINDOWS_HOSTS = 4
UIDS_A_LAB = 72
"""Number of user ids reserved for a lab: more than a lab has hosts and routers."""
ENDS_OF_A_ROUTER = 2
TOPOLOGIES = ("cable", "star", "router")
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
        raise UsageError(
            f"--name {name}: a lab's name has 1 to 20 characters a-z, 0-9 and -, such as lab-2"
        )


def linux_of(in_all: int, windows: int, *, routed: bool) -> int:
    """Number of Linux hosts in a lab with ``in_all`` hosts (``--number``). Raises UsageError if no
    lab can have this number.
    """
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

    def has_second(self, host: str) -> bool:
        """Whether this host has a second cable."""
        return self.second_rate is not None and host in (self.second_hosts or dict(self.hosts))

    def check(self) -> None:
        """Raise UsageError for options that no lab can have."""
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
            raise UsageError("--queue needs --rate: an unshaped cable has no queue")
        if self.checksums not in {"offloaded", "software"}:
            raise UsageError(f"--checksums {self.checksums}: should be offloaded or software")

    def _check_hosts(self) -> None:
        if self.topology not in TOPOLOGIES:
            raise UsageError(f"--topology {self.topology}: should be cable, star or router")
        if not 0 <= self.windows <= MOST_WINDOWS_HOSTS:
            raise UsageError(
                f"--windows {self.windows}: a lab has 0 to {MOST_WINDOWS_HOSTS} Windows hosts"
            )
        if self.routed:
            self._check_ends()
        elif self.linux is not None and not 2 <= self.linux <= MOST_LINUX_HOSTS:
            raise UsageError(f"--linux {self.linux}: a lab has 2 to {MOST_LINUX_HOSTS} Linux hosts")
        self._check_device()
        self._check_named_hosts()

    def _check_ends(self) -> None:
        if self.second_rate is not None:
            raise UsageError("--second: with `--topology router`, each host has only one cable")
        if len(self.hosts) != ENDS_OF_A_ROUTER:
            words = [] if self.linux is None else [f"--linux {self.linux}"]
            words += [f"--windows {self.windows}"] if self.windows else []
            hosts = " ".join(words)
            raise UsageError(f"{hosts}: a lab with a router has two hosts, one at each end")

    def _check_device(self) -> None:
        if not self.routed and (self.device_rate, self.device_queue_frames) != (None, None):
            raise UsageError("--device-rate and --device-queue need `--topology router`")
        if self.device_rate is not None and not 64e3 <= self.device_rate <= 400e9:
            option = f"--device-rate {format_rate(self.device_rate)}"
            raise UsageError(f"{option}: a router forwards 64 kbit/s to 400 Gbit/s")
        if self.device_queue_frames is not None:
            if self.device_queue_frames < 1:
                option = f"--device-queue {self.device_queue_frames}"
                raise UsageError(f"{option}: a queue holds 1 frame or more")
            if self.device_rate is None and self.rate is None:
                raise UsageError("--device-queue needs --device-rate or --rate")

    def _check_named_hosts(self) -> None:
        """Check the options that name a host."""
        names = [name for name, _ in self.hosts]
        for option, hosts in (
            ("--cpu-quota", self.cpu_shares),
            ("--rate-of", self.rates),
            ("--mtu-of", self.mtus),
            ("--second-of", self.second_hosts),
        ):
            for host in hosts:
                if host not in names:
                    raise UsageError(
                        f"{option} {host}: no such host; this lab has {', '.join(names)}"
                    )
        if (self.rates or self.mtus) and not (self.switched or self.routed):
            raise UsageError(
                "--rate-of, --mtu-of: the two hosts share one cable with one --rate and --mtu; "
                "--topology star gives each host its own cable"
            )
        if self.second_hosts and self.second_rate is None:
            raise UsageError("--second-of needs --second RATE")
        for host, mtu in self.mtus.items():
            if not LEAST_IPV6_MTU_BYTES <= mtu <= 65535:
                raise UsageError(
                    f"--mtu-of {host}={mtu}: should be {LEAST_IPV6_MTU_BYTES} to 65535 bytes"
                )
        for host, share in self.cpu_shares.items():
            if not LEAST_CPU_SHARE <= share <= MOST_CPU_SHARE:
                option = f"--cpu-quota {host}={plain_figures(100 * share, 6)}%"
                raise UsageError(
                    f"{option}: should be 1 % of a CPU to {100 * MOST_CPU_SHARE:g} % (64 CPUs)"
                )


def options_from_json(plain: Mapping[str, Any]) -> LabOptions:
    """The options from the JSON of their ``dataclasses.asdict``, in which the path is text."""
    file = plain["hosts_file"]
    return LabOptions(
        **{
            **plain,
            "hosts_file": None if file is None else Path(file),
            "second_hosts": tuple(plain["second_hosts"]),
        }
    )
