"""Whether hosts are fit to measure (`netlab hosts`), and settings that earlier runs left changed.

The undo log of a host has an entry for each change of a setting: the command that undoes it. A
leftover is an entry of an earlier agent whose command was not run, or failed.
"""

from __future__ import annotations

import ipaddress
import json
import secrets
import shlex
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime
from functools import partial
from pathlib import Path

from netlab import clock
from netlab.config.inventory import load_inventory
from netlab.errors import HostError, HostGone, LockedError, ProbeError
from netlab.experiment.hosts import OS_NAMES, OS_OF_PROBE, Host
from netlab.remote import programs
from netlab.remote.agent import Agent
from netlab.remote.programs import Leftover, Leftovers, LockOwner
from netlab.runner.ending import AT_ONCE, DaemonExecutor, ask_all, shielded
from netlab.runner.places import in_a_sentence
from netlab.store.run_folder import RunFolder
from netlab.terminal import excerpt, printable, table_lines
from netlab.units import format_rate, format_seconds, many

LEFT = "leftover"

WORDS_MOST = 200
"""Maximum number of characters of a command or a foreign text in a sentence."""


@dataclass(frozen=True, slots=True)
class HostLeftovers:
    """The leftovers of the hosts of a run, as they were at its start."""

    by_host: Mapping[str, tuple[Leftover, ...]] = field(default_factory=dict)
    """Host name → entries. If two hosts of one machine share an entry, only one of them has it."""
    warnings: tuple[str, ...] = ()
    """A sentence for each entry, and for each host that did not list its entries."""

    def note(self, folder: RunFolder) -> None:
        """Write a note about each entry into the journal."""
        for host, entries in self.by_host.items():
            for leftover in entries:
                data = {"damaged": True} if leftover.damaged else _described(leftover)
                # The next durable line of the journal makes this line durable, too.
                with shielded():
                    folder.note(LEFT, durable=False, host=host, file=leftover.file, **data)


def _described(leftover: Leftover) -> dict[str, object]:
    return {
        "entry": leftover.entry,
        "command": list(leftover.words),
        "written_wall_ns": leftover.written_wall_ns,
    }


def leftovers_of(agents: Mapping[str, Agent]) -> HostLeftovers:
    """Ask all hosts of a run at the same time. Nothing is put back."""
    answers = ask_all({host: partial(programs.leftovers, agent) for host, agent in agents.items()})
    by_host: dict[str, tuple[Leftover, ...]] = {}
    warnings: list[str] = []
    # An entry is reported by one host of a machine, whose hosts may share an undo log: if possible,
    # by a host that can put the setting back.
    owners: dict[tuple[str, str, str], str] = {}

    def key(host: str, entry: Leftover) -> tuple[str, str, str]:
        return agents[host].identity[0], entry.file, entry.entry

    for is_wanted in (True, False):
        for host, answer in answers.items():
            for leftover in answer.entries if isinstance(answer, Leftovers) else ():
                if is_reachable(agents[host], leftover) is is_wanted:
                    owners.setdefault(key(host, leftover), host)
    for host, answer in answers.items():
        if isinstance(answer, Exception):
            warnings.append(f"{host}: its undo log cannot be read: {excerpt(str(answer), 300)}")
            continue
        own = tuple(entry for entry in answer.entries if owners[key(host, entry)] == host)
        if own:
            by_host[host] = own
            warnings += [_warning(host, entry) for entry in own]
            if answer.left_out:
                warnings.append(f"{host}: its undo log has more such entries: {answer.left_out}")
    return HostLeftovers(by_host, tuple(warnings))


def is_reachable(agent: Agent, leftover: Leftover) -> bool:
    """Whether an agent can run an entry's command: it is whole, of its network namespace."""
    return not leftover.damaged and leftover.network_id == agent.hello.get("network_id")


def command_of(leftover: Leftover) -> str:
    """The command of an entry as a shell would read it, for a sentence."""
    return excerpt(shlex.join(leftover.words), WORDS_MOST)


