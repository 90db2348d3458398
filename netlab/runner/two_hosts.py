"""Measures between two hosts (`netlab measure`); looks at hosts in no inventory (`netlab init`).

What the command line asks for is called a question here: "What is the throughput?". It becomes the
text of a matrix, which people may edit further. A person confirms the keys of new hosts.
"""

from __future__ import annotations

import ipaddress
import json
import re
import tempfile
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, Literal, NoReturn

from netlab import clock
from netlab.config.inventory import load_inventory
from netlab.config.matrix_file import load_matrix
from netlab.errors import (
    Fault,
    HostKeyError,
    IncompleteRun,
    MatrixError,
    UnknownHostKey,
    UsageError,
)
from netlab.ethernet import Link
from netlab.experiment.cells import Cell
from netlab.experiment.hosts import (
    LOOPBACK,
    OS_NAMES,
    Host,
    Inventory,
    address_pairs,
    local_os,
    parse_ssh,
    version_of,
)
from netlab.experiment.matrix import Matrix
from netlab.experiment.schedule import Trial
from netlab.kinds.groups import SEQUENCE_BYTES, STREAMS_WITH_A_THREAD
from netlab.measurement.conversation import destination
from netlab.measurement.ends import SoFar
from netlab.remote.programs import addresses_in, interface_of, plain_addresses
from netlab.runner.options import Options, free_name, resume_command
from netlab.runner.places import AgentGroup
from netlab.runner.progress import SHORT_S, Progress, figure_of
from netlab.runner.run import run
from netlab.trial.record import FLOWS, Record, Status
from netlab.units import format_rate, format_seconds, many

Interface = ipaddress.IPv4Interface | ipaddress.IPv6Interface


def _addresses(facts: Mapping[str, Any]) -> Iterator[tuple[str, Interface]]:
    """Device and address of each entry that another host may reach."""
    for device, local in addresses_in(facts):
        try:
            interface = ipaddress.ip_interface(local.partition("%")[0])
        except ValueError:
            continue
        is_single = interface.network.num_addresses == 1
        if device and not (interface.is_loopback or interface.is_link_local or is_single):
            yield device, interface


def nobody_chooses(networks: Sequence[SharedNetwork]) -> NoReturn:
    """UsageError that lists the networks: nobody can be asked which one to use."""
    choices = "; ".join(f"--to {it.ends[0][1][0]} ({it.name})" for it in networks)
    raise UsageError(f"the hosts have several networks in common; choose one: {choices}")


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
    """A value in YAML's flow style, on one line: JSON (YAML 1.2, 1.3) but for the keys."""
    if isinstance(value, Mapping):
        return "{" + ", ".join(f"{key}: {flow(item)}" for key, item in value.items()) + "}"
    return json.dumps(value, ensure_ascii=False)


Senders = Literal["client-sends", "server-sends", "both"]

