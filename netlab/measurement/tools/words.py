"""Parts of command lines, and sentences about settings, that several tools share. No I/O."""

from __future__ import annotations

from collections.abc import Iterator

from netlab.errors import Fault, MatrixError
from netlab.experiment.feasibility import SettingFault
from netlab.experiment.kinds import RoundTrip, Stream
from netlab.imports.common.tool_result import ToolResult

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
