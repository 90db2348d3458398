"""What netlab must know of another tool to measure with it, and what the tool cannot measure."""

from __future__ import annotations

import re
from abc import ABC, abstractmethod
from collections.abc import Collection, Iterator, Mapping
from dataclasses import MISSING, dataclass, replace
from typing import Any, ClassVar

from netlab.errors import Fault, MatrixError
from netlab.imports.common.tool_results import Parse, ToolResult
from netlab.kinds import ROWS, RoundTrip, Stream
from netlab.kinds.groups import SettingFault
from netlab.trial.record import Value

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

ToolSetup = Stream | RoundTrip
"""The settings of a test that a tool may measure."""


@dataclass(frozen=True, slots=True)
class ToolTrial:
    """One trial of a tool: its settings, addresses and ports."""

    setup: ToolSetup
    server_address: str
    client_address: str
    ports: tuple[int, int]
    """Two ports that nobody uses at the server: for the tool's control connection, and for its
    data if they need a port of their own."""


class Tool(ABC):
    """Another tool: the words that start it, and how its output is read."""

    name: ClassVar[str]
    """In the setting ``engine``."""
    version_words: ClassVar[tuple[str, ...]]
    """The program and the options with which it prints its version."""
    tried_version: ClassVar[str]
    """The version with which netlab was tried. Another version may have other options or print
    something else."""
    serves_once: ClassVar[bool]
    """Whether its server ends by itself after one test."""
    follows: ClassVar[Mapping[tuple[str, str], frozenset[str]]]
    """(Kind of test, protocol) that it can measure → the settings that it can follow."""

    @abstractmethod
    def limits(self, setup: ToolSetup) -> Iterator[SettingFault]:
        """The settings whose values it cannot follow, each with a sentence that says why."""

    @abstractmethod
    def remarks(self, setup: ToolSetup) -> Iterator[str]:
        """Sentences on what it does differently from the settings, without ``OTHERWISE``."""

    @abstractmethod
    def server_words(self, trial: ToolTrial, /) -> tuple[str, ...]:
        """The program and its arguments at the server."""

    @abstractmethod
    def client_words(self, trial: ToolTrial, /) -> tuple[str, ...]:
        """The program and its arguments at the client."""

    @abstractmethod
    def result(self, trial: ToolTrial, /, *, server: str, client: str) -> ToolResult:
        """The result in what the ends printed; MatrixError if it is no output of the tool."""


def test_of(setup: ToolSetup) -> str:
    """The kind of test of a setup: ``stream`` or ``round_trip``."""
    return "stream" if isinstance(setup, Stream) else "round_trip"


def duration_of(setup: ToolSetup) -> float:
    """The measured time in seconds; no tool follows a ``count`` in place of a duration."""
    assert setup.duration_s is not None  # noqa: S101  (for the type checker)
    return setup.duration_s


def changed_settings(setup: ToolSetup) -> Collection[str]:
    """The settings that differ from their defaults, or that are set and have no default."""
    defaults = {**setup.defaults(), "opening": "client-connects"}
    return [
        name
        for name in setup.names()
        if (level := getattr(setup, name)) is not None and level != defaults[name]
    ]


def refusal(tool: Tool, setup: ToolSetup) -> str | None:
    """The first setting that keeps a tool from measuring, by its key in a matrix, and a sentence;
    ``None`` if the tool can measure. It is ``test`` or ``protocol`` if the tool has no such test.
    """
    test = test_of(setup)
    follows = tool.follows.get((test, setup.protocol))
    if follows is None:
        if test in {test for test, _ in tool.follows}:
            return f"`protocol`: {tool.name} has no test {test} over {setup.protocol}"
        return f"`test`: {tool.name} has no test {test}"
    for name in changed_settings(setup):
        if name not in follows | BY_NETLAB | OTHERWISE.keys():
            key = ROWS[name].key
            return f"`{key}`: {tool.name} has no setting for `{key}`"
    fault = next(tool.limits(setup), None)
    return None if fault is None else f"`{ROWS[fault[0]].key}`: {fault[1]}"


def refusal_of_running_server(tool: Tool, trial: ToolTrial) -> str | None:
    """As ``refusal``, of the first setting that would change the command line with which netlab
    starts the server, so that a server that runs already cannot follow it.
    """
    words, defaults = tool.server_words(trial), trial.setup.defaults()
    for name in changed_settings(trial.setup):
        if name in BY_NETLAB or defaults[name] is MISSING:
            continue
        level: dict[str, Any] = {name: defaults[name]}
        plain = replace(trial, setup=replace(trial.setup, **level))
        if tool.server_words(plain) != words:
            return f"`{ROWS[name].key}`: the server runs already, and netlab cannot set this"
    return None


