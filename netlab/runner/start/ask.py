"""Finds the operating system, the addresses and the link of two hosts for `netlab measure`.

Measures once between two hosts for `netlab measure`, into a run folder.

The output of `netlab measure` while it measures: one line per second, as in iperf3.
"""

from __future__ import annotations

import re
import tempfile
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from netlab.config.inventory import load_inventory
from netlab.errors import IncompleteRun, UsageError
from netlab.experiment.cells import Cell
from netlab.experiment.hosts import LOOPBACK, Host, local_os, parse_ssh
from netlab.experiment.matrix import Link, Matrix
from netlab.experiment.schedule import Trial
from netlab.measurement.ends import SoFar
from netlab.runner.options import Options, resume_command
from netlab.runner.places import AgentGroup
from netlab.runner.progress import SHORT_S, Progress, figure_of
from netlab.runner.run import run
from netlab.runner.start.question import (
    Common,
    Question,
    address_words,
    common_networks,
    has_address,
    matrix_text,
    routed,
)
from netlab.trial.record import FLOWS, Record, Status

HERE = "here"
"""Name of the host that stands for this machine."""
NETWORK = "test"
"""Name of the network in the matrix."""
VIRTUAL_DRIVERS = frozenset({"veth", "tun", "bridge", "dummy", "virtio_net", "bonding"})
"""Drivers of virtual interfaces: the speed that they report is not the rate of a real link."""

MOST_MTU_BYTES = 9216
"""Maximum MTU of Ethernet, with jumbo frames. An interface with a larger MTU is not Ethernet, so
Ethernet's highest payload rate (the wire ceiling) does not apply."""

Choose = Callable[[Sequence[Common]], Common]
"""Chooses one of several networks; raises UsageError if there is nobody to ask."""


@dataclass(frozen=True, slots=True)
class EndHosts:
    """Two hosts ready to be measured, and the link between them."""

    server: Host
    client: Host
    ip_version: int
    link: Link | None
    """The link as both interfaces report it; ``None`` if an interface reports no rate or MTU, is
    virtual, or is not Ethernet."""


