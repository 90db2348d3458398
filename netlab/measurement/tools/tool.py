"""What netlab must know of a tool to measure with it, and what the tool cannot measure.

Parts of command lines, and sentences about settings, that several tools share.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Iterator, Mapping
from dataclasses import MISSING, dataclass, replace
from typing import Any, Protocol

from netlab.errors import Fault, MatrixError
from netlab.experiment.feasibility import SettingFault
from netlab.experiment.kinds import ROWS, RoundTrip, Stream
from netlab.imports.common.tool_result import ToolResult

BY_NETLAB = frozenset({"engine", "network", "protocol", "ip_version"})
"""Settings that netlab itself follows, by the choice of the tool and of the addresses."""

OTHERWISE: Mapping[str, str] = {
    "warm_up_s": "no warm-up: the figure covers the beginning",
    "receive": "waits for data in its own way",
    "server_receive": "waits for requests in its own way",
    "client_receive": "waits for answers in its own way",
}
"""Setting → what a tool without this setting does instead. Such a tool measures anyway, and the
record has this text. If a tool lacks any other setting that the matrix changes, it does not
measure."""


@dataclass(frozen=True, slots=True)
class ToolTrial:
    """One trial of a tool: its settings, addresses and ports."""

    setup: Stream | RoundTrip
    server_address: str
    client_address: str
    ports: tuple[int, int]
    """Two ports that nobody uses at the server: for the tool's control connection, and for its
    data if they need a port of their own."""

    @property
    def test(self) -> str:
        """The kind of test: ``stream`` or ``round_trip``."""
        return test_of(self.setup)


class Tool(Protocol):
    """Another tool: the words that start it, and how its output is read."""

    @property
    def name(self) -> str:
        """The name of the tool in the setting ``engine``."""

    @property
    def version_words(self) -> tuple[str, ...]:
        """The program and the options with which it prints its version."""

    @property
    def tried_version(self) -> str:
        """The version with which netlab was tried. Another version may have other options or
        print something else.
        """

    @property
    def follows(self) -> Mapping[tuple[str, str], frozenset[str]]:
        """(Kind of test, protocol) that the tool can measure → the settings that it can
        follow.
        """

    @property
    def serves_once(self) -> bool:
        """Whether the tool's server ends by itself after one test."""

    def limits(self, setup: Stream | RoundTrip) -> Iterator[SettingFault]:
        """The settings whose values the tool cannot follow, each with a sentence that says why."""

    def remarks(self, setup: Stream | RoundTrip) -> Iterator[str]:
        """Sentences that state what the tool does differently from the settings.

        The texts of ``OTHERWISE`` are not among these sentences.
        """

    def server_words(self, trial: ToolTrial) -> tuple[str, ...]:
        """The program and its arguments at the server."""

    def client_words(self, trial: ToolTrial) -> tuple[str, ...]:
        """The program and its arguments at the client."""

    def result(self, trial: ToolTrial, *, server: str, client: str) -> ToolResult:
        """The result in the standard output of the server and of the client.

        Raises MatrixError if these texts are not the output of the tool.
        """


@dataclass(frozen=True, slots=True)
class Refusal:
    """A setting that a tool cannot follow."""

    setting: str
    """Key of the setting in a matrix; ``test`` or ``protocol`` if the tool cannot measure this test
    or protocol."""
    sentence: str

    def __str__(self) -> str:
        return f"`{self.setting}`: {self.sentence}"


def test_of(setup: Stream | RoundTrip) -> str:
    """The kind of test of a setup: ``stream`` or ``round_trip``."""
    return "stream" if isinstance(setup, Stream) else "round_trip"


def refusal(tool: Tool, setup: Stream | RoundTrip) -> Refusal | None:
    """The first setting that keeps a tool from measuring; ``None`` if the tool can measure."""
    test = test_of(setup)
    follows = tool.follows.get((test, setup.protocol))
    if follows is None:
        tests = {test for test, _ in tool.follows}
        key = "protocol" if test in tests else "test"
        what = f"{test} over {setup.protocol}" if key == "protocol" else test
        return Refusal(key, f"{tool.name} has no test {what}")
    for name in changed_settings(setup):
        if name not in follows | BY_NETLAB | OTHERWISE.keys():
            key = ROWS[name].key
            return Refusal(key, f"{tool.name} has no setting for `{key}`")
    fault = next(tool.limits(setup), None)
    return None if fault is None else Refusal(ROWS[fault[0]].key, fault[1])


def refusal_of_running_server(tool: Tool, trial: ToolTrial) -> Refusal | None:
    """The first setting that could be applied only by starting the server; ``None`` if there is
    none.

    This is a setting that changes the command line with which netlab would start the server.
    """
    words, defaults = tool.server_words(trial), trial.setup.defaults()
    for name in changed_settings(trial.setup):
        if name in BY_NETLAB or defaults[name] is MISSING:
            continue
        level: dict[str, Any] = {name: defaults[name]}
        plain = replace(trial, setup=replace(trial.setup, **level))
        if tool.server_words(plain) != words:
            return Refusal(ROWS[name].key, "the server runs already, and netlab cannot set this")
    return None


def remarks_of(tool: Tool, setup: Stream | RoundTrip) -> tuple[str, ...]:
    """Sentences that state what a tool does differently from the settings."""
    follows = tool.follows.get((test_of(setup), setup.protocol), frozenset())
    unmet = [name for name in changed_settings(setup) if name in OTHERWISE and name not in follows]
    return (*(OTHERWISE[name] for name in unmet), *tool.remarks(setup))


