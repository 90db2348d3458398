"""Network paths for tests: two hosts in their own namespaces with a cable or a router between them,
and a real agent in each, or two agents on loopback; and measurements between them.
"""

from __future__ import annotations

import os
import subprocess
from collections.abc import Iterator, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from typing import Any

import pytest

from netlab.build.binaries import local_probe
from netlab.experiment.cells import Cell
from netlab.experiment.hosts import Host
from netlab.experiment.schedule import Trial
from netlab.kinds import PayloadSearch, Setup
from netlab.measurement.ends import Ends
from netlab.measurement.engines import measure
from netlab.remote.agent import Agent
from netlab.remote.transport import LocalTransport, Process
from netlab.trial.record import Record, Status, to_json

needs_namespaces = [pytest.mark.needs("namespaces")]
needs_nft = pytest.mark.needs("nft")

ADDRESSES = {"server": ("10.77.2.2", "fd77:2::2"), "client": ("10.77.1.2", "fd77:1::2")}
ROUTER = {"server": ("10.77.2.1", "fd77:2::1"), "client": ("10.77.1.1", "fd77:1::1")}
LEAST_IPV6_MTU_BYTES = 1280


@dataclass(frozen=True)
class Path:
    """The path between two hosts."""

    client_mtu_bytes: int = 1500
    server_mtu_bytes: int = 1500
    router: bool = False
    """A router between the two cables, with each host's MTU on its side; else one cable."""
    narrow_mtu_bytes: int | None = None
    """MTU of the router's own end of the server's cable, where it is not that of the server's."""
    relay: bool = False
    """Two cables with nothing that forwards between them: a test's own relay does."""
    silent: bool = False
    """Whether it drops what is too long without a word."""


def ip(*words: str) -> None:
    subprocess.run(["ip", *words], check=True, capture_output=True)


def inside(namespace: str, *words: str) -> str:
    argv = ["ip", "netns", "exec", namespace, *words]
    return subprocess.run(argv, check=True, capture_output=True, text=True).stdout


def shape_client(rate_bit_per_s: int) -> None:
    """Let the client's end of the cable between hosts send as Ethernet of that rate would: each
    frame with FCS, preamble and gap, none shorter than 84 bytes, and none cut up on the way."""
    namespace = f"netlab-test-{os.getpid()}-client"
    ip("-n", namespace, "link", "set", "dev", "test", "gso_max_segs", "1")
    table = "stab overhead 24 linklayer ethernet mpu 84 mtu 2047 tsize 2048"
    bucket = f"tbf rate {rate_bit_per_s}bit burst 6400 limit 400000"
    words = f"qdisc replace dev test root handle 1: {table} {bucket}"
    inside(namespace, "tc", *words.split())


@contextmanager
def hosts_on(path: Path) -> Iterator[Ends]:
    """Two agents at the ends of a path; everything is gone afterwards."""
    names = {end: f"netlab-test-{os.getpid()}-{end}" for end in ("server", "client", "router")}
    with ExitStack() as stack:
        for end, name in names.items():
            if end != "router" or path.router or path.relay:
                ip("netns", "add", name)
                stack.callback(ip, "netns", "delete", name)
                ip("-n", name, "link", "set", "dev", "lo", "up")
                inside(name, "sysctl", "-qw", "net.ipv6.conf.default.accept_dad=0")
        mtus = {"server": path.server_mtu_bytes, "client": path.client_mtu_bytes}
        if path.router:
            _route(names, mtus, path)
        else:
            if path.relay:
                for end in ("server", "client"):
                    _cable(names[end], "test", mtus[end], names["router"], end, mtus[end])
            else:
                server_end = (names["server"], "test", mtus["server"])
                _cable(names["client"], "test", mtus["client"], *server_end)
            for end in ("server", "client"):
                _address(names[end], "test", ADDRESSES[end], mtus[end], wide=True)
        agents = {end: _agent(end, names[end]) for end in ("server", "client")}
        for agent in agents.values():
            stack.callback(agent.close)
            agent.greet(None)
        yield Ends(server=agents["server"], client=agents["client"], same_host=False)


