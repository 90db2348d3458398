"""Brings both hosts of a trial into the state of their settings that the trial's variant names.

Before a change is made, the commands that undo it are written into the undo log of the host's agent
(docs/protocol.md). However the run ends, the agent runs these commands.
"""

from __future__ import annotations

import re
import shlex
import threading
from collections.abc import Mapping

from netlab import clock
from netlab.errors import HostGone, ProbeError
from netlab.experiment.cells import Cell
from netlab.experiment.hosts import EndName
from netlab.experiment.variants import KNOWN, Change, Variants, Words, chosen, fill
from netlab.measurement.conversation import can
from netlab.measurement.ends import DEVICE, Ends
from netlab.remote.agent import Agent
from netlab.remote.programs import guard, run_to_end, undo
from netlab.terminal import excerpt
from netlab.trial.record import Value

NOT_REACHED = "state-not-reached"
COMMAND_S = 10.0
"""Time for one command: making, checking or undoing a change."""
CARRIER_S = 10.0
"""Time for a link to come up again after a change of its interface."""
RECOVERY_S = 20.0
"""Time in which the changes of a lost agent are undone. The keeper, a process that outlives the
agent and undoes its changes, first waits 5 s at most."""
LOOK_S = 0.2
TEXT_MOST = 8000
"""Maximum number of characters of a check's output in a record."""


class _HostState:
    """The changes on one host. Only one thread at a time uses this object."""

    def __init__(self, agent: Agent) -> None:
        self._agent = agent
        self._changes: tuple[Change, ...] = ()
        self.entries: list[tuple[str, Words]] = []
        """What must be undone: the entry of the undo log, and its command; the latest is last."""

    def enter(
        self, agent: Agent, changes: tuple[Change, ...], places: Mapping[str, str], settle_s: float
    ) -> str:
        """Bring the host into a state, unless it is in this state; returns what the checks printed.

        ``places``: the values of the placeholders in the commands; ``settle_s``: wait after the
        changes. Raises ProbeError (``state-not-reached``) with a sentence, and HostGone.
        """
        if agent is not self._agent:
            # Wait until the changes of the lost agent are undone, by its keeper or by this agent.
            give_up_at = clock.monotonic() + RECOVERY_S
            lost, self._agent, self._changes = self._agent, agent, ()
            while self.entries:
                try:
                    self._undo_latest()
                except ProbeError as error:
                    if error.word != "entry-in-use" or clock.monotonic() > give_up_at:
                        self._agent = lost
                        raise
                    clock.sleep(LOOK_S)
        changes = tuple(change.filled(places) for change in changes)
        if changes != self._changes:
            self.restore()
            try:
                for change in changes:
                    self._make(change, places)
            except ProbeError:
                self.restore()
                raise
            self._changes = changes
            clock.sleep(settle_s)
            give_up_at = clock.monotonic() + CARRIER_S
            device = places.get("interface") if changes else None
            while device and agent.facts(interface=device).get("interface_carrier") == 0:
                if clock.monotonic() > give_up_at:
                    raise self._fault(f"the link of {device} stays down after the change")
                clock.sleep(LOOK_S)
        return "\n".join(self._checked(change) for change in changes)[:TEXT_MOST]

    def restore(self) -> None:
        """Undo all changes, the latest first.

        Raises ProbeError with a sentence if a command fails: its entry stays, and the next call
        tries again.
        """
        self._changes = ()
        while self.entries:
            self._undo_latest()

    def _undo_latest(self) -> None:
        entry, words = self.entries[-1]
        undone = None
        try:
            undone = undo(self._agent, entry, COMMAND_S)
        except ProbeError as error:
            if error.word != "unknown-entry":  # the lost agent's keeper has undone the change
                raise
        if undone is not None and undone.left:
            how = _ending(undone.exit_code, undone.signal, undone.output)
            raise self._fault(f"its settings were not put back: `{shlex.join(words)}` {how}")
        self.entries.pop()

    def _make(self, change: Change, places: Mapping[str, str]) -> None:
        if not can(self._agent, "undo"):
            raise self._fault("its probe cannot undo changes, so netlab makes no change")
        commands = change.restore
        if not commands:
            kind = KNOWN[change.known]
            state = kind.read(self._printed(change.check))
            try:
                restoring = kind.restore(dict(change.wanted), state)
            except ValueError as error:
                sentence = f"{error}, according to `{shlex.join(change.check)}`"
                raise self._fault(sentence) from None
            commands = tuple((*change.prefix, *fill(words, places)) for words in restoring)
        for words in commands:
            try:
                self.entries.append((guard(self._agent, words, COMMAND_S), words))
            except ProbeError as error:
                why = error.detail or error.word
                raise self._fault(f"no change is made without an undo log: {why}") from error
        self._printed(change.enter)

    def _checked(self, change: Change) -> str:
        """What the check of a change printed; ProbeError if the change is not in effect."""
        text = self._printed(change.check)
        wanted, command = dict(change.wanted), shlex.join(change.check)
        if change.known:
            kind = KNOWN[change.known]
            found = kind.read(text)
            if not kind.is_reached(wanted, found):
                values = [(name, found.get(name, "nothing"), want) for name, want in wanted.items()]
                if found and not wanted.keys() & found.keys():
                    want = next(iter(wanted.values()))
                    values = [(name, value, want) for name, value in found.items()]
                odd = [f"{n} {value}, not {want}" for n, value, want in values if value != want]
                raise self._fault(f"`{command}` prints {'; '.join(odd[:3]) or 'other values'}")
        if change.expect and not re.search(change.expect, text, re.MULTILINE):
            words = f"prints nothing that matches `{change.expect}`: {_last_line(text)}"
            raise self._fault(f"`{command}` {words}")
        return text.strip()

    def _printed(self, words: Words) -> str:
        """What a command printed; ProbeError unless it ended with exit code 0."""
        command = shlex.join(words)
        try:
            ended = run_to_end(self._agent, words, COMMAND_S)
        except ProbeError as error:
            raise self._fault(f"`{command}`: {error.detail or error.word}") from error
        if ended.exit_code != 0:
            how = _ending(ended.exit_code, ended.signal, ended.errors or ended.text)
            raise self._fault(f"`{command}` {how}")
        return ended.text

    def _fault(self, sentence: str) -> ProbeError:
        return ProbeError(self._agent.host.name, NOT_REACHED, detail=excerpt(sentence, 500))


