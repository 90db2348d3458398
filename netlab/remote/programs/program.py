"""A program that an agent runs on its host: its command line, its output, its end."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from netlab import clock
from netlab.errors import ProbeError
from netlab.remote.agent import Agent
from netlab.remote.pending import Pending
from netlab.remote.protocol import decimal

STARTS_S = 10.0
"""Time limit for a host to start a program."""

ENDS_S = 5.0
"""Time after a program's deadline in which the agent must report the program's end."""

STANDARD_OUTPUT, STANDARD_ERROR = 1, 2


def keys_of(words: Sequence[str], deadline_s: float) -> dict[str, Any]:
    """The keys of a request: program and arguments (``words``), and its deadline in seconds."""
    keys: dict[str, Any] = {"program": words[0]}
    if len(words) > 1:
        keys["arguments"] = "\n".join(words[1:])
    return keys | {"deadline": decimal(deadline_s)}


@dataclass(slots=True)
class Program:
    """A program on a host. The agent ends it at its deadline, or when the agent itself ends."""

    agent: Agent
    words: Sequence[str]
    pending: Pending
    deadline_at: float
    """Time of the controller's monotonic clock by which the agent must report the program's end."""
    texts: dict[int, list[str]] = field(default_factory=dict)
    result: Mapping[str, Any] | None = None
    """The agent's last record about it; ``None`` as long as it runs."""

    @classmethod
    def start(cls, agent: Agent, words: Sequence[str], deadline_s: float) -> Program:
        """Start a program and wait until it runs.

        Raises ProbeError, for example ``program-missing``, and HostGone.
        """
        return cls.start_by(agent, "run", keys_of(words, deadline_s), words, deadline_s)

    @classmethod
    def start_by(
        cls,
        agent: Agent,
        verb: str,
        keys: Mapping[str, Any],
        words: Sequence[str],
        deadline_s: float,
    ) -> Program:
        """Send a request that starts a program, and wait until the program runs.

        ``words``: the words of the program; the first one names it in an error. Raises as
        ``start``.
        """
        pending = agent.start(verb, **keys)
        program = cls(agent, words, pending, clock.monotonic() + deadline_s + ENDS_S)
        try:
            pending.record(STARTS_S)
        except ProbeError as error:
            program.abort()
            detail = f"{words[0]}: {error.detail or error.word}"
            raise ProbeError(error.host, error.word, errno=error.errno, detail=detail) from None
        return program

    def wait(self) -> Mapping[str, Any]:
        """Wait for the program's end. Returns the agent's last record about it.

        Raises ProbeError if its deadline or its agent ended it, HostGone if the host is lost.
        """
        self._wait_until(self.deadline_at)
        assert self.result is not None  # noqa: S101  (for the type checker)
        return self.result

    def ends_within(self, seconds: float) -> bool:
        """Wait at most ``seconds``. Returns whether it has ended by itself. Raises as ``wait``."""
        try:
            self._wait_until(clock.monotonic() + seconds)
        except ProbeError as error:
            if error.word != "no-answer":
                raise
        return self.result is not None

    def _wait_until(self, until: float) -> None:
        while self.result is None:
            record = self.pending.record(max(0.0, until - clock.monotonic()))
            if record["type"] == "output":
                self.texts.setdefault(record["descriptor"], []).append(record["text"])
            elif record["type"] == "result":
                self.result = record

    def end(self, within_s: float) -> None:
        """Wait until it ends by itself; after ``within_s``, let the agent end it and wait again."""
        self.deadline_at = min(self.deadline_at, clock.monotonic() + within_s)
        try:
            self.wait()
        except ProbeError as error:
            if error.word != "no-answer":
                raise
            self._stop()
            self.deadline_at = clock.monotonic() + ENDS_S
            self.wait()

    def has_ended(self) -> bool:
        """Whether its last record has arrived; does not wait for the record. Raises as ``wait``."""
        try:
            self._wait_until(clock.monotonic())
        except ProbeError as error:
            if error.word != "no-answer":
                raise
        return self.result is not None

    def abort(self) -> None:
        """End it at once, without a result."""
        if self.result is None:
            self._stop(abort=1)

    def _stop(self, **keys: Any) -> None:
        self.agent.start("stop", test=self.pending.id, **keys)

    def text(self, descriptor: int = STANDARD_OUTPUT) -> str:
        """What it has printed so far."""
        return "".join(self.texts.get(descriptor, ()))

    @property
    def is_cut(self) -> bool:
        """Whether a part of its output was discarded, because it was too long."""
        return self.result is not None and bool(self.result["discarded_bytes"])

    @property
    def cpu_ns(self) -> int | None:
        """CPU time of the ended program; ``None`` if its system does not report it."""
        if self.result is None or "user_ns" not in self.result:
            return None
        return int(self.result["user_ns"]) + int(self.result.get("system_ns", 0))

    @property
    def last_words(self) -> str:
        """The last line of its standard error, or else of its standard output; empty if none."""
        for descriptor in (STANDARD_ERROR, STANDARD_OUTPUT):
            lines = [line.strip() for line in self.text(descriptor).splitlines() if line.strip()]
            if lines:
                return lines[-1]
        return ""
