"""The parts of a round trip's time, in words. No I/O."""

from __future__ import annotations

from collections.abc import Callable, Mapping

from netlab.findings.finding import Finding
from netlab.messages import Message, _, joined
from netlab.report.text.stream_findings import value_of

_PARTS: Mapping[str, Callable[[str], Message]] = {
    "wire_trip_ns": lambda time: _("at least {time} on the wire", time=time),
    "stack_trip_ns": lambda time: _("{time} in the server’s stack and program", time=time),
    "hold_trip_ns": lambda time: _("{time} held back by the server", time=time),
    "client_cpu_trip_ns": lambda time: _("{time} with the client’s thread on a CPU", time=time),
    "server_cpu_trip_ns": lambda time: _("{time} with the server’s thread on a CPU", time=time),
    "wait_trip_ns": lambda time: _("{time} of waiting for a CPU", time=time),
}
"""Name of a part → its words."""


def parts(finding: Finding) -> Message:
    """A text such as ``at least 12.1 µs on the wire, 25 µs with the client’s thread on a CPU``."""
    times = ((name, value_of(name, finding.evidence)) for name in _PARTS)
    return joined(", ", [_PARTS[name](time) for name, time in times if time is not None])
