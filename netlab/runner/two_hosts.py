"""Measures between two hosts (`netlab measure`); looks at hosts in no inventory (`netlab init`).

What the command line asks for is called a question here: "What is the throughput?". It becomes the
text of a matrix, which people may edit further. A person confirms the keys of new hosts.
"""

from __future__ import annotations

import ipaddress
import json
import re
import tempfile
from collections.abc import Callable, Container, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, Literal, NoReturn

from netlab.config.inventory import load_inventory
from netlab.errors import HostKeyError, IncompleteRun, UnknownHostKey, UsageError
from netlab.ethernet import Link
from netlab.experiment.cells import Cell
from netlab.experiment.hosts import LOOPBACK, OS_NAMES, Host, Inventory, local_os, parse_ssh
from netlab.experiment.matrix import Matrix
from netlab.experiment.schedule import Trial
from netlab.kinds.groups import STREAMS_WITH_A_THREAD
from netlab.measurement.conversation import destination
from netlab.measurement.ends import SoFar
from netlab.remote.programs import addresses_in
from netlab.runner.options import Options, resume_command
from netlab.runner.places import AgentGroup
from netlab.runner.progress import SHORT_S, Progress, figure_of
from netlab.runner.run import run
from netlab.trial.record import FLOWS, Record, Status
from netlab.units import many

Interface = ipaddress.IPv4Interface | ipaddress.IPv6Interface


@dataclass(frozen=True, slots=True)
class HostAddress:
    """An address of a host that another host may reach."""

    device: str
    address: str
    network: str
    """The network, such as ``10.0.0.0/24``."""


@dataclass(frozen=True, slots=True)
class Common:
    """One network that both hosts have an address in."""

    server_address: str
    client_address: str
    network: str
    """The network, such as ``10.0.0.0/24``, or its name in an inventory; empty if unknown."""
    server_device: str
    client_device: str

    @property
    def ip_version(self) -> int:
        """4 or 6."""
        return ipaddress.ip_address(self.server_address).version


def common_networks(
    server: Mapping[str, Any], client: Mapping[str, Any], ip_version: int | None = None
) -> tuple[Common, ...]:
    """The networks that both hosts are in and that are of use between them; IPv4 first."""
    pairs = [
        Common(str(there.ip), str(here.ip), str(there.network), server_device, client_device)
        for server_device, there in _addresses(server)
        for client_device, here in _addresses(client)
        if there.network == here.network and there.ip != here.ip
        if ip_version in (None, there.version)
    ]
    # If a host has several addresses in one network, the first one is taken.
    by_network = {pair.network: pair for pair in reversed(pairs)}
    return tuple(sorted(by_network.values(), key=lambda pair: (pair.ip_version, pairs.index(pair))))


def has_address(facts: Mapping[str, Any], address: str) -> bool:
    """Whether the host has ``address``, or does not report its addresses."""
    own = [str(local.ip) for _, local in _addresses(facts, all_kinds=True)]
    return not own or address in own


def address_words(facts: Mapping[str, Any]) -> str:
    """The host's addresses that another host may reach, for a sentence."""
    return ", ".join(f"{device} {local}" for device, local in _addresses(facts)) or "none"


def routed(server_address: str, facts: Mapping[str, Any]) -> Common | None:
    """``server_address`` and the address of the client's route to it, by its facts, if any."""
    source = facts.get("route_source")
    if not isinstance(source, str):
        return None
    device = str(facts.get("route_interface", ""))
    return Common(server_address, source, "", "", device)


def _addresses(
    facts: Mapping[str, Any], *, all_kinds: bool = False
) -> Iterator[tuple[str, Interface]]:
    """Device and address of each entry; without ``all_kinds``, of use between two hosts."""
    for device, local in addresses_in(facts):
        if not device:
            continue
        try:
            interface = ipaddress.ip_interface(local.partition("%")[0])
        except ValueError:
            continue
        is_single = interface.network.num_addresses == 1
        if all_kinds or not (interface.is_loopback or interface.is_link_local or is_single):
            yield device, interface


def nobody_chooses(commons: Sequence[Common]) -> NoReturn:
    """UsageError that lists the networks: nobody can be asked which one to use."""
    choices = "; ".join(
        f"--to {common.server_address} ({common.network}, {common.server_device})"
        for common in commons
    )
    raise UsageError(f"the hosts have several networks in common; choose one: {choices}")


