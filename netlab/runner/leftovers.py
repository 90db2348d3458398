"""Leftovers: settings of hosts that an earlier run changed, and that nobody has put back since.

The undo log of a host has an entry with a command for each change that must be undone. An agent is
the program of netlab on a host; the journal is the file of a run's records and notes.
"""

from __future__ import annotations

import shlex
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from datetime import UTC, datetime

from netlab.errors import HostError, ProbeError
from netlab.remote.agent import Agent
from netlab.remote.programs import Leftover, Leftovers, leftovers
from netlab.runner.ending import AT_ONCE, DaemonExecutor, shielded
from netlab.store.run_folder import RunFolder
from netlab.terminal import excerpt

NOTE = "leftover"
"""Kind of the journal's note about an entry."""

COMMAND_MOST = 200
"""Length to which a command is cut in a sentence."""


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
                # The next durable line of the journal makes this line durable, too.
                with shielded():
                    folder.note(NOTE, durable=False, host=host, **_data_of(leftover))


def leftovers_of(agents: Mapping[str, Agent]) -> HostLeftovers:
    """Ask all hosts of a run at the same time. Nothing is put back."""
    answers = _asked(agents)
    by_host: dict[str, tuple[Leftover, ...]] = {}
    warnings: list[str] = []
    owners = _owners(agents, answers)
    for host, answer in answers.items():
        if isinstance(answer, Exception):
            warnings.append(f"{host}: its undo log cannot be read: {excerpt(str(answer), 300)}")
            continue
        own = tuple(entry for entry in answer.entries if owners[_key(agents[host], entry)] == host)
        if own:
            by_host[host] = own
            warnings += [_warning(host, entry) for entry in own]
            if answer.left_out:
                warnings.append(f"{host}: its undo log has more such entries: {answer.left_out}")
    return HostLeftovers(by_host, tuple(warnings))


def is_reachable(agent: Agent, leftover: Leftover) -> bool:
    """Whether an agent can run the command of an entry: the entry is not damaged, and belongs to
    the agent's network namespace.
    """
    return not leftover.damaged and leftover.network_id == agent.hello.get("network_id")


def command_of(leftover: Leftover) -> str:
    """The command of an entry as a shell would read it, for a sentence."""
    return excerpt(shlex.join(leftover.words), COMMAND_MOST)


def since(leftover: Leftover) -> str:
    """When an entry was registered, by the clock of its host."""
    return f"{datetime.fromtimestamp(leftover.written_wall_ns // 10**9, UTC):%Y-%m-%d %H:%M} UTC"


def _warning(host: str, leftover: Leftover) -> str:
    if leftover.damaged:
        return (
            f"{host}: a setting may differ from how an earlier run found it: an entry of the undo "
            f"log is damaged ({excerpt(leftover.file, COMMAND_MOST)}); see `netlab hosts FILE`"
        )
    return (
        f"{host}: a setting that an earlier run changed is not put back since {since(leftover)}: "
        f"`{command_of(leftover)}`; `netlab hosts FILE` puts it back, or says how"
    )


def _data_of(leftover: Leftover) -> dict[str, object]:
    """An entry as the journal notes it."""
    data: dict[str, object] = {"file": leftover.file}
    if leftover.damaged:
        return data | {"damaged": True}
    return data | {
        "entry": leftover.entry,
        "command": list(leftover.words),
        "written_wall_ns": leftover.written_wall_ns,
    }


EntryKey = tuple[str, str, str]


def _key(agent: Agent, leftover: Leftover) -> EntryKey:
    """Machine, file and id of an entry. Hosts of one machine may share an undo log."""
    return agent.identity[0], leftover.file, leftover.entry


def _owners(
    agents: Mapping[str, Agent], answers: Mapping[str, Leftovers | Exception]
) -> dict[EntryKey, str]:
    """Entry → the host that reports it: if possible, a host that can put the setting back."""
    owners: dict[EntryKey, str] = {}
    for wanted in (True, False):
        for host, leftover in _listed(answers):
            agent = agents[host]
            if is_reachable(agent, leftover) is wanted:
                owners.setdefault(_key(agent, leftover), host)
    return owners


def _listed(answers: Mapping[str, Leftovers | Exception]) -> Iterable[tuple[str, Leftover]]:
    for host, answer in answers.items():
        if isinstance(answer, Leftovers):
            yield from ((host, leftover) for leftover in answer.entries)


def _asked(agents: Mapping[str, Agent]) -> dict[str, Leftovers | Exception]:
    def ask(agent: Agent) -> Leftovers | Exception:
        try:
            return leftovers(agent)
        except (HostError, ProbeError) as error:
            return error

    executor = DaemonExecutor(AT_ONCE)
    return dict(zip(agents, executor.map(ask, agents.values()), strict=True))