def since(leftover: Leftover) -> str:
    """When an entry was registered, by the clock of its host."""
    return f"{datetime.fromtimestamp(leftover.written_wall_ns // 10**9, UTC):%Y-%m-%d %H:%M} UTC"


def _warning(host: str, leftover: Leftover) -> str:
    if leftover.damaged:
        return (
            f"{host}: a setting may differ from how an earlier run found it: an entry of the undo "
            f"log is damaged ({excerpt(leftover.file, WORDS_MOST)}); see `netlab hosts FILE`"
        )
    return (
        f"{host}: a setting that an earlier run changed is not put back since {since(leftover)}: "
        f"`{command_of(leftover)}`; `netlab hosts FILE` puts it back, or says how"
    )


DEADLINE_MOST_S = 60.0
"""Longest deadline of an entry (docs/protocol.md): a host may report any number."""

TURN_S = 660.0
"""How long to wait for the lock if this process holds it under another host name of the inventory
that stands for the same host. The deadlines of an agent's entries are at most 600 s together."""

ROUNDS_MOST = 64
"""Maximum number of requests for the leftovers, whose list may be too long for one answer."""

AGAIN = "run `netlab hosts` again"


@dataclass(frozen=True, slots=True)
class PutBack:
    """What became of one leftover of a host."""

    leftover: Leftover
    fault: str | None
    """Why the setting was not put back, and what to do; ``None``: it was put back."""
    is_own: bool = True
    """Whether this host can run the entry's command: see ``is_reachable``."""

    def as_json(self) -> dict[str, object]:
        """An object for `netlab hosts --json`."""
        described = _described(self.leftover)
        return {
            "entry": described.pop("entry"),
            "file": self.leftover.file,
            **described,
            "put_back": self.fault is None,
            "fault": self.fault,
        }


def put_back(agent: Agent, owner: LockOwner) -> tuple[tuple[PutBack, ...], int]:
    """Undo the leftovers of a host in their order, while ``owner`` holds the host's lock, unless
    another netlab process measures with the host. Returns what became of each, and the number of
    entries of another machine that uses the same folder for its undo log. Raises ProbeError if the
    undo log cannot be read, HostGone if the host is lost before anything was undone.
    """
    listing = programs.leftovers(agent)
    mine = [entry for entry in listing.entries if is_reachable(agent, entry)]
    done: dict[str, PutBack] = {}
    if mine and (obstacle := _obstacle(agent, owner)) is not None:
        done = {entry.entry: PutBack(entry, _not_now(entry, obstacle)) for entry in mine}
        mine = []
    try:
        for _ in range(ROUNDS_MOST if mine else 0):
            # Read again under the lock: another host of the inventory may be the same host, and
            # may have put settings back.
            listing = programs.leftovers(agent)
            tried_now: list[PutBack] = []
            for entry in listing.entries:
                if is_reachable(agent, entry) and entry.entry not in done:
                    done[entry.entry] = PutBack(entry, _undo(agent, entry))
                    tried_now.append(done[entry.entry])
            if not any(item.fault is None for item in tried_now) or not listing.left_out:
                break
        if mine:
            agent.ask("unlock")
    except (HostError, ProbeError) as error:
        if not done:
            raise
        # Report what was put back, and the fault for the rest.
        for entry in filter(partial(is_reachable, agent), listing.entries):
            done.setdefault(entry.entry, PutBack(entry, _not_now(entry, excerpt(str(error), 300))))
    return (*done.values(), *_others(agent, listing.entries)), listing.elsewhere


def _undo(agent: Agent, leftover: Leftover) -> str | None:
    try:
        undone = programs.undo(agent, leftover.entry, min(leftover.deadline_s, DEADLINE_MOST_S))
    except ProbeError as error:
        ending = f"{error.word}{f' ({excerpt(error.detail, WORDS_MOST)})' if error.detail else ''}"
    else:
        if not undone.left:
            return None
        if undone.killed:
            ending = "its command did not end in time and was killed"
        elif undone.signal is not None:
            ending = f"its command was ended by signal {undone.signal}"
        elif undone.exit_code == 0:
            ending = "its command succeeded, and its entry is still there"
        else:
            code = "unknown" if undone.exit_code is None else undone.exit_code
            ending = f"its command failed with exit code {code}"
        if lines := [line.strip() for line in undone.output.splitlines() if line.strip()]:
            ending += f": {excerpt(lines[-1], WORDS_MOST)}"
    return (
        f"{_of(leftover)} could not be put back: {ending}. Correct the cause and {AGAIN}; or put "
        f"the setting back by hand, and remove {_file(leftover)} on the host"
    )