_WORD = re.compile(r"[A-Za-z][A-Za-z0-9_-]*", re.ASCII)
_NO_WORDS = frozenset({"true", "false", "null", "yes", "no", "on", "off", "y", "n"})
"""Words that readers of YAML 1.1 and 1.2 do not read as text."""


def host_lines(hosts: Iterable[Host]) -> Iterator[str]:
    """The lines below ``hosts:``, one per host; each host once."""
    for name, host in {host.name: host for host in hosts}.items():
        yield f"  {flow(name)}: {flow(entry_of(host))}"


def entry_of(host: Host) -> Mapping[str, Any]:
    """The entry of a host, in the form that it has in an inventory."""
    ssh = host.ssh
    entry: dict[str, Any] = {}
    if host.local:
        entry["local"] = True
    elif ssh is not None:
        bare = f"[{ssh.host}]" if ":" in ssh.host else ssh.host
        user = "" if ssh.user is None else f"{ssh.user}@"
        entry["ssh"] = f"{user}{bare}" + ("" if ssh.port is None else f":{ssh.port}")
    entry["os"] = host.os
    if host.mirror is not None:
        entry["mirror"] = {"address": host.mirror.address, "port": host.mirror.port}
    if host.serves:
        served = host.serves.items()
        entry["serves"] = {name: destination(at.address, at.port) for name, at in served}
    if host.has_agent:
        entry["addresses"] = {name: list(listed) for name, listed in host.addresses.items()}
    optional = {"machine": host.machine, "identity": host.identity, "host_key": host.host_key}
    optional["port_range"] = host.ports
    return entry | {name: value for name, value in optional.items() if value is not None}


def flow(value: Any) -> str:
    """A value in YAML's flow style, on one line: JSON (YAML 1.2, 1.3), but words unquoted."""
    if isinstance(value, Mapping):
        return "{" + ", ".join(f"{key}: {flow(item)}" for key, item in value.items()) + "}"
    if isinstance(value, list):
        return "[" + ", ".join(map(flow, value)) + "]"
    is_word = isinstance(value, str) and _WORD.fullmatch(value) and value.lower() not in _NO_WORDS
    return value if is_word else json.dumps(value, ensure_ascii=False)


Senders = Literal["client-sends", "server-sends", "both"]