def _route(names: dict[str, str], mtus: dict[str, int], path: Path) -> None:
    router = names["router"]
    narrow = path.narrow_mtu_bytes or mtus["server"]
    for end, mtu in (("server", narrow), ("client", mtus["client"])):
        _cable(names[end], "test", mtus[end], router, end, mtu)
        _address(names[end], "test", ADDRESSES[end], mtus[end])
        _address(router, end, ROUTER[end], mtus[end])
        ip("-n", names[end], "route", "add", "default", "via", ROUTER[end][0])
        if mtus[end] >= LEAST_IPV6_MTU_BYTES:
            ip("-n", names[end], "-6", "route", "add", "default", "via", ROUTER[end][1])
    inside(router, "sysctl", "-qw", "net.ipv4.ip_forward=1", "net.ipv6.conf.all.forwarding=1")
    if path.silent:
        inside(router, "nft", "add", "table", "inet", "test")
        chain = "{ type filter hook output priority 0; }"
        inside(router, "nft", "add", "chain", "inet", "test", "out", chain)
        for rule in ("icmp type destination-unreachable", "icmpv6 type packet-too-big"):
            inside(router, "nft", "add", "rule", "inet", "test", "out", *rule.split(), "drop")


def _cable(
    namespace: str, name: str, mtu: int, other_namespace: str, other_name: str, other_mtu: int
) -> None:
    # fmt: off
    ip(
        "-n", namespace, "link", "add", "name", name, "mtu", str(mtu), "type", "veth",
        "peer", "name", other_name, "mtu", str(other_mtu), "netns", other_namespace,
    )
    # fmt: on
    ip("-n", namespace, "link", "set", "dev", name, "up")
    ip("-n", other_namespace, "link", "set", "dev", other_name, "up")


def _address(
    namespace: str, device: str, addresses: tuple[str, str], mtu: int, *, wide: bool = False
) -> None:
    """``wide``: both hosts' addresses are of one network."""
    lengths = ("16", "24") if wide else ("24", "64")
    for address, length in zip(addresses, lengths, strict=True):
        if ":" not in address or mtu >= LEAST_IPV6_MTU_BYTES:
            ip("-n", namespace, "address", "add", f"{address}/{length}", "dev", device)


class Inside(LocalTransport):
    """Programs in a network namespace of this machine."""

    def __init__(self, host: Host, namespace: str) -> None:
        super().__init__(host)
        self._prefix = ("ip", "netns", "exec", namespace)

    def start(self, argv: Sequence[str]) -> Process:
        return super().start([*self._prefix, *argv])


def _agent(name: str, namespace: str) -> Agent:
    host = Host(name=name, os="L", local=True, addresses={"test": ADDRESSES[name]})
    transport = Inside(host, namespace)
    return Agent(host, transport, transport.start([str(local_probe()), "agent"]))


@contextmanager
def on_loopback() -> Iterator[Ends]:
    """Two agents of this machine, on loopback."""
    with ExitStack() as stack:
        loop = {"loopback": ("127.0.0.1", "::1")}
        agents = [
            Agent.open(Host(name=name, os="L", local=True, addresses=loop))
            for name in ("server", "client")
        ]
        for agent in agents:
            stack.callback(agent.close)
        yield Ends(server=agents[0], client=agents[1], same_host=True)


@pytest.fixture
def loopback() -> Iterator[Ends]:
    with on_loopback() as ends:
        yield ends


@pytest.fixture(scope="module")
def shared_loopback() -> Iterator[Ends]:
    """For tests that leave their agents as they were."""
    with on_loopback() as ends:
        yield ends


def record_of(test: str, setup: Setup, ends: Ends) -> Record:
    trial = Trial(Cell(pairing="LL", test=test, setup=setup), number=1)
    record = measure(trial, ends, 1, lambda _cell, _rate: None)
    to_json(record)
    return record


def search(ends: Ends, **settings: Any) -> Record:
    setup = PayloadSearch(**{"timeout_s": 1.0, "duration_s": 0.2} | settings)
    return record_of("payload_search", setup, ends)


def found(record: Record, direction: str = "") -> tuple[object, ...]:
    assert record.status is Status.OK, record.detail
    names = ("payload_bytes", "path_mtu_bytes", "path_mtu_evidence")
    return tuple(record.values[direction + name] for name in names)
