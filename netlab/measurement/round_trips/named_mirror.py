"""Round trips with a mirror that the matrix names: another program, or an echo that runs already.

A mirror answers the requests of the client. The server's agent starts the program, and the client
sends its requests to the program as to an echo service (RFC 862). The time that a request and its
answer spend in the server's network stack is computed from the frames that tcpdump captures at the
mirror's interface. On Linux, AF_PACKET stamps a received frame when the interface passes the frame
to the stack, and a sent frame when the stack passes the frame to the interface.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, replace

from netlab import clock
from netlab.errors import ProbeError
from netlab.experiment.hosts import Service
from netlab.experiment.kinds import RoundTrip
from netlab.experiment.matrix import NamedMirror
from netlab.experiment.records import Value
from netlab.measurement.capture import Capture, NoCapture, interface_to, started
from netlab.measurement.conversation import OnProgress, drive
from netlab.measurement.ends import Ends
from netlab.measurement.pcap import captured_frames
from netlab.measurement.round_trips.exchange import Exchange, deadline_s, exchange_of
from netlab.measurement.round_trips.stack_times import stack_times_ns, stack_values
from netlab.measurement.tools.free_ports import free_ports
from netlab.remote.agent import Agent
from netlab.remote.programs.program import Program
from netlab.terminal import excerpt

BEGINS_S = 5.0
"""Time in which the mirror must answer a first request."""
KNOCK_S = 0.2
"""Time that such a first request waits for its answer."""

DIES_S = 0.5
"""Time in which the agent reports the end of a program after the program's sockets have closed."""

FRAMES_MOST = 32768
"""Maximum number of captured frames: enough for the stack's times of 16384 round trips."""
QUIET_S = 1.2
LAST_S = 4.0
"""Arguments of ``Capture.finish``: the kernel passes frames to tcpdump after 1 s at the latest."""

WORDS_MOST = 500


@dataclass(frozen=True, slots=True)
class Reflection:
    """A trial with a named mirror: the exchange, and the values of the mirror's side."""

    exchange: Exchange
    values: dict[str, Value]
    """The values of the mirror's side, with their names in a record."""


def reflected(
    setup: RoundTrip, ends: Ends, on_progress: Callable[[Exchange], OnProgress]
) -> Reflection:
    """Measure one trial with the mirror that its settings name.

    Raises ProbeError (``program-missing``, ``mirror-failed``, and the reasons of any round trip)
    and HostGone.
    """
    mirror = ends.mirrors[str(setup.mirror)]
    server = ends.agent_of_server
    address = mirror.address or ends.address("server", setup)
    service = Service(address, mirror.port or free_ports(server, address)[0])
    with _running(mirror, service, server, deadline_s(setup)) as program:
        try:
            _knock(setup, ends, service, program)
            exchange = exchange_of(setup, ends, echo=service)
            with _stack_time(setup, ends, mirror, service) as stack:
                drive([exchange], deadline_s(setup), on_progress(exchange))
        except ProbeError as error:
            _raise_if_ended(mirror, server, program, error)
            raise
    values = stack.values()
    if program is not None:
        values["server_engine_command"] = excerpt(" ".join(program.words), WORDS_MOST)
        if program.cpu_ns is not None:
            values["server_engine_cpu_ns"] = program.cpu_ns
    return Reflection(exchange, values)


@contextmanager
def _running(
    mirror: NamedMirror, service: Service, server: Agent, limit_s: float
) -> Iterator[Program | None]:
    """The mirror's program while it runs; ``None`` if the mirror runs already."""
    if not mirror.start:
        yield None
        return
    places = {"{address}": service.address, "{port}": str(service.port)}
    words = [*mirror.start]
    for place, text in places.items():
        words = [word.replace(place, text) for word in words]
    program = Program.start(server, words, limit_s + BEGINS_S + LAST_S)
    try:
        yield program
        program.end(0.0)
    except BaseException:
        program.abort()
        raise


def _knock(setup: RoundTrip, ends: Ends, service: Service, program: Program | None) -> None:
    """Wait until the mirror answers; ProbeError if no answer comes within ``BEGINS_S``."""
    one = replace(
        setup,
        count=1,
        duration_s=None,
        warm_up_s=0.0,
        timeout_s=KNOCK_S,
        outstanding=1,
        message_rate_per_s=None,
        keep_first=0,
        source_port=None,
    )
    give_up = clock.monotonic() + BEGINS_S
    while True:
        exchange = exchange_of(one, ends, within_s=BEGINS_S, echo=service)
        try:
            drive([exchange], BEGINS_S, lambda _side, _record: None)
        except ProbeError as error:
            has_ended = program is not None and program.ends_within(0.0)
            if has_ended or clock.monotonic() > give_up:
                why = error.detail or error.word
                detail = f"{setup.mirror} at {service.address}, port {service.port}: {why}"
                raise ProbeError(ends.server_name, "mirror-failed", detail=detail) from error
        else:
            return
        clock.sleep(KNOCK_S / 2)


def _raise_if_ended(
    mirror: NamedMirror, server: Agent, program: Program | None, error: ProbeError
) -> None:
    """If the mirror's program has ended, raise ProbeError with the last line that it printed: the
    end of the program explains ``error``.
    """
    if program is None or not program.ends_within(DIES_S):
        return
    result = program.result or {}
    how = f"signal {result['signal']}" if "signal" in result else f"exit code {result['exit_code']}"
    last_words = f": {program.last_words}" if program.last_words else ""
    detail = excerpt(f"{mirror.name} ended ({how}){last_words}", WORDS_MOST)
    raise ProbeError(server.host.name, "mirror-failed", detail=detail) from error


class _StackWatch:
    """The capture at the mirror's interface, or why there is none."""

    def __init__(self, service: Service, device: str = "", why: str = "") -> None:
        self._service = service
        self._device = device
        self._why = why
        self.pcap = b""

    def values(self) -> dict[str, Value]:
        """The values about the time in the stack; empty if this time was not requested."""
        if not self._device and not self._why:
            return {}
        try:
            frames = [*captured_frames(self.pcap)] if self._device else []
        except ValueError as error:
            frames, self._why = [], str(error)
        times = stack_times_ns(frames, self._service.address, self._service.port)
        if times:
            stack = {f"server_{name}": value for name, value in stack_values(times).items()}
            return {"stack_timed": True, **stack}
        none = f"no request and its answer were captured at {self._device}"
        return {"stack_timed": False, "capture_reason": excerpt(self._why or none, WORDS_MOST)}


@contextmanager
def _stack_time(
    setup: RoundTrip, ends: Ends, mirror: NamedMirror, service: Service
) -> Iterator[_StackWatch]:
    """While the context lasts, capture the mirror's frames if the trial requests the time in the
    stack.
    """
    if not setup.stack_time or setup.protocol != "UDP":
        yield _StackWatch(service)
        return
    server = ends.agent_of_server
    capture: Capture | None = None
    try:
        device = interface_to(server, ends.address("client", setup))
        device = mirror.interface or device
        options = ["--time-stamp-precision=nano", "-c", str(FRAMES_MOST)]
        host = service.address.partition("%")[0]
        frames = ["udp", "and", "host", host, "and", "port", str(service.port)]
        capture = started(server, device, options, frames, deadline_s(setup) + LAST_S)
        watch = _StackWatch(service, device)
    except NoCapture as error:
        watch = _StackWatch(service, why=str(error))
    try:
        yield watch
        if capture is not None:
            watch.pcap = capture.finish(QUIET_S, LAST_S)
    finally:
        if capture is not None:
            capture.end()
