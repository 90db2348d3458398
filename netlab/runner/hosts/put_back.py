"""Puts back the settings of a host that an earlier run changed, by the commands in its undo log.

The undo log of a host has an entry for each change of a setting: the command that undoes the
change. A leftover is an entry of an earlier agent (program of netlab on the host) whose command was
not run, or failed.
"""

from __future__ import annotations

import shlex
from collections.abc import Iterable, Iterator
from dataclasses import dataclass

from netlab import clock
from netlab.errors import HostError, HostGone, LockedError, ProbeError
from netlab.remote.agent import Agent
from netlab.remote.host_lock import LockOwner, lock_host
from netlab.remote.programs.undo_log import Leftover, Undone, leftovers, undo
from netlab.runner.hosts.leftovers import command_of, is_reachable, since
from netlab.terminal import excerpt

DEADLINE_MOST_S = 60.0
"""Longest deadline of an entry (docs/protocol.md): a host may report any number."""

TURN_S = 660.0
"""How long to wait for the lock if this process holds it under another host name of the inventory
that stands for the same host. The deadlines of an agent's entries are at most 600 s together."""

ROUNDS_MOST = 64
"""Maximum number of requests for the leftovers, whose list may be too long for one answer."""

WORDS_MOST = 200
"""Maximum number of characters of a foreign text, such as a command's last line, in a sentence."""

AGAIN = "run `netlab hosts` again"


@dataclass(frozen=True, slots=True)
class PutBack:
    """What became of one leftover of a host."""

    leftover: Leftover
    fault: str | None
    """Why the setting was not put back, and what to do; ``None``: it was put back."""
    is_own: bool = True
    """Whether this host can run the entry's command: the entry is not damaged and belongs to the
    network namespace of this host."""

    @property
    def key(self) -> tuple[str, str]:
        """The identity of the entry: its file, whose name is random, and its id."""
        return self.leftover.file, self.leftover.entry

    @property
    def summary(self) -> str:
        """The command, and since when it was due."""
        return f"`{command_of(self.leftover)}`, due since {since(self.leftover)}"

    def as_json(self) -> dict[str, object]:
        """An object for `netlab hosts --json`."""
        return {
            "entry": self.leftover.entry,
            "file": self.leftover.file,
            "command": list(self.leftover.words),
            "written_wall_ns": self.leftover.written_wall_ns,
            "put_back": self.fault is None,
            "fault": self.fault,
        }


@dataclass(frozen=True, slots=True)
class UndoLogState:
    """The undo log of a host after its leftovers were put back."""

    tried: tuple[PutBack, ...] = ()
    elsewhere: int = 0
    """Number of entries of another machine that uses the same folder for its undo log."""


def put_back(agent: Agent, owner: LockOwner) -> UndoLogState:
    """Undo the leftovers of a host in their order, while ``owner`` holds the host's lock.

    Nothing is undone while another netlab process measures with the host. Raises ProbeError if the
    undo log cannot be read, HostGone if the host is lost before anything was undone.
    """
    listing = leftovers(agent)
    if not any(is_reachable(agent, leftover) for leftover in listing.entries):
        return UndoLogState(tuple(_others(agent, listing.entries)), listing.elsewhere)
    obstacle = _obstacle(agent, owner)
    if obstacle is not None:
        mine = (entry for entry in listing.entries if is_reachable(agent, entry))
        tried = [PutBack(entry, _not_now(entry, obstacle)) for entry in mine]
        return UndoLogState((*tried, *_others(agent, listing.entries)), listing.elsewhere)
    done: dict[str, PutBack] = {}
    try:
        for _ in range(ROUNDS_MOST):
            # Read again under the lock: another host of the inventory may be the same host, and
            # may have put settings back.
            listing = leftovers(agent)
            if not _undo_all(agent, listing.entries, done) or not listing.left_out:
                break
        agent.ask("unlock")
    except (HostError, ProbeError) as error:
        if not done:
            raise
        # Report what was put back, and the fault for the rest.
        rest = [entry for entry in listing.entries if is_reachable(agent, entry)]
        for entry in rest:
            done.setdefault(entry.entry, PutBack(entry, _not_now(entry, excerpt(str(error), 300))))
    return UndoLogState((*done.values(), *_others(agent, listing.entries)), listing.elsewhere)


def _undo_all(agent: Agent, entries: Iterable[Leftover], done: dict[str, PutBack]) -> bool:
    """Undo each entry that was not tried yet; returns whether at least one was put back."""
    any_back = False
    for entry in entries:
        if is_reachable(agent, entry) and entry.entry not in done:
            done[entry.entry] = PutBack(entry, _undo(agent, entry))
            any_back = any_back or done[entry.entry].fault is None
    return any_back


def _undo(agent: Agent, leftover: Leftover) -> str | None:
    """Undo an entry; returns a sentence if that failed. Raises HostGone."""
    try:
        undone = undo(agent, leftover.entry, min(leftover.deadline_s, DEADLINE_MOST_S))
    except HostGone:
        raise
    except ProbeError as error:
        ending = f"{error.word}{f' ({excerpt(error.detail, WORDS_MOST)})' if error.detail else ''}"
    else:
        if not undone.left:
            return None
        ending = _ending(undone)
    return (
        f"{_of(leftover)} could not be put back: {ending}. Correct the cause and {AGAIN}; or put "
        f"the setting back by hand, and remove {_file(leftover)} on the host"
    )


def _ending(undone: Undone) -> str:
    """How a command failed, with the last line that it printed."""
    if undone.killed:
        how = "its command did not end in time and was killed"
    elif undone.signal is not None:
        how = f"its command was ended by signal {undone.signal}"
    elif undone.exit_code == 0:
        how = "its command succeeded, and its entry is still there"
    else:
        code = "unknown" if undone.exit_code is None else undone.exit_code
        how = f"its command failed with exit code {code}"
    lines = [line.strip() for line in undone.output.splitlines() if line.strip()]
    return f"{how}: {excerpt(lines[-1], WORDS_MOST)}" if lines else how


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
    """An entry in words, as the subject of a sentence."""
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
        lock_host(agent, owner, give_up_s=clock.monotonic(), patience=patience)
    except LockedError:
        return f"the host is measured by {excerpt(holders[-1], WORDS_MOST) or 'another run'}"
    except HostGone:
        raise
    except HostError as error:
        return excerpt(str(error), WORDS_MOST)
    return None