def _others(agent: Agent, entries: Iterable[Leftover]) -> Iterator[PutBack]:
    """The entries that cannot be undone from this host, each with what to do."""
    for entry in entries:
        if entry.damaged:
            sentence = (
                "an entry of its undo log is damaged, so that its command is unknown and is never "
                "run: compare the host's settings with those that it should have, and remove "
                f"{_file(entry)} on the host"
            )
            yield PutBack(entry, sentence, is_own=False)
        elif not is_reachable(agent, entry):
            by_hand = f"{shlex.quote(agent.probe_path or 'netprobe')} undo entry={entry.entry}"
            sentence = (
                f"{_of(entry)} belongs to another network namespace of this machine "
                f"({entry.network_id or 'unknown'}) and cannot be put back from here: run "
                f"`{excerpt(by_hand, WORDS_MOST)}` there, with the same account; if that namespace "
                f"does not exist any more, remove {_file(entry)} on the host"
            )
            yield PutBack(entry, sentence, is_own=False)


def _not_now(leftover: Leftover, obstacle: str) -> str:
    return f"{_of(leftover)} is not put back: {obstacle}. When that is over, {AGAIN}"


def _of(leftover: Leftover) -> str:
    return f"a setting that an earlier run changed (`{command_of(leftover)}`, {since(leftover)})"


def _file(leftover: Leftover) -> str:
    return excerpt(shlex.quote(leftover.file), WORDS_MOST)


def _obstacle(agent: Agent, owner: LockOwner) -> str | None:
    """Lock the host. Returns ``None``, or a sentence if that failed. Raises HostGone."""
    holders: list[str] = []

    def patience(_agent: Agent, holder: str) -> float:
        holders.append(holder)
        return TURN_S if owner.is_this_session(holder) else 0.0

    try:
        programs.lock_host(agent, owner, give_up_s=clock.monotonic(), patience=patience)
    except LockedError:
        return f"the host is measured by {excerpt(holders[-1], WORDS_MOST) or 'another run'}"
    except HostGone:
        raise
    except HostError as error:
        return excerpt(str(error), WORDS_MOST)
    return None


NO_THROTTLE = 0xFFFFFFFF
"""Windows' NetworkThrottlingIndex when throttling is off."""

OWNER = "netlab hosts"
"""Holder of a host's lock, as other netlab processes that wait for the lock show it."""


@dataclass(frozen=True, slots=True)
class InspectedHost:
    """One host as `netlab hosts` shows it."""

    host: Host
    lines: tuple[tuple[str, str], ...] = ()
    unfit: tuple[str, ...] = ()
    tried: tuple[PutBack, ...] = ()
    """What became of each setting that earlier runs had changed and not put back."""