TCP_MESSAGE_BYTES = 128 * 1024
"""Message size of TCP, as iperf3 sends by default (its ``-l``)."""
UDP_MESSAGE_BYTES = {4: 1472, 6: 1452}
"""IP version → payload that fills an Ethernet frame of MTU 1500 (RFC 791, RFC 8200, RFC 768)."""
PING_BYTES = 64
"""Size of a request, and of its answer, when latency is measured."""
IDLE_S = 5.0
"""Duration of the round trips without a load, before the load and after it."""
WARM_UP_S = 0.2
"""Time of sending before the measured time: enough for TCP's slow start on the path of a lab."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Question:
    """What to measure between two hosts: throughput, latency, or latency under load."""

    protocol: Literal["TCP", "UDP"] = "TCP"
    message_bytes: int | None = None
    """``None``: the size that this file defines for the protocol and the test."""
    direction: Senders = "client-sends"
    latency: bool = False
    """Measure round trips instead of throughput."""
    load: bool = False
    """Measure round trips before, while and after streams fill the path."""
    seconds: float = 5.0
    streams: int = 1
    rate: str | None = None
    """The offered rate, as a matrix writes it; ``None``: as fast as possible."""

    def test(self, ip_version: int) -> Mapping[str, Any]:
        """The entry of ``tests:`` in the matrix, which measures what this question asks for."""
        if self.latency:
            size = self.message_bytes or PING_BYTES
            return {"test": "round_trip", "protocol": self.protocol, "message_size": size}
        if self.load:
            idle = f"{IDLE_S:g}s"
            load = self._streams(ip_version)
            return {"test": "latency_under_load", "load": load, "idle": idle, "after": idle}
        # The highest possible throughput: the receiver chooses its receive call, which streams that
        # share threads cannot.
        is_capacity = self.rate is None and self.streams <= STREAMS_WITH_A_THREAD
        adaptive = {"receive": "adaptive"} if is_capacity else {}
        return {"test": "stream", **self._streams(ip_version), **adaptive}

    @property
    def what(self) -> str:
        """The measured quantity, for a title."""
        if self.load:
            return "Latency under load"
        return "Round trips" if self.latency else "Throughput"

    def _streams(self, ip_version: int) -> Mapping[str, Any]:
        usual = UDP_MESSAGE_BYTES[ip_version] if self.protocol == "UDP" else TCP_MESSAGE_BYTES
        return {
            "protocol": self.protocol,
            "message_size": self.message_bytes or usual,
            **({} if self.direction == "client-sends" else {"direction": self.direction}),
            **({} if self.streams == 1 else {"streams": self.streams}),
            **({} if self.rate is None else {"rate": self.rate}),
        }


def matrix_text(
    question: Question, server: Host, client: Host, link: Link | None, ip_version: int
) -> str:
    """The text of a matrix that contains its hosts: `netlab run` can repeat the measurement."""
    is_one_host = server.name == client.name
    between = f"within {server.name}" if is_one_host else f"from {client.name} to {server.name}"
    defaults = {
        "duration": f"{question.seconds:g}s",
        **({} if question.load else {"warm_up": f"{WARM_UP_S:g}s"}),
        **({} if ip_version == 4 else {"ip": ip_version}),
    }
    rates = link and {"rate": round(link.rate_bit_per_s), "mtu": link.mtu_bytes}
    lines = [
        f"title: {flow(f'{question.what}, {question.protocol}, {between}')}",
        "hosts:",
        *host_lines([server, client]),
        *([f"link: {flow(rates)}"] if rates else []),
        f"pairings: [{server.name}+{client.name}]",
        f"defaults: {flow(defaults)}",
        "tests:",
        f"  - {flow(question.test(ip_version))}",
    ]
    return "".join(f"{line}\n" for line in lines)


HERE = "here"
NETWORK = "test"
"""The network that tests use by default."""
VIRTUAL_DRIVERS = frozenset({"veth", "tun", "bridge", "dummy", "virtio_net", "bonding"})
"""Drivers of virtual interfaces: the speed that they report is not the rate of a real link."""

MOST_MTU_BYTES = 9216
"""Maximum MTU of Ethernet, with jumbo frames; the wire ceiling applies to no other."""

Choose = Callable[[Sequence[Common]], Common]
"""Chooses one of several networks; raises UsageError if there is nobody to ask."""


def hosts_named(words: Sequence[str], inventory: Path | None) -> tuple[Host, Host]:
    """The server and the client that zero to two words of the command line name.

    A word is a host in the inventory, or ``user@host:port`` as ssh takes it; each missing one is
    this machine. UsageError for any other word, and for a client that runs no agent.
    """
    listed = () if inventory is None else load_inventory(inventory).hosts
    by_name = {host.name: host for host in listed}
    hosts = [by_name.get(word) or host_by_ssh(word) for word in words]
    own_host = this_machine()
    server, client = (*hosts, own_host, own_host)[:2]
    if not client.has_agent:
        raise UsageError(f"{client.name} {client.why_never_client}")
    if server.name == client.name and server != client:
        client = replace(client, name=f"{client.name}-2")
    return server, client


def this_machine(name: str = HERE) -> Host:
    """This machine as a host with its loopback addresses."""
    return Host(name=name, os=local_os(), local=True, addresses={"loopback": LOOPBACK})


def host_by_ssh(word: str) -> Host:
    """The host, of an unknown system, that ssh reaches by ``user@host:port``; UsageError."""
    try:
        target = parse_ssh(word)
    except ValueError as error:
        raise UsageError(
            f"{error}; and no inventory that was given with --hosts has a host of this name"
        ) from None
    name = re.sub(r"[^A-Za-z0-9_.-]", "-", target.host).strip("-._") or "host"
    return Host(name=name[:63], os="", ssh=target)


@dataclass(frozen=True, slots=True, kw_only=True)
class Between:
    """The hosts to measure between, and the network between them."""

    hosts: Sequence[str]
    """Server and client, as ``hosts_named`` takes them."""
    inventory: Path | None = None
    to: str | None = None
    ip_version: int | None = None
    link: Link | None = None
    """The link as the person states it; ``None``: as the interfaces report it."""


def _common(
    agents: AgentGroup, server: Host, client: Host, between: Between, choose: Choose
) -> Common:
    to = between.to or next(iter(server.service_addresses), None)
    if to is not None:
        server_facts = agents.facts(server)
        if not has_address(server_facts, to):
            words = address_words(server_facts)
            raise UsageError(f"--to {to}: {server.name} does not have this address; it has {words}")
        if (common := routed(to, agents.facts(client, to))) is None:
            raise UsageError(f"--to {to}: {client.name} has no route to this address")
        return common
    if (common := _in_inventory(server, client, between.ip_version)) is not None:
        return common
    server_facts, client_facts = agents.facts(server), agents.facts(client)
    networks = common_networks(server_facts, client_facts, between.ip_version)
    if len(networks) == 1:
        return networks[0]
    if networks:
        return choose(networks)
    raise UsageError(
        f"{server.name} and {client.name} are in no common network: {server.name} has "
        f"{address_words(server_facts)}; {client.name} has {address_words(client_facts)}. Name the "
        f"address of {server.name} with --to ADDRESS"
    )


def _in_inventory(server: Host, client: Host, ip_version: int | None) -> Common | None:
    if server.local is not client.local:
        own = server if server.local else client
        if set(own.addresses) == {"loopback"}:
            return None
    for network in server.addresses:
        if network not in client.addresses:
            continue
        for version in (4, 6) if ip_version is None else (ip_version,):
            try:
                addresses = server.address(network, version), client.address(network, version)
            except UsageError:
                continue
            return Common(*addresses, network, "", "")
    return None


def link_of(ways: Sequence[Mapping[str, Any]]) -> Link | None:
    """The lowest rate and the smallest MTU of the interfaces in ``ways``, the facts of each host
    with its route; ``None`` if one is not known or virtual, or the MTU too large for Ethernet.
    """
    if any(facts.get("interface_driver") in VIRTUAL_DRIVERS for facts in ways):
        return None
    speeds = [facts.get("interface_speed_bit_per_s") for facts in ways]
    mtus = [facts.get("interface_mtu_bytes") for facts in ways]
    rates = [float(speed) for speed in speeds if isinstance(speed, int | float) and speed > 0]
    sizes = [mtu for mtu in mtus if isinstance(mtu, int)]
    if not len(rates) == len(sizes) == len(ways):
        return None
    return Link(min(rates), min(sizes)) if min(sizes) <= MOST_MTU_BYTES else None


@dataclass(frozen=True, slots=True)
class Measurable:
    """The hosts and the matrix of a measurement that can begin."""

    server: Host
    client: Host
    matrix: str
    agents: AgentGroup

    def measure(self, into: Path | None, progress: Progress) -> Path:
        """Measure; returns the run folder with the matrix. Raises the errors of ``run``."""
        with tempfile.TemporaryDirectory(prefix="netlab-") as temporary:
            file = Path(temporary) / "measure.yaml"
            file.write_text(self.matrix, encoding="utf-8")
            options = Options(matrix=file, into=into, patience_s=0.0)
            return run(options, progress, self.agents).folder


def without_result(folder: Path) -> IncompleteRun:
    """The error if all trials of the measurement failed."""
    return IncompleteRun(f"there is no result; to try again: {resume_command(folder)}")


@contextmanager
def measurable_hosts(
    question: Question, between: Between, choose: Choose, notify: Callable[[str], None]
) -> Iterator[Measurable]:
    """Find the two hosts and log in to them; the logins last until the context is left."""
    server, client = hosts_named(between.hosts, between.inventory)
    ip_version, link = between.ip_version or 4, between.link
    with AgentGroup(notify) as agents:
        if not (server.local and client.local and between.to is None):
            agents.log_in_to_all((server, client))
            server, client = agents.seen(server), agents.seen(client)
            common = _common(agents, server, client, between, choose)
            ways = [agents.facts(client, common.server_address)]
            if server.has_agent:
                ways.append(agents.facts(server, common.client_address))
                server = replace(server, addresses={NETWORK: (common.server_address,)})
            client = replace(client, addresses={NETWORK: (common.client_address,)})
            ip_version, link = common.ip_version, link or link_of(ways)
        text = matrix_text(question, server, client, link, ip_version)
        yield Measurable(server, client, text, agents)


class LiveFigures(Progress):
    """The progress of a run with one trial: only the rates of the trial, second by second."""

    def __init__(self, *, quiet: bool = False, verbose: bool = False) -> None:
        """``quiet``: no output; ``verbose``: also how the trial ended."""
        super().__init__(quiet=quiet, verbose=verbose)
        self._before: dict[str, SoFar] = {}
        self.failed = False

    def begin(
        self, folder: object, trials: Iterable[Trial], measured_count: int, matrix: Matrix
    ) -> None:
        """No output: the result, which is printed after the run, names the folder."""

    def expect(self, trials: Iterable[Trial]) -> None:
        """No output: there is one trial."""

    def trial(self, trial: Trial) -> None:
        """Forget the totals when a trial begins, or begins again."""
        self._before = {}

    def live(self, cell: Cell, so_far: SoFar) -> None:
        """Show the rate of the second that has just ended."""
        step = so_far.since(self._before.get(so_far.flow))
        self._before[so_far.flow] = so_far
        idle = cell.test == "latency_under_load" and not step.payload_bytes
        if step.elapsed_s < SHORT_S or idle:
            return
        figure = figure_of(cell, [step])
        period = f"{so_far.elapsed_s - step.elapsed_s:5.1f} to {so_far.elapsed_s:4.1f} s"
        direction = FLOWS.get(so_far.flow, "")
        self.notify(f"{period}  {figure}{f'  {direction}' if direction else ''}")

    def record(self, record: Record) -> None:
        """Show why the trial has no result, if it has none."""
        if self.is_verbose:
            self.notify(self.line_of(record))
        self.failed = record.status is not Status.OK
        if self.failed:
            self.notify(f"{record.status}: {record.detail or record.reason}")


LETTERS = "LWMF"
"""Letters of the systems that a probe runs on. Pairings are listed in this order."""


@dataclass(frozen=True, slots=True)
class FoundHost:
    """A host with the facts that its probe reported."""

    host: Host
    """The host with its operating system, without test addresses."""
    words: str
    """A description such as ``Debian GNU/Linux 12, x86_64, 2 CPUs``."""
    addresses: tuple[HostAddress, ...]


@dataclass(frozen=True, slots=True)
class SharedNetwork:
    """A network that two or more hosts are in."""

    network: str
    members: Mapping[str, HostAddress]
    """Name of a host → its address in this network."""

    @property
    def words(self) -> str:
        """The network and its members as a choice for a person."""
        return f"{self.network}: " + ", ".join(
            f"{host} {member.address} ({member.device})" for host, member in self.members.items()
        )


def shared_networks(hosts: Sequence[FoundHost]) -> tuple[SharedNetwork, ...]:
    """The networks of at least two hosts: those with the most hosts first, IPv4 before IPv6."""
    members: dict[str, dict[str, HostAddress]] = {}
    for found_host in hosts:
        for address in found_host.addresses:
            members.setdefault(address.network, {}).setdefault(found_host.host.name, address)
    networks = [SharedNetwork(name, its) for name, its in members.items() if len(its) > 1]
    networks.sort(key=lambda it: (-len(it.members), ipaddress.ip_network(it.network).version))
    return tuple(networks)


def with_addresses(
    hosts: Sequence[FoundHost], networks: Sequence[SharedNetwork]
) -> tuple[Host, ...]:
    """Hosts in these networks; the first is ``test``, others have the name of a device."""
    names = [NETWORK]
    for network in networks[1:]:
        names.append(free_name(next(iter(network.members.values())).device, names))
    addressed = []
    for found_host in hosts:
        addresses = {
            name: (network.members[found_host.host.name].address,)
            for name, network in zip(names, networks, strict=False)
            if found_host.host.name in network.members
        }
        if addresses:
            addressed.append(replace(found_host.host, addresses=addresses))
    return tuple(addressed)


def free_name(name: str, names: Container[str]) -> str:
    """``name``, or the first of ``name-2``, ``name-3`` … that is not taken."""
    number, free = 1, name
    while free in names:
        number += 1
        free = f"{name}-{number}"
    return free


def inventory_text(hosts: Sequence[Host], words: Mapping[str, str]) -> str:
    """The text of ``lab.yaml``: one line per host, below a comment with its description."""
    lines = ["# The hosts of this lab, as netlab found them. Every key: docs/hosts.md", "hosts:"]
    for host in hosts:
        description = words.get(host.name)
        lines += [f"  # {description}"] if description else []
        lines += host_lines([host])
    return "".join(f"{line}\n" for line in lines)


def first_matrix_text(hosts: Sequence[Host], link: Link | None) -> str:
    """The text of a first matrix: throughput and round trips in every pairing of the hosts."""
    pairings = pairings_of(hosts)
    first = pairings[0] if pairings else "LL"
    systems = f"{first} is a {OS_NAMES[first[0]]} server and a {OS_NAMES[first[1]]} client"
    rate, mtu = ("100Mbit", 1500) if link is None else (round(link.rate_bit_per_s), link.mtu_bytes)
    setting = f"link: {{rate: {rate}, mtu: {mtu}}}"
    return f"""\