def hosts_named(words: Sequence[str], inventory: Path | None) -> tuple[Host, Host]:
    """The server and the client that zero to two words of the command line name.

    A word is the name of a host in the inventory, or ``user@host:port`` as ssh takes it. With one
    word, this machine is the client; without a word, this machine is server and client. UsageError
    for any other word, and for a client that runs no agent.
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
    """The host that ssh reaches by ``user@host:port``; its operating system is not known yet.
    UsageError if the word has another form.
    """
    try:
        target = parse_ssh(word)
    except ValueError as error:
        raise UsageError(
            f"{error}; and no inventory that was given with --hosts has a host of this name"
        ) from None
    name = re.sub(r"[^A-Za-z0-9_.-]", "-", target.host).strip("-._") or "host"
    return Host(name=name[:63], os="", ssh=target)


def ask(
    agents: AgentGroup,
    server: Host,
    client: Host,
    *,
    to: str | None,
    ip_version: int | None,
    choose: Choose,
) -> EndHosts:
    """Log in to both hosts and find the addresses to measure between.

    ``to``: the server's test address. ``choose`` selects one of several common networks. Raises
    HostError and UsageError.
    """
    if server.local and client.local and to is None:
        return EndHosts(server, client, ip_version or 4, None)
    agents.log_in_to_all((server, client))
    server, client = agents.seen(server), agents.seen(client)
    common = _common(agents, server, client, to, ip_version, choose)
    link = _link(agents, server, client, common)
    return EndHosts(
        _at(server, common.server_address),
        _at(client, common.client_address),
        common.ip_version,
        link,
    )


def _common(
    agents: AgentGroup,
    server: Host,
    client: Host,
    to: str | None,
    ip_version: int | None,
    choose: Choose,
) -> Common:
    service_address = next(iter(server.service_addresses), None)
    if to is not None or service_address is not None:
        return _by_route(agents, server, client, str(to or service_address))
    common = _in_inventory(server, client, ip_version)
    if common is not None:
        return common
    server_facts, client_facts = agents.facts(server), agents.facts(client)
    networks = common_networks(server_facts, client_facts, ip_version)
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
    """The first network in which the inventory has an address of both hosts, if there is one."""
    if (server.local and not client.local) or (client.local and not server.local):
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


def _by_route(agents: AgentGroup, server: Host, client: Host, to: str) -> Common:
    server_facts = agents.facts(server)
    if not has_address(server_facts, to):
        words = address_words(server_facts)
        raise UsageError(f"--to {to}: {server.name} does not have this address; it has {words}")
    common = routed(to, agents.facts(client, to))
    if common is None:
        raise UsageError(f"--to {to}: {client.name} has no route to this address")
    return common


def _link(agents: AgentGroup, server: Host, client: Host, common: Common) -> Link | None:
    """The rate of the slower interface and the smaller MTU."""
    ways = [
        agents.facts(client, common.server_address),
        *([agents.facts(server, common.client_address)] if server.has_agent else []),
    ]
    return link_of(ways)


def link_of(ways: Sequence[Mapping[str, Any]]) -> Link | None:
    """The lowest rate and the smallest MTU of interfaces. ``None`` if an interface reports no rate
    or MTU or is virtual, or if the smallest MTU is too large for Ethernet.

    ``ways``: the facts of each host, with its route to the other host.
    """
    speeds = [_speed(facts) for facts in ways]
    mtus = [facts.get("interface_mtu_bytes") for facts in ways]
    if any(speed is None for speed in speeds) or not all(isinstance(mtu, int) for mtu in mtus):
        return None
    rate, mtu = min(speed for speed in speeds if speed), min(size for size in mtus if size)
    return Link(rate, mtu) if mtu <= MOST_MTU_BYTES else None


def _speed(facts: Mapping[str, Any]) -> float | None:
    speed, driver = facts.get("interface_speed_bit_per_s"), facts.get("interface_driver")
    if not isinstance(speed, int | float) or speed <= 0 or driver in VIRTUAL_DRIVERS:
        return None
    return float(speed)


def _at(host: Host, address: str) -> Host:
    return replace(host, addresses={NETWORK: (address,)}) if host.has_agent else host


@dataclass(frozen=True, slots=True, kw_only=True)
class Between:
    """The hosts to measure between, and the network between them."""

    hosts: Sequence[str]
    """Server and client, as ``ask.hosts_named`` takes them."""
    inventory: Path | None = None
    to: str | None = None
    """The server's test address."""
    ip_version: int | None = None
    link: Link | None = None
    """The link as the person states it; ``None``: as the interfaces report it."""


@dataclass(frozen=True, slots=True)
class Measurable:
    """The hosts and the matrix of a measurement that can begin."""

    ends: EndHosts
    matrix: str
    """Text of the matrix."""
    agents: AgentGroup

    def measure(self, into: Path | None, progress: Progress) -> Path:
        """Measure; returns the run folder, which then holds the matrix.

        Raises the errors of ``netlab run``. A trial without a result has a record with its reason.
        """
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
    """Find the two hosts and log in to them; the logins last until the context is left.

    ``question``: what to measure. ``choose`` and ``notify``: as in ``ask`` and ``AgentGroup``.
    """
    server, client = hosts_named(between.hosts, between.inventory)
    with AgentGroup(notify) as agents:
        ends = ask(
            agents, server, client, to=between.to, ip_version=between.ip_version, choose=choose
        )
        link = between.link or ends.link
        text = matrix_text(question, ends.server, ends.client, link, ends.ip_version)
        yield Measurable(ends, text, agents)


class LiveFigures(Progress):
    """The progress of a run with one trial: only the rates of the trial, second by second."""

    def __init__(self, *, quiet: bool = False, verbose: bool = False) -> None:
        """``quiet``: no output; ``verbose``: also how the trial ended."""
        super().__init__(quiet=quiet, verbose=verbose)
        self._before: dict[str, SoFar] = {}
        self.failed = False
        """Whether a trial has no result."""

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