@dataclass(frozen=True, slots=True)
class Survey:
    """All hosts of an inventory."""

    hosts: tuple[InspectedHost, ...] = field(default_factory=tuple)

    def as_text(self, width: int | None = None, *, only_unfit: bool = False) -> str:
        """One block of lines per host; ``only_unfit``: leave out the hosts that are fit."""
        blocks = []
        for inspected in self.hosts:
            if only_unfit and not inspected.unfit:
                continue
            state = "not fit" if inspected.unfit else "fit"
            lines = [f"{inspected.host.name}: {state}"]
            back = [item.leftover for item in inspected.tried if item.fault is None]
            summaries = [f"`{command_of(it)}`, due since {since(it)}" for it in back]
            shown = [*inspected.lines, *(("put back", summary) for summary in summaries)]
            rows = [(f"  {name:<19}", printable(value)) for name, value in shown]
            lines += table_lines(rows, width) if rows else []
            lines += [f"  ! {printable(sentence)}" for sentence in inspected.unfit]
            blocks.append("\n".join(lines))
        return "\n\n".join(blocks)

    def as_json(self) -> str:
        """An array of objects: ``host`` (its name), ``fit``, ``unfit`` (its faults), ``facts``,
        ``leftovers`` (an object for each setting that an earlier run did not put back).
        """
        hosts = [
            {
                "host": inspected.host.name,
                "fit": not inspected.unfit,
                "unfit": list(inspected.unfit),
                "facts": dict(inspected.lines),
                "leftovers": [item.as_json() for item in inspected.tried],
            }
            for inspected in self.hosts
        ]
        return json.dumps(hosts, indent=1)

    def raise_for_unfit(self) -> None:
        """Raise HostError if a host is not fit."""
        if names := [inspected.host.name for inspected in self.hosts if inspected.unfit]:
            raise HostError(f"hosts not fit for measuring: {', '.join(names)}")


def survey(path: Path, notify: Callable[[str], None] | None = None) -> Survey:
    """Inspect all hosts at the same time, and put back what earlier runs changed."""
    hosts = load_inventory(path).hosts
    owner = LockOwner(OWNER, secrets.token_hex(4), str(path))
    with DaemonExecutor(AT_ONCE) as executor:
        inspect_one = partial(inspect, notify=notify, owner=owner)
        return Survey(told_once(tuple(executor.map(inspect_one, hosts))))


def told_once(hosts: Sequence[InspectedHost]) -> tuple[InspectedHost, ...]:
    """Remove from each host's faults those about settings of another host of the inventory: two
    network namespaces of one machine may share an undo log, and report each other's settings.
    """

    def key(item: PutBack) -> tuple[str, str]:
        """The entry: its file, whose name is random, and its id."""
        return item.leftover.file, item.leftover.entry

    own = {key(item) for host in hosts for item in host.tried if item.is_own}
    results: list[InspectedHost] = []
    for host in hosts:
        others = [item for item in host.tried if not item.is_own and key(item) in own]
        faults = {item.fault for item in others}
        unfit = tuple(sentence for sentence in host.unfit if sentence not in faults)
        tried = tuple(item for item in host.tried if item not in others)
        results.append(replace(host, unfit=unfit, tried=tried))
    return tuple(results)


def inspect(
    host: Host, notify: Callable[[str], None] | None = None, owner: LockOwner | None = None
) -> InspectedHost:
    """Put back what earlier runs changed on a host, and inspect it. Faults are sentences."""
    if not host.has_agent:
        services = [("reachable", "not asked: it runs no agent")]
        if host.mirror is not None:
            place = f"{host.mirror.address}, port {host.mirror.port}"
            services.append(("mirror", f"{place}; a run checks it from its client"))
        services += [(name, f"{it.address}, port {it.port}") for name, it in host.serves.items()]
        return InspectedHost(host, tuple(services))
    try:
        agent = Agent.open(host, notify)
    except Exception as error:  # an error at one host must not hide the others
        return InspectedHost(host, (("reachable", "no"),), unfit=(in_a_sentence(host, error),))
    lines: list[tuple[str, str]] = []
    unfit: list[str] = []
    tried: tuple[PutBack, ...] = ()
    elsewhere = 0
    try:
        # Settings are put back before the facts are read, so that the facts are those of a run.
        owner = owner or LockOwner(OWNER, secrets.token_hex(4), host.name)
        try:
            tried, elsewhere = put_back(agent, owner)
        except ProbeError as error:
            unfit.append(f"its undo log cannot be read: {error.detail or error.word}")
        unfit += [item.fault for item in tried if item.fault is not None]
        lines += _lines_about(agent)
        if elsewhere:
            left = f"another machine uses the same one, and has left {many(elsewhere, 'setting')}"
            lines.append(("undo log", f"{left} in it: run `netlab hosts` for that machine"))
        system = str(agent.hello.get("os"))
        if OS_OF_PROBE.get(system) != host.os:
            unfit.append(f"it runs {system}, the inventory says `os: {host.os}`")
        for network, addresses in host.addresses.items():
            for address in addresses:
                lines += _test_address(agent, network, address, unfit)
    except Exception as error:  # an error at one host must not hide the others
        unfit.append(in_a_sentence(host, error))
    finally:
        agent.close()
    return InspectedHost(host, tuple(lines), tuple(unfit), tried)


