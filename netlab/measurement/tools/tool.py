"""What netlab knows of another tool that it can measure with. Pure."""

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
"""Setting → what a tool without it does instead. It measures anyway, and the record has the
sentence. Without another setting, it does not measure."""


@dataclass(frozen=True, slots=True)
class ToolTrial:
    """One trial of a tool: what is asked of it, and where."""

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
        """Its name as an engine."""

    @property
    def version_words(self) -> tuple[str, ...]:
        """The program and the options with which it prints its version."""

    @property
    def tried_version(self) -> str:
        """The version with which netlab was tried. Another one may have other options or print
        something else.
        """

    @property
    def follows(self) -> Mapping[tuple[str, str], frozenset[str]]:
        """(Kind of test, protocol) that it can measure → the settings that it can follow."""

    @property
    def serves_once(self) -> bool:
        """Whether its server ends by itself after one test."""

    def limits(self, setup: Stream | RoundTrip) -> Iterator[SettingFault]:
        """The settings whose levels it cannot follow, each with a sentence."""

    def remarks(self, setup: Stream | RoundTrip) -> Iterator[str]:
        """What it does otherwise than asked, a sentence each, beside those of ``OTHERWISE``."""

    def server_words(self, trial: ToolTrial) -> tuple[str, ...]:
        """The program and its arguments at the server."""

    def client_words(self, trial: ToolTrial) -> tuple[str, ...]:
        """The program and its arguments at the client."""

    def result(self, trial: ToolTrial, *, server: str, client: str) -> ToolResult:
        """The result in the standard output of the server and of the client.

        Raises MatrixError if it is no output of the tool.
        """


@dataclass(frozen=True, slots=True)
class Refusal:
    """A setting that a tool cannot follow."""

    setting: str
    """Its key in a matrix; ``test`` or ``protocol`` if the tool has none of the kind."""
    sentence: str

    def __str__(self) -> str:
        return f"`{self.setting}`: {self.sentence}"


def test_of(setup: Stream | RoundTrip) -> str:
    """The kind of test of a setup: ``stream`` or ``round_trip``."""
    return "stream" if isinstance(setup, Stream) else "round_trip"


def refusal(tool: Tool, setup: Stream | RoundTrip) -> Refusal | None:
    """The first setting that keeps a tool from measuring; ``None``: it can."""
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
    """The first setting that only the start of the server could apply; ``None``: there is none.

    It is a setting without which netlab would start the server with other words.
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
    """What a tool does otherwise than asked, a sentence each."""
    follows = tool.follows.get((test_of(setup), setup.protocol), frozenset())
    unmet = [name for name in changed_settings(setup) if name in OTHERWISE and name not in follows]
    return (*(OTHERWISE[name] for name in unmet), *tool.remarks(setup))


def version_line(tool: Tool, printed: str) -> str:
    """The line about its version in what a tool prints: the first line with the tool's name, else
    the first line. iperf 3.0 prints a line about the system before.
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
    """The settings that are not at their defaults; those without a default are always named."""
    defaults = {**setup.defaults(), "opening": "client-connects"}
    return [
        name
        for name in setup.names()
        if (level := getattr(setup, name)) is not None and level != defaults[name]
    ]