title: A first look at this lab

# The link between the hosts; the wire ceilings are computed from it.
{setting if link is not None else f"# {setting}   # the interfaces do not report it: set it"}

# Systems, the server first: {systems}.
pairings: [{", ".join(pairings)}]

repeats: 3
defaults: {{duration: 2s, warm_up: 500ms}}

tests:
  # Throughput with small and large messages.
  - {{test: stream, protocol: TCP, message_size: [64, 1448, 64KiB]}}
  - {{test: stream, protocol: UDP, message_size: [64, 1472]}}
  # Time from a request to its answer.
  - {{test: round_trip, protocol: [TCP, UDP], message_size: 64}}
"""


def pairings_of(hosts: Sequence[Host]) -> list[str]:
    """The pairings of operating systems, such as ``LW``, for which there are hosts."""
    inventory = Inventory("", tuple(hosts), {})
    present = [letter for letter in LETTERS if any(host.os == letter for host in hosts)]
    every = (server + client for server in present for client in present)
    return [pairing for pairing in every if inventory.candidates(pairing)]


Confirm = Callable[[UnknownHostKey], bool]
"""Asks a person whether the key in the error belongs to the host."""


def hosts_to_ask(words: Sequence[str], keys: Mapping[str, str]) -> tuple[Host, ...]:
    """The hosts of the command line, and this machine if they are fewer than two. ``keys``: word →
    the key or its fingerprint. UsageError for a word that is no host or not among ``words``.
    """
    unknown = sorted(set(keys) - set(words))
    if unknown:
        raise UsageError(f"--host-key {unknown[0]}: no such HOST on the command line")
    hosts: dict[str, Host] = {}
    for word in words:
        host = host_by_ssh(word)
        host = replace(host, host_key=keys.get(word), name=free_name(host.name, hosts))
        hosts[host.name] = host
    if len(hosts) < 2:
        own_host = this_machine(free_name(HERE, hosts))
        hosts[own_host.name] = own_host
    return tuple(hosts.values())


def with_keys(agents: AgentGroup, hosts: Sequence[Host], confirm: Confirm) -> tuple[Host, ...]:
    """Log in to all hosts; returns them with confirmed keys. UnknownHostKey, HostError."""
    by_name = {host.name: host for host in hosts}
    remote_hosts = [host for host in hosts if not host.local]
    while remote_hosts:
        errors = agents.log_in(remote_hosts)
        unknown = {name: it for name, it in errors.items() if isinstance(it, UnknownHostKey)}
        # A key that differs from the known one is reported before a person confirms any other key.
        if other_errors := [error for name, error in errors.items() if name not in unknown]:
            raise min(other_errors, key=lambda error: not isinstance(error, HostKeyError))
        for name, error in unknown.items():
            host = by_name[name]
            if error.shown != name or host.host_key is not None or not confirm(error):
                raise error
            by_name[name] = replace(host, host_key=error.key)
        remote_hosts = [by_name[name] for name in unknown]
    return tuple(by_name.values())


def look(agents: AgentGroup, hosts: Sequence[Host]) -> tuple[FoundHost, ...]:
    """The hosts with the facts that their probes report; HostError if a host cannot be asked."""
    agents.log_in_to_all(hosts)
    found: list[FoundHost] = []
    for host in hosts:
        hello, facts = agents.hello(host), agents.facts(host)
        system = facts.get("distribution") or facts.get("kernel") or hello.get("os_release")
        words = [str(system or "unnamed system"), str(hello.get("architecture", ""))]
        words += [many(hello["cpu_count"], "CPU")] if "cpu_count" in hello else []
        if "packet" not in str(hello.get("capabilities", "")).split(","):
            words.append("no right to packet sockets")
        addresses = [
            HostAddress(device, str(local.ip), str(local.network))
            for device, local in _addresses(facts)
        ]
        listed = ", ".join(word for word in words if word)
        found.append(FoundHost(agents.seen(host), listed, tuple(addresses)))
    return tuple(found)


def link_within(agents: AgentGroup, network: SharedNetwork, hosts: Sequence[Host]) -> Link | None:
    """The slowest rate and the smallest MTU in a network; ``None`` if a rate is not known."""
    inside = [host for host in hosts if host.name in network.members]
    addresses = [network.members[host.name].address for host in inside]
    ways = [agents.facts(host, addresses[number - 1]) for number, host in enumerate(inside)]
    return link_of(ways)