TCP_MESSAGE_BYTES = 128 * 1024
"""Message size of TCP, as iperf3 sends by default (its ``-l``)."""
UDP_MESSAGE_BYTES = {4: 1472, 6: 1452}
"""IP version → payload that fills an Ethernet frame of MTU 1500 (RFC 791, RFC 8200, RFC 768)."""
PING_BYTES = 64
"""Size of a request, and of its answer, when latency is measured."""
IDLE_S = 5.0
"""Duration of the round trips without a load, before the load and after it."""
LEAST_PER_S, LEAST_IN_A_WINDOW = 20, 40
"""With a rate, messages are so small that at least so many of a stream leave a second, and in the
window: with fewer than 20 in it, there is no figure."""
WARM_UP_S = 0.2
"""Time of sending before the measured time: enough for TCP's slow start on the path of a lab."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Question:
    """What to measure between two hosts: throughput, latency, or latency under load."""

    hosts: Sequence[str] = ()
    """Server and client, as ``hosts_named`` takes them."""
    inventory: Path | None = None
    to: str | None = None
    """The server's test address."""
    ip_version: int | None = None
    link: Link | None = None
    """The link as the person states it; ``None``: as the interfaces report it."""

    protocol: Literal["TCP", "UDP"] = "TCP"
    message_bytes: int | None = None
    """``None``: the size that this file defines for the protocol, the test and the rate."""
    direction: Senders = "client-sends"
    latency: bool = False
    """Measure round trips instead of throughput."""
    load: bool = False
    """Measure round trips before, while and after streams fill the path."""
    seconds: float = 5.0
    streams: int = 1
    rate_bit_per_s: float | None = None
    """The offered rate; ``None``: as fast as possible."""
    dscp: str | None = None
    """As a matrix writes it."""
    cpus: Mapping[str, str] | None = None
    """``server`` or ``client`` → the CPUs of its probe, as a matrix writes them."""

    def test(self, ip_version: int) -> Mapping[str, Any]:
        """The entry of ``tests:`` in the matrix, which measures what this question asks for."""
        marked = {} if self.dscp is None else {"dscp": _number_or_word(self.dscp)}
        if self.latency:
            size = PING_BYTES if self.message_bytes is None else self.message_bytes
            of_all = {"protocol": self.protocol, "message_size": size, **self._cpus("cpu")}
            return {"test": "round_trip", **of_all, **marked}
        if self.load:
            idle = f"{IDLE_S:g}s"
            load = {"load": self._streams(ip_version), "idle": idle, "after": idle}
            return {"test": "latency_under_load", **load, **marked}
        # The highest possible throughput: the receiver chooses its receive call, which streams that
        # share threads cannot.
        is_capacity = self.rate_bit_per_s is None and self.streams <= STREAMS_WITH_A_THREAD
        adaptive = {"receive": "adaptive"} if is_capacity else {}
        return {"test": "stream", **self._streams(ip_version), **adaptive, **marked}

    @property
    def what(self) -> str:
        """The measured quantity, for a title."""
        if self.load:
            return "Latency under load"
        return "Round trips" if self.latency else "Throughput"

    def _streams(self, ip_version: int) -> Mapping[str, Any]:
        size = UDP_MESSAGE_BYTES[ip_version] if self.protocol == "UDP" else TCP_MESSAGE_BYTES
        if self.rate_bit_per_s is not None:
            per_s = self.streams * max(LEAST_PER_S, LEAST_IN_A_WINDOW / self.seconds)
            size = min(size, max(SEQUENCE_BYTES, int(self.rate_bit_per_s / 8 / per_s)))
        return {
            "protocol": self.protocol,
            "message_size": size if self.message_bytes is None else self.message_bytes,
            **({} if self.direction == "client-sends" else {"direction": self.direction}),
            **({} if self.streams == 1 else {"streams": self.streams}),
            **({} if self.rate_bit_per_s is None else {"rate": self.rate_bit_per_s}),
            **self._cpus("cpus"),
        }

    def _cpus(self, key: str) -> Mapping[str, Any]:
        return {f"{end}_{key}": _number_or_word(words) for end, words in (self.cpus or {}).items()}


OPTIONS = {
    **{"message_size": "--size", "duration": "--seconds", "link.rate": "--link", "mtu": "--mtu"},
    **{"direction": "--both", "round_trip": "--latency", "latency_under_load": "--load"},
    **dict.fromkeys(("server_cpu", "server_cpus", "client_cpu", "client_cpus"), "--cpus"),
    **{key: f"--{key}" for key in ("rate", "streams", "dscp")},
}
"""Key of the matrix of a question, or its path → the option that sets it."""


def _number_or_word(text: str) -> int | str:
    return int(text) if re.fullmatch("-?[0-9]{1,8}", text) else text


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
    if rates and link and link.overhead_bytes:
        rates["overhead"] = link.overhead_bytes
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
VIRTUAL_DRIVERS = frozenset({"veth", "tun", "bridge", "dummy", "virtio_net", "bonding", "vxlan"})
"""Drivers of virtual interfaces: the speed that they report is not the rate of a real link."""