def version_line(tool: Tool, printed: str) -> str:
    """The line about its version in what a tool prints: the first line with the tool's name, else
    the first line. iperf 3.0 prints a line about the system before that.
    """
    lines = [line.strip() for line in printed.splitlines() if line.strip()]
    name = tool.version_words[0].rstrip("0123456789").lower()
    return next((line for line in lines if name in line.lower()), lines[0] if lines else "unknown")


def remarks_on_versions(tool: Tool, version_lines: Mapping[str, str]) -> Iterator[str]:
    """A remark for each version with which netlab was not tried.

    ``version_lines``: ``client`` and, if netlab starts the server, ``server`` → the first line that
    the tool prints about its version there, for example ``iperf 3.12 (cJSON 1.7.15)``.
    """
    tried = re.compile(rf"(?<![\d.]){re.escape(tool.tried_version)}(?!\.?\d)")
    for end, line in version_lines.items():
        if not tried.search(line):
            yield f"{end}: {line}, but netlab was tried with {tool.name} {tool.tried_version}"


def changed_settings(setup: Stream | RoundTrip) -> Collection[str]:
    """The settings that differ from their defaults. A setting without a default is among them if it
    is set.
    """
    defaults = {**setup.defaults(), "opening": "client-connects"}
    return [
        name
        for name in setup.names()
        if (level := getattr(setup, name)) is not None and level != defaults[name]
    ]


Setup = Stream | RoundTrip
"""The settings of a test that a tool may measure."""

FOR_BOTH = frozenset({"message_bytes", "duration_s"})
"""Settings that every tool follows."""

ONE_THREAD = "its streams share one thread at each end"
ONE_MESSAGE_A_CALL = "its receiver takes at most one message a receive call"
WAITS_FOR_THE_LOST = (
    "waits for a lost request or answer until the end of the test, and does not count it as lost"
)

_TOLERANCE = 1e-9
"""Relative error up to which a number counts as whole. The conversion of units causes such
errors."""


def option(word: str, level: object) -> tuple[str, ...]:
    """An option and its value; no words if ``level`` is ``None``."""
    return () if level is None else (word, str(level))


def flag(word: str, *, when: bool) -> tuple[str, ...]:
    """An option without a value if ``when`` is true, otherwise no words."""
    return (word,) if when else ()


def is_whole(number: float) -> bool:
    """Whether a number has no fraction."""
    return abs(number - round(number)) <= _TOLERANCE * max(1.0, abs(number))


def duration_of(setup: Setup) -> float:
    """The measured time in seconds. A test without a duration has a ``count``, which no tool
    follows.
    """
    assert setup.duration_s is not None  # noqa: S101  (for the type checker)
    return setup.duration_s


def stream_of(setup: Setup) -> Stream:
    """The setup, typed as that of a stream: for a tool that measures only streams."""
    assert isinstance(setup, Stream)  # noqa: S101  (for the type checker)
    return setup


def round_trip_of(setup: Setup) -> RoundTrip:
    """The setup, typed as that of round trips: for a tool that measures only round trips."""
    assert isinstance(setup, RoundTrip)  # noqa: S101  (for the type checker)
    return setup


def traffic_class(dscp: int | None) -> int | None:
    """The traffic class byte for a DSCP, as the socket option IP_TOS takes it."""
    return None if dscp is None else dscp << 2


def rate_of_each(setup: Stream) -> int | None:
    """The offered payload of each stream in bit/s; ``None``: as fast as possible."""
    if setup.rate_bit_per_s is not None:
        return round(setup.rate_bit_per_s / setup.streams)
    if setup.message_rate_per_s is not None:
        return round(8 * setup.message_bytes * setup.message_rate_per_s / setup.streams)
    return None


def remarks_on_receive_call(setup: Stream) -> Iterator[str]:
    """A remark for a tool whose TCP receiver always takes at most one message per call."""
    if setup.protocol == "TCP" and setup.tcp_receive_call is None:
        yield ONE_MESSAGE_A_CALL


def rate_setting(setup: Stream) -> str:
    """The setting that states the rate."""
    return "rate_bit_per_s" if setup.rate_bit_per_s is not None else "message_rate_per_s"


def faults_of_rate(setup: Stream, tool: str, least: int = 100) -> Iterator[SettingFault]:
    """A fault if the rate is so low that whole bits per second are no longer close to it."""
    rate = rate_of_each(setup)
    if rate is not None and rate < least:
        sentence = f"{tool} takes whole bits per second: at least {least} for each stream"
        yield rate_setting(setup), sentence


def faults_of_seconds(setup: Setup, tool: str, most: int = 86400) -> Iterator[SettingFault]:
    """A fault if the duration is not a whole number of seconds, from 1 to ``most``."""
    if not (is_whole(duration_of(setup)) and 1 <= duration_of(setup) <= most):
        yield "duration_s", f"{tool} measures for whole seconds, from 1 to {most}"


def fault_of_size(
    setup: Setup, tool: str, least: int = 1, most: int | None = None, of: str = ""
) -> Iterator[SettingFault]:
    """A fault if the message is too short or too long for a tool.

    ``of`` ends the sentence: it says in which case the limit applies.
    """
    if setup.message_bytes < least:
        yield "message_bytes", f"{tool} takes messages of at least {least} bytes{of}"
    if most is not None and setup.message_bytes > most:
        yield "message_bytes", f"{tool} takes messages of at most {most} bytes{of}"


def only(results: tuple[ToolResult, ...], file: str) -> ToolResult:
    """The last result in an output; MatrixError if there is none."""
    if not results:
        raise MatrixError([Fault(file, 1, 1, "", "empty")])
    return results[-1]