def _lines_about(agent: Agent) -> Iterator[tuple[str, str]]:
    facts = agent.facts()
    hello = agent.hello
    yield "reachable", "on this machine" if agent.host.local else "over SSH"
    yield "system", str(facts.get("distribution") or OS_NAMES[agent.host.os])
    yield "kernel", str(hello.get("os_release", "not known"))
    cpus = many(hello["cpu_count"], "CPU") if "cpu_count" in hello else "an unknown number of CPUs"
    yield "architecture", f"{hello.get('architecture', 'not known')}, {cpus}"
    yield "probe", f"{hello.get('version')}, build {hello.get('build')}"
    if agent.host.os == "W":
        # Settings that affect measurements; what the host does not report is left out.
        for key, title in (("power_plan", "power plan"), ("congestion", "congestion control")):
            if key in facts:
                yield title, str(facts[key])
        if "timer_resolution_ns" in facts:
            yield "timer resolution", format_seconds(facts["timer_resolution_ns"] / 1e9)
        throttle = facts.get("network_throttling_index")
        if throttle is not None and throttle != NO_THROTTLE:
            limit = f"{many(throttle, 'packet')} a millisecond while sound plays"
            yield "network throttling", limit
    else:
        yield "congestion control", str(facts.get("congestion", "not known"))
    if agent.skipped_lines:
        lines = many(agent.skipped_lines, "line")
        yield "note", f"its login prints {lines} besides the probe's output"


def _test_address(
    agent: Agent, network: str, address: str, unfit: list[str]
) -> Iterator[tuple[str, str]]:
    """A line about a test address and the interface that has it; faults go to ``unfit``."""
    title = f"address {network}, IPv{ipaddress.ip_address(address.partition('%')[0]).version}"
    facts = agent.facts(to=_neighbour(programs.entry_of(agent.facts(), address)[1]))
    device = programs.interface_of(facts, address)
    if device is None and "addresses" in facts:
        unfit.append(
            f"it does not have the test address {address} ({network}); "
            f"it has {programs.plain_addresses(facts)}"
        )
        yield title, address
        return
    speed, duplex = facts.get("interface_speed_bit_per_s"), facts.get("interface_duplex", "full")
    words = [address, device or "interface not known"]
    words.append(format_rate(speed) if speed else "speed not known")
    words += [f"{duplex} duplex"] if duplex != "full" else []
    yield title, ", ".join([*words, f"MTU {facts.get('interface_mtu_bytes', 'not known')}"])
    if device is None:
        return
    route = facts.get("route_interface")
    if route is None and agent.host.os == "W":
        # Windows does not always report its routes; the check before a run shows whether packets
        # pass.
        return
    if route != device:
        leaves = f"leave by {route}" if route else "have no route"
        unfit.append(
            f"{address} ({network}) is on {device}, and packets to its network {leaves}: "
            f"is {device} up?"
        )
    elif facts.get("interface_carrier") == 0:
        unfit.append(f"{device} ({network}) has no carrier: is the cable in, and the peer up?")


def _neighbour(local: str) -> str:
    """Another address of the same network: the route to the host's own address is loopback."""
    interface = ipaddress.ip_interface(local.partition("%")[0])
    if interface.is_loopback or interface.network.num_addresses == 1:
        return str(interface.ip)
    first, last = interface.network.network_address, interface.network.broadcast_address
    for candidate in (interface.ip + 1, interface.ip - 1):
        if candidate in interface.network and candidate not in (first, last):
            return str(candidate)
    return str(interface.ip + (1 if interface.ip != last else -1))