def _ending(exit_code: int | None, signal: int | None, output: str) -> str:
    """How a command that failed ended, with the last line of its output."""
    if exit_code is not None:
        how = f"ended with exit code {exit_code}"
    else:
        how = "did not end in time" if signal is None else f"was ended by signal {signal}"
    line = _last_line(output)
    return f"{how}: {line}" if line else how


def _last_line(text: str) -> str:
    lines = text.strip().splitlines() or [""]
    return lines[-1].strip()


_ENDS: tuple[EndName, ...] = ("server", "client")


class HostStates:
    """The states of all hosts of a run, which change as trials enter them. Several threads may call
    ``enter`` at the same time, if their trials share no host.
    """

    def __init__(self, variants: Variants) -> None:
        self.variants = variants
        self._states: dict[str, _HostState] = {}
        """Name of a host → its state."""
        self._guard = threading.Lock()

    def enter(self, cell: Cell, ends: Ends) -> dict[str, Value]:
        """Bring both hosts into the state that the cell names; returns values for its record.

        Changes that another cell made on a host are undone first. Raises ProbeError
        (``state-not-reached``), and HostGone.
        """
        states = chosen(self.variants, cell.setup.variant)
        by_host: dict[str, tuple[Agent, list[tuple[EndName, Change]]]] = {}
        for end in _ENDS:
            changes = [(end, change) for state in states for change in state.changes(end)]
            if end == "server" and ends.server is None:
                if changes:
                    detail = "it runs no probe, so its settings cannot be changed"
                    raise ProbeError(ends.server_name, NOT_REACHED, detail=detail)
                continue
            agent = ends.agent_of(end)
            by_host.setdefault(agent.host.name, (agent, []))[1].extend(changes)
        values: dict[str, Value] = {}
        settle_s = max((state.settle_s for state in states), default=0.0)
        for name, (agent, of_host) in by_host.items():
            with self._guard:
                state = self._states.setdefault(name, _HostState(agent))
            places = _places(cell, ends, of_host)
            text = state.enter(agent, tuple(change for _, change in of_host), places, settle_s)
            values |= {f"{end}_state": text for end, _ in of_host}
        return values

    def restore(self) -> list[str]:
        """Undo the changes on all hosts; returns a sentence for each host on which this failed."""
        sentences = []
        for name, state in sorted(self._states.items()):
            try:
                state.restore()
            except HostGone as gone:
                sentences.append(f"{gone}; its probe puts its settings back")
            except ProbeError as error:
                sentences.append(f"{name}: {error.detail or error.word}")
        return sentences

    @property
    def changed(self) -> list[str]:
        """Names of the hosts whose settings are changed now."""
        return sorted(name for name, state in self._states.items() if state.entries)


def _places(cell: Cell, ends: Ends, changes: list[tuple[EndName, Change]]) -> Mapping[str, str]:
    """The values of the placeholders that the changes of one host use."""
    uses = {name for _, change in changes for name in change.uses}
    if not uses:
        return {}
    end = changes[0][0]
    other = "client" if end == "server" else "server"
    places = {"address": ends.address(end, cell.setup)}
    if other == "client" or ends.server is not None:
        places["peer_address"] = ends.address(other, cell.setup)
    elif service := ends.mirror or next(iter(ends.served.values()), None):
        places["peer_address"] = service.address
    if "interface" in uses:
        agent = ends.agent_of(end)
        device = str(agent.facts(to=places.get("peer_address")).get("route_interface", ""))
        if not DEVICE.fullmatch(device):
            detail = "its system does not report which interface the traffic uses"
            raise ProbeError(agent.host.name, NOT_REACHED, detail=detail)
        places["interface"] = device
    return places