MOST_MTU_BYTES = 9216
"""Maximum MTU of Ethernet, with jumbo frames; the wire ceiling applies to no other."""

Choose = Callable[[Sequence["SharedNetwork"]], "SharedNetwork"]
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
    return Host(name=name[:60], os="", ssh=target)  # with room for ``-2``


def _addresses_between(
    agents: AgentGroup, server: Host, client: Host, question: Question, choose: Choose
) -> tuple[str, str]:
    """The server's and the client's address in a network that both are in."""
    to = question.to or next(iter(server.service_addresses), None)
    if to is not None:
        server_facts = agents.facts(server)
        if "addresses" in server_facts and interface_of(server_facts, to) is None:
            words = plain_addresses(server_facts)
            raise UsageError(f"--to {to}: {server.name} does not have this address; it has {words}")
        source = agents.facts(client, to).get("route_source")
        if not isinstance(source, str):
            raise UsageError(f"--to {to}: {client.name} has no route to this address")
        return to, source
    if (listed := _in_inventory(server, client, question.ip_version)) is not None:
        return listed
    networks = shared_networks(look(agents, (server, client)), agents, question.ip_version)
    if networks:
        network = choose(networks) if why_first(networks)[1] else networks[0]
        (_, of_server, _), (_, of_client, _) = network.ends
        return of_server[0], of_client[0]
    server_words, client_words = (plain_addresses(agents.facts(it)) for it in (server, client))
    raise UsageError(
        f"{server.name} and {client.name} are in no common network: {server.name} has "
        f"{server_words}; {client.name} has {client_words}. Name the address of {server.name} "
        "with --to ADDRESS"
    )


def _in_inventory(server: Host, client: Host, ip_version: int | None) -> tuple[str, str] | None:
    if server.local is not client.local:
        own = server if server.local else client
        if set(own.addresses) == {"loopback"}:
            return None
    shared = (network for network in server.addresses if network in client.addresses)
    versions = (4, 6) if ip_version is None else (ip_version,)
    return next(address_pairs((server, client), shared, versions), None)


def _rate_of(facts: Mapping[str, Any]) -> float | None:
    """The rate of the interface in ``facts``, bit/s; ``None`` if it is unknown or virtual."""
    speed = facts.get("interface_speed_bit_per_s")
    is_real = facts.get("interface_driver") not in VIRTUAL_DRIVERS
    return float(speed) if is_real and isinstance(speed, int | float) and speed > 0 else None


def link_of(ways: Sequence[Mapping[str, Any]]) -> Link | None:
    """The lowest rate and the smallest MTU of the interfaces in ``ways``, the facts of each host
    with its route; ``None`` if one is not known or virtual, or the MTU too large for Ethernet.
    """
    rates = [rate for facts in ways if (rate := _rate_of(facts)) is not None]
    sizes = [mtu for facts in ways if isinstance(mtu := facts.get("interface_mtu_bytes"), int)]
    if not len(rates) == len(sizes) == len(ways) or min(sizes) > MOST_MTU_BYTES:
        return None
    return Link(min(rates), min(sizes))


@dataclass(frozen=True, slots=True)
class Measurable:
    """The hosts and the matrix of a measurement that can begin."""

    server: Host
    client: Host
    file: Path
    """The matrix."""
    agents: AgentGroup

    def measure(self, into: Path | None, progress: Progress) -> Path:
        """Measure once; returns the run folder with the matrix. Raises the errors of ``run``."""
        options = Options(matrix=self.file, into=into, patience_s=0.0, retries=0)
        return run(options, progress, self.agents).folder


def without_result(folder: Path) -> IncompleteRun:
    """The error if all trials of the measurement failed."""
    return IncompleteRun(f"there is no result; to try again: {resume_command(folder)}")