def remarks_of(tool: Tool, setup: ToolSetup) -> tuple[str, ...]:
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


# ---- what several tools share ----

OF_ALL = frozenset({"message_bytes", "duration_s"})
"""Settings that every tool follows."""
OF_RATED_STREAMS = OF_ALL | {
    *("socket_buffer_bytes", "dscp", "direction", "streams"),
    *("rate_bit_per_s", "message_rate_per_s"),
}

ONE_THREAD = "its streams share one thread at each end"
ONE_MESSAGE_A_CALL = "its receiver takes at most one message a receive call"
WAITS_FOR_THE_LOST = (
    "waits for a lost request or answer until the end of the test, and does not count it as lost"
)

_TOLERANCE = 1e-9
"""Relative error up to which a number counts as whole. The conversion of units causes such
errors."""
_LEAST_RATE = 100
"""From this rate in bit/s on, whole bits per second are close to any rate."""
MOST_STREAMS = 128
"""Of iperf3 and of nuttcp."""
UDP_MOST_BYTES = 65507
"""The longest message that iperf3, nuttcp and sockperf send over UDP."""


def option(word: str, level: object) -> tuple[str, ...]:
    """An option and its value; no words if ``level`` is ``None``."""
    return () if level is None else (word, str(level))


def flag(word: str, *, when: bool) -> tuple[str, ...]:
    """An option without a value if ``when`` is true, otherwise no words."""
    return (word,) if when else ()


def stream_of(setup: ToolSetup) -> Stream:
    """The setup, typed as that of a stream: for a tool that measures only streams."""
    assert isinstance(setup, Stream)  # noqa: S101  (for the type checker)
    return setup


def several_streams(setup: Stream) -> int | None:
    """The number of streams if it is more than one, which is the default of every tool."""
    return setup.streams if setup.streams > 1 else None


def traffic_class(setup: ToolSetup) -> int | None:
    """The traffic class byte with the DSCP, as the socket option IP_TOS takes it."""
    return None if setup.dscp is None else setup.dscp << 2


def rate_of_each(setup: Stream) -> int | None:
    """The offered payload of each stream in bit/s; ``None``: as fast as possible."""
    if setup.rate_bit_per_s is not None:
        return round(setup.rate_bit_per_s / setup.streams)
    if setup.message_rate_per_s is not None:
        return round(8 * setup.message_bytes * setup.message_rate_per_s / setup.streams)
    return None


def is_whole(number: float) -> bool:
    """Whether a number has no fraction."""
    return abs(number - round(number)) <= _TOLERANCE * max(1.0, abs(number))


def faults_of_rate(setup: Stream, tool: str) -> Iterator[SettingFault]:
    """A fault if the rate is so low that whole bits per second are no longer close to it."""
    rate = rate_of_each(setup)
    if rate is not None and rate < _LEAST_RATE:
        name = "message_rate_per_s" if setup.rate_bit_per_s is None else "rate_bit_per_s"
        yield name, f"{tool} takes whole bits per second: at least {_LEAST_RATE} for each stream"


def faults_of_seconds(setup: ToolSetup, tool: str, most: int = 86400) -> Iterator[SettingFault]:
    """A fault if the duration is not a whole number of seconds, from 1 to ``most``."""
    if not (is_whole(duration_of(setup)) and 1 <= duration_of(setup) <= most):
        yield "duration_s", f"{tool} measures for whole seconds, from 1 to {most}"


def faults_of_size(
    setup: ToolSetup, tool: str, least: int = 1, most: int | None = None, of: str = ""
) -> Iterator[SettingFault]:
    """A fault if the message is too short or too long for a tool.

    ``of`` ends the sentence: it says in which case the limit applies.
    """
    if setup.message_bytes < least:
        yield "message_bytes", f"{tool} takes messages of at least {least} bytes{of}"
    if most is not None and setup.message_bytes > most:
        yield "message_bytes", f"{tool} takes messages of at most {most} bytes{of}"


def remarks_on_receive_call(setup: Stream) -> Iterator[str]:
    """A remark for a tool whose TCP receiver always takes at most one message per call."""
    if setup.protocol == "TCP" and setup.tcp_receive_call is None:
        yield ONE_MESSAGE_A_CALL


def last_result(parse: Parse, text: str, end: str) -> ToolResult:
    """The last result in the output of an end; MatrixError if there is none."""
    if not (results := parse(text, end)):
        raise MatrixError([Fault(end, 1, 1, "", "empty")])
    return results[-1]


def without(name: str, levels: Mapping[str, Value]) -> dict[str, Value]:
    """The settings or values without one of them."""
    return {other: level for other, level in levels.items() if other != name}
