"""What netlab must know of a tool to measure with it, and what the tool cannot measure. No I/O."""

from __future__ import annotations

import re
from collections.abc import Collection, Iterator, Mapping
from dataclasses import MISSING, dataclass, replace
from typing import Any, Protocol

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