@contextmanager
def measurable_hosts(
    question: Question, choose: Choose, notify: Callable[[str], None]
) -> Iterator[Measurable]:
    """Find the two hosts and log in to them; the logins last until the context is left."""
    server, client = hosts_named(question.hosts, question.inventory)
    ip_version, link = question.ip_version or 4, question.link
    with AgentGroup(notify) as agents, tempfile.TemporaryDirectory(prefix="netlab-") as folder:
        if not (server.local and client.local and question.to is None):
            agents.log_in_to_all((server, client))
            server, client = agents.seen(server), agents.seen(client)
            to, own = _addresses_between(agents, server, client, question, choose)
            ways = {client.name: agents.facts(client, to)}
            client = replace(client, addresses={NETWORK: (own,)})
            if server.has_agent:
                ways[server.name] = agents.facts(server, own)
                server = replace(server, addresses={NETWORK: (to,)})
            ip_version = version_of(to)
            if link is None:
                link = link_of([*ways.values()])
                rates = ((name, _rate_of(facts)) for name, facts in ways.items())
                told = ", ".join(f"{name} {format_rate(rate)}" for name, rate in rates if rate)
                notify(f"rates of the interfaces: {told or 'unknown'}")
        file = Path(folder) / "measure.yaml"
        file.write_text(matrix_text(question, server, client, link, ip_version), encoding="utf-8")
        try:
            load_matrix(file)
        except MatrixError as error:
            raise UsageError("\n".join(dict.fromkeys(map(_of_option, error.faults)))) from None
        yield Measurable(server, client, file, agents)


def _of_option(fault: Fault) -> str:
    """A fault in the matrix of a question as one of the option that it comes from."""
    key = fault.path if fault.path in OPTIONS else fault.path.rpartition(".")[2]
    # What follows is advice to the author of a matrix.
    return f"{OPTIONS[key]}: {fault.message.partition(': `')[0]}" if key in OPTIONS else str(fault)


class LiveFigures(Progress):
    """The progress of a run with one trial: only the rates of the trial, second by second."""

    def __init__(self, *, quiet: bool = False, verbose: bool = False) -> None:
        """``quiet``: no output; ``verbose``: also how the trial ended."""
        super().__init__(quiet=quiet, verbose=verbose)
        self._before: dict[str, SoFar] = {}
        self._begun_s = clock.monotonic()
        self.failed = False

    def begin(
        self, folder: object, trials: Iterable[Trial], measured_count: int, matrix: Matrix
    ) -> None:
        """No output: the result, which is printed after the run, names the folder."""

    def expect(self, trials: Iterable[Trial]) -> None:
        """No output: there is one trial."""

    def trial(self, trial: Trial) -> None:
        """Say that both ends are ready; forget the totals when a trial begins, or begins again."""
        self._before = {}
        ready, takes = clock.monotonic() - self._begun_s, trial.cell.setup.window_s() or 0.0
        size = f"messages of {trial.cell.settings['message_bytes']} bytes"
        self.notify(f"ready at {format_seconds(ready)}; takes {format_seconds(takes)}, {size}")

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
    addresses: tuple[tuple[str, Interface], ...]
    """Interface and address, of those that another host may reach."""
    ssh_device: str | None = None
    """The interface that netlab's SSH connection uses, if known."""


@dataclass(frozen=True, slots=True)
class SharedNetwork:
    """A network that two or more hosts are in, over IPv4, IPv6 or both."""

    name: str
    """Such as ``10.0.0.0/24 and fd00::/64``."""
    ends: tuple[tuple[FoundHost, tuple[str, ...], str], ...]
    """Host, its addresses (IPv4 first) and its interface."""
    link: Link | None
    """As all these interfaces report it; ``None``: one of them does not."""

    @property
    def rate_bit_per_s(self) -> float:
        """The rate of its link; 0 if not known."""
        return 0.0 if self.link is None else self.link.rate_bit_per_s

    @property
    def words(self) -> str:
        """The network and its members as a choice for a person."""
        rate = f", {format_rate(self.rate_bit_per_s)}" if self.link else ""
        members = (f"{it.host.name} {' '.join(of)} ({device})" for it, of, device in self.ends)
        return f"{self.name}{rate}: {', '.join(members)}"

    @property
    def is_of_ssh(self) -> bool:
        """Whether netlab's connections to the hosts use it, which disturbs a measurement."""
        return any(it.ssh_device == device for it, _, device in self.ends)


