"""The undo log of a host: commands that undo changes, also those that earlier agents left there.

The agent (netlab's program on the host) keeps the log (docs/protocol.md, "The undo log"). Each
entry of the log has one command.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from netlab import clock
from netlab.errors import ProbeError
from netlab.remote.agent import Agent
from netlab.remote.programs.program import (
    STANDARD_ERROR,
    STANDARD_OUTPUT,
    Program,
    keys_of,
)
from netlab.remote.programs.to_end import ended_by_deadline
from netlab.remote.protocol import BAD_ANSWER

GUARD_S = 30.0
"""Time limit for a host to register a command: it syncs a file, and its disk may be slow."""

LIST_S = 30.0
"""Time limit for a host to list its leftovers."""

LINES_MOST = 10
"""Of each output stream of a command that undoes a change, this many last lines are kept."""

NOT_STARTED = 127
"""Exit code of a command whose program the host does not have; the agent uses the same one."""


@dataclass(frozen=True, slots=True)
class Undone:
    """How the command of an entry ended."""

    entry: str
    left: bool
    """Whether the entry is still in the undo log, because its command failed."""
    exit_code: int | None
    signal: int | None
    """The signal that ended it, unless its deadline did."""
    killed: bool
    """Whether its deadline ended it."""
    output: str
    """The last lines that it printed: those of its standard output, then of its standard error."""


@dataclass(frozen=True, slots=True)
class Leftover:
    """An entry of an agent that no longer runs. Its command was not run, or the command failed."""

    entry: str
    """Its id; empty if it is damaged."""
    file: str
    """The path of its file on the host."""
    words: tuple[str, ...] = ()
    """Its command; empty if it is damaged."""
    deadline_s: float = 0.0
    written_wall_ns: int = 0
    """When it was registered, by the host's clock."""
    network_id: int | None = None
    """The network namespace of the agent that registered it."""
    tried_wall_ns: int | None = None
    """When its command was last run, by the host's clock; ``None`` if it never was."""
    exit_code: int | None = None
    """Exit code of the last try; ``signal`` and ``killed`` are of the last try, too."""
    signal: int | None = None
    killed: bool = False
    damaged: bool = False
    """Whether its file is unsafe, or the entry was changed or is incomplete. It is never run."""


@dataclass(frozen=True, slots=True)
class Leftovers:
    """The entries that earlier agents left on a host."""

    entries: tuple[Leftover, ...] = ()
    """In the order in which they must be undone; damaged ones last."""
    left_out: int = 0
    """Number of further entries, which the host did not list."""
    elsewhere: int = 0
    """Number of entries that were registered on another machine that shares the folder."""


def keeps_undo_log(agent: Agent) -> bool:
    """Whether the probe of a host has an undo log."""
    return "undo" in str(agent.hello.get("capabilities", "")).split(",")


def guard(agent: Agent, words: Sequence[str], deadline_s: float) -> str:
    """Register a command that undoes a change, before the change; returns the id of its entry.

    Raises ProbeError if it is not registered, HostGone if the host is lost.
    """
    _check(agent)
    keys = keys_of(words, deadline_s)
    return str(agent.ask("guard", timeout_s=GUARD_S, **keys)["entry"])


def undo(agent: Agent, entry: str, deadline_s: float) -> Undone:
    """Run the command of an entry now, and wait for its end. ``deadline_s``: the entry's deadline.

    Raises ProbeError if it cannot be run, for example ``unknown-entry`` and ``entry-in-use``. If
    the host does not have the program, the exit code is ``NOT_STARTED``, as from a shell. Raises
    HostGone if the host is lost.
    """
    _check(agent)
    words = (f"entry {entry}",)
    try:
        program = Program.start_by(agent, "undo", {"entry": entry}, words, deadline_s)
    except ProbeError as error:
        if error.word != "program-missing":
            raise
        return Undone(entry, True, NOT_STARTED, None, False, error.detail)
    killed = ended_by_deadline(program)
    result = program.result or {}
    return Undone(
        entry=entry,
        # If the deadline ended the command, its entry always stays.
        left=killed or bool(result.get("left")),
        exit_code=result.get("exit_code"),
        signal=result.get("signal"),
        killed=killed,
        output="\n".join(
            line
            for descriptor in (STANDARD_OUTPUT, STANDARD_ERROR)
            for line in program.text(descriptor).splitlines()[-LINES_MOST:]
        ),
    )


def leftovers(agent: Agent) -> Leftovers:
    """The entries of agents that no longer run; no entries if the probe has no undo log.

    Raises ProbeError if they cannot be read, HostGone if the host is lost.
    """
    if not keeps_undo_log(agent):
        return Leftovers()
    until = clock.monotonic() + LIST_S
    pending = agent.start("leftovers")
    entries: list[Leftover] = []
    while (record := pending.record(max(0.0, until - clock.monotonic())))["type"] == "leftover":
        entries.append(_leftover(record))
    if record["count"] != len(entries):
        detail = (
            f"its record leftovers has count {record['count']}, but {len(entries)} came before it"
        )
        raise ProbeError(agent.host.name, BAD_ANSWER, detail=detail)
    return Leftovers(in_order(entries), record["left_out"], record["elsewhere"])


def in_order(found: Sequence[Leftover]) -> tuple[Leftover, ...]:
    """Entries in the order in which they must be undone.

    Entries of one file keep their order, whatever their times: a host may set its clock. If there
    are several files, their next entries are compared, and the latest of these comes first.
    """
    files: defaultdict[str, list[Leftover]] = defaultdict(list)
    for leftover in found:
        if not leftover.damaged:
            files[leftover.file].append(leftover)
    ordered: list[Leftover] = []
    while files:
        latest = max(files, key=lambda file: files[file][0].written_wall_ns)
        ordered.append(files[latest].pop(0))
        if not files[latest]:
            del files[latest]
    return (*ordered, *(leftover for leftover in found if leftover.damaged))


def _leftover(record: Mapping[str, Any]) -> Leftover:
    if record.get("damaged"):
        return Leftover("", record["file"], damaged=True)
    arguments = record.get("arguments")
    return Leftover(
        entry=record["entry"],
        file=record["file"],
        words=(record["program"], *(() if arguments is None else arguments.split("\n"))),
        deadline_s=record["deadline_ns"] / 1e9,
        written_wall_ns=record["written_wall_ns"],
        network_id=record.get("network_id"),
        tried_wall_ns=record.get("tried_wall_ns"),
        exit_code=record.get("exit_code"),
        signal=record.get("signal"),
        killed=bool(record.get("killed")),
    )


def _check(agent: Agent) -> None:
    if not keeps_undo_log(agent):
        detail = "its probe has no undo log, so a changed setting might never be put back"
        raise ProbeError(agent.host.name, "capability-missing", detail=detail)
