"""The state of one host's own settings: which changes are made now, and how they are undone.

An agent is a running probe, the program of netlab on a host. Before a change is made, the commands
that undo it are written into the undo log of the host's agent (docs/protocol.md). However the run
ends, the agent runs these commands.
"""

from __future__ import annotations

import re
import shlex
from collections.abc import Mapping

from netlab import clock
from netlab.errors import ProbeError
from netlab.experiment.variants import KNOWN, Change, Words, fill
from netlab.remote.agent import Agent
from netlab.remote.programs.to_end import run_to_end
from netlab.remote.programs.undo_log import guard, undo
from netlab.terminal import excerpt

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


class HostState:
    """The changes on one host. Only one thread at a time uses this object."""

    def __init__(self) -> None:
        self._agent: Agent | None = None
        self._changes: tuple[Change, ...] = ()
        self._entries: list[tuple[str, Words]] = []
        """Entry of the undo log, and its command; in the order in which they were registered."""

    @property
    def is_changed(self) -> bool:
        """Whether something must be undone."""
        return bool(self._entries)

    def enter(
        self,
        agent: Agent,
        changes: tuple[Change, ...],
        places: Mapping[str, str],
        settle_s: float = 0.0,
    ) -> str:
        """Bring the host into a state, unless it is in this state; returns what the checks printed.

        ``places``: the values of the placeholders in the commands; ``settle_s``: wait after the
        changes. Raises ProbeError (``state-not-reached``) with a sentence, and HostGone.
        """
        if agent is not self._agent:
            self._take_over(agent)
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
            if changes and "interface" in places:
                self._await_carrier(places["interface"])
        return "\n".join(self._checked(change) for change in changes)[:TEXT_MOST]

    def restore(self) -> None:
        """Undo all changes, the latest first.

        Raises ProbeError with a sentence if a command fails: its entry stays, and the next call
        tries again.
        """
        self._changes = ()
        while self._entries:
            entry, words = self._entries[-1]
            self._undo(entry, words)
            self._entries.pop()

    def _take_over(self, agent: Agent) -> None:
        """Wait until the changes of the lost agent are undone, by its keeper or by this agent."""
        give_up_at = clock.monotonic() + RECOVERY_S
        self._agent, self._changes = agent, ()
        while self._entries:
            entry, words = self._entries[-1]
            try:
                self._undo(entry, words)
            except ProbeError as error:
                if error.word != "entry-in-use" or clock.monotonic() > give_up_at:
                    self._agent = None
                    raise
                clock.sleep(LOOK_S)
            else:
                self._entries.pop()

    def _undo(self, entry: str, words: Words) -> None:
        try:
            undone = undo(self._of_host(), entry, COMMAND_S)
        except ProbeError as error:
            if error.word == "unknown-entry":  # the lost agent's keeper has undone the change
                return
            raise
        if undone.left:
            how = _ending(undone.exit_code, undone.signal, undone.output)
            raise self._fault(f"its settings were not put back: `{shlex.join(words)}` {how}")

    def _make(self, change: Change, places: Mapping[str, str]) -> None:
        agent = self._of_host()
        if "undo" not in str(agent.hello.get("capabilities", "")).split(","):
            raise self._fault("its probe cannot undo changes, so netlab makes no change")
        for words in self._restoring(change, places):
            try:
                self._entries.append((guard(agent, words, COMMAND_S), words))
            except ProbeError as error:
                why = error.detail or error.word
                raise self._fault(f"no change is made without an undo log: {why}") from error
        self._printed(change.enter)

    def _restoring(self, change: Change, places: Mapping[str, str]) -> tuple[Words, ...]:
        """The commands that undo a change, in the order in which they are registered."""
        if change.restore:
            return change.restore
        kind = KNOWN[change.known]
        state = kind.read(self._printed(change.check))
        try:
            commands = kind.restore(dict(change.wanted), state)
        except ValueError as error:
            raise self._fault(f"{error}, according to `{shlex.join(change.check)}`") from None
        return tuple((*change.prefix, *fill(words, places)) for words in commands)

    def _checked(self, change: Change) -> str:
        """What the check of a change printed; ProbeError if the change is not in effect."""
        text = self._printed(change.check)
        wanted, command = dict(change.wanted), shlex.join(change.check)
        if change.known:
            kind = KNOWN[change.known]
            state = kind.read(text)
            if not kind.is_reached(wanted, state):
                raise self._fault(f"`{command}` prints {_differing(wanted, state)}")
        if change.expect and not re.search(change.expect, text, re.MULTILINE):
            words = f"prints nothing that matches `{change.expect}`: {_last_line(text)}"
            raise self._fault(f"`{command}` {words}")
        return text.strip()

    def _printed(self, words: Words) -> str:
        """What a command printed; ProbeError unless it ended with exit code 0."""
        command = shlex.join(words)
        try:
            ended = run_to_end(self._of_host(), words, COMMAND_S)
        except ProbeError as error:
            raise self._fault(f"`{command}`: {error.detail or error.word}") from error
        if ended.exit_code != 0:
            how = _ending(ended.exit_code, ended.signal, ended.errors or ended.text)
            raise self._fault(f"`{command}` {how}")
        return ended.text

    def _await_carrier(self, interface: str) -> None:
        give_up_at = clock.monotonic() + CARRIER_S
        while self._of_host().facts(interface=interface).get("interface_carrier") == 0:
            if clock.monotonic() > give_up_at:
                raise self._fault(f"the link of {interface} stays down after the change")
            clock.sleep(LOOK_S)

    def _of_host(self) -> Agent:
        assert self._agent is not None  # noqa: S101  (for the type checker)
        return self._agent

    def _fault(self, sentence: str) -> ProbeError:
        return ProbeError(self._of_host().host.name, NOT_REACHED, detail=excerpt(sentence, 500))


def _ending(exit_code: int | None, signal: int | None, output: str) -> str:
    """How a command that failed ended, with the last line of its output."""
    if exit_code is not None:
        how = f"ended with exit code {exit_code}"
    else:
        how = "did not end in time" if signal is None else f"was ended by signal {signal}"
    line = _last_line(output)
    return f"{how}: {line}" if line else how


def _differing(wanted: Mapping[str, str], found: Mapping[str, str]) -> str:
    """The values that differ from the wanted values, in words."""
    values = [(name, found.get(name, "nothing"), value) for name, value in wanted.items()]
    if all(name not in found for name in wanted) and found:
        values = [(name, value, next(iter(wanted.values()))) for name, value in found.items()]
    words = [f"{name} {value}, not {want}" for name, value, want in values if value != want]
    return "; ".join(words[:3]) or "other values"


def _last_line(text: str) -> str:
    lines = [line.strip() for line in text.splitlines() if line.strip()]
    return lines[-1] if lines else ""