def shared_networks(
    hosts: Sequence[FoundHost], agents: AgentGroup, ip_version: int | None = None
) -> tuple[SharedNetwork, ...]:
    """The networks of at least two hosts. The best is first: not SSH's, with most hosts, fastest.

    Networks that join the same interfaces are one, with one address of each IP version. One in
    which two hosts have the same address, such as that of containers, joins no hosts.
    """
    members: dict[str, dict[int, tuple[str, Interface]]] = {}
    for number, it in enumerate(hosts):
        for device, local in sorted(it.addresses, key=lambda its: its[1].version):
            if ip_version in (None, local.version):
                members.setdefault(str(local.network), {}).setdefault(number, (device, local))
    joined: dict[frozenset[tuple[int, str]], dict[int, dict[int, tuple[str, Interface]]]] = {}
    for of in members.values():
        if len({local.ip for _, local in of.values()}) == len(of) > 1:
            way = frozenset((number, device) for number, (device, _) in of.items())
            joined.setdefault(way, {}).setdefault(next(iter(of.values()))[1].version, of)
    networks = []
    for way, of_versions in joined.items():
        ends = tuple(
            (hosts[number], tuple(str(of[number][1].ip) for of in of_versions.values()), device)
            for number, device in sorted(way)
        )
        names = (str(next(iter(of.values()))[1].network) for of in of_versions.values())
        # Each host with its route to the host before it.
        ways = [agents.facts(it.host, ends[n - 1][1][0]) for n, (it, _, _) in enumerate(ends)]
        networks.append(SharedNetwork(" and ".join(names), ends, link_of(ways)))
    networks.sort(key=lambda it: (it.is_of_ssh, -len(it.ends), -it.rate_bit_per_s))
    return tuple(networks)


def why_first(networks: Sequence[SharedNetwork]) -> tuple[str, bool]:
    """Why the first network is the best, and whether a person may see that otherwise."""
    best, *others = networks
    why = "SSH uses all networks" if best.is_of_ssh else "SSH does not use it"
    rivals = [it for it in others if it.is_of_ssh == best.is_of_ssh]
    if rivals:
        is_fastest = best.rate_bit_per_s > max(it.rate_bit_per_s for it in rivals)
        why += (
            f"; {'the fastest' if is_fastest else 'the first'} of {len(rivals) + 1} such networks"
        )
    return why, bool(rivals) or any(len(it.ends) > len(best.ends) for it in others)


def with_addresses(
    hosts: Sequence[FoundHost], networks: Sequence[SharedNetwork]
) -> tuple[Host, ...]:
    """Hosts in these networks; the first is ``test``, others have the name of a device."""
    addresses: dict[str, dict[str, tuple[str, ...]]] = {it.host.name: {} for it in hosts}
    names: list[str] = []
    for network in networks:
        names.append(free_name(network.ends[0][2] if names else NETWORK, names))
        for it, of, _ in network.ends:
            addresses[it.host.name][names[-1]] = of
    listed = ((it.host, addresses[it.host.name]) for it in hosts)
    return tuple(replace(host, addresses=of) for host, of in listed if of)


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
        listed = ", ".join(word for word in words if word)
        device = interface_of(facts, agents.ssh_address(host))
        found.append(FoundHost(agents.seen(host), listed, tuple(_addresses(facts)), device))
    return tuple(found)
