"""The tests ``round_trip`` and ``connect``: requests that a mirror on the server answers.

A mirror is a program that answers requests: netlab's probe, an echo service or another program.

Round trips between two hosts: the requests to the asking and the answering end, and their order.

    record `result` of the end that asks → stop the mirror, which is the end that answers → record
    `result` of the mirror

If an echo service (RFC 862) answers, the exchange has one end only. Then the server runs no agent,
or the matrix names a mirror that is not netlab's probe.

Round trips with a mirror that the matrix names: another program, or an echo that runs already.

A mirror answers the requests of the client. The server's agent starts the program, and the client
sends its requests to the program as to an echo service (RFC 862). The time that a request and its
answer spend in the server's network stack is computed from the frames that tcpdump captures at the
mirror's interface. On Linux, AF_PACKET stamps a received frame when the interface passes the frame
to the stack, and a sent frame when the stack passes the frame to the interface.
"""

from __future__ import annotations

import secrets
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from typing import Any

from netlab import clock
from netlab.errors import ProbeError
from netlab.experiment.hosts import Service
from netlab.experiment.matrix import NamedMirror
from netlab.experiment.schedule import Trial
from netlab.kinds import ROWS, Connect, RoundTrip
from netlab.measurement.capture import Capture, NoCapture, captured_frames, interface_to, started
from netlab.measurement.conversation import (
    COUNT_DEADLINE_S,
    MIRROR_SLACK_S,
    PROBE_SLACK_S,
    Conversation,
    ConversationEnd,
    OnProgress,
    destination,
    drive,
    heeds,
    in_order,
    opened_by,
    request_keys,
)
from netlab.measurement.ends import Ends, OnGoodput, of_connection, prefixed, so_far
from netlab.measurement.round_trips.stack_times import stack_times_ns, stack_values
from netlab.measurement.tool_engine import free_ports
from netlab.remote.agent import Agent
from netlab.remote.answers import decimal
from netlab.remote.programs import Program
from netlab.terminal import excerpt
from netlab.trial.record import Value

A_TRANSACTION_S = 0.01
"""Assumed time per round trip of a trial with a number of requests and without a rate. The deadline
is this time for all round trips, but at least ``COUNT_DEADLINE_S``."""

SILENCE_S = 10.0
"""If no answer arrives for this long and for ten time-outs, the trial ends. Otherwise each of many
requests to a silent host would take its own time-out."""

Asking = RoundTrip | Connect


@dataclass(slots=True)
class Exchange(Conversation):
    """Requests and answers between an asking end and a mirror, or an echo service."""

    silence_s: float = SILENCE_S
    trips: list[Mapping[str, Any]] = field(default_factory=list)
    """Records of single round trips, if they were requested."""

    @property
    def asker(self) -> ConversationEnd:
        """The end that asks."""
        return next(side for side in self.sides if side.verb == "ask")

    @property
    def mirror(self) -> ConversationEnd | None:
        """The end that answers; ``None`` if an echo service answers."""
        return next((side for side in self.sides if side.verb == "mirror"), None)

    def follow(self, side: ConversationEnd, record: Mapping[str, Any]) -> None:
        """Stop the mirror when the asking end has ended; end both if no answer comes at all."""
        mirror = self.mirror
        if record["type"] == "trips" and side is not mirror:
            self.trips.append(record)
        if record["type"] == "progress" and side is not mirror and not side.ended:
            elapsed_s = record.get("elapsed_ns", 0) / 1e9
            if record.get("messages", 1) == 0 and elapsed_s > self.silence_s:
                self.give_up(side, "no-answer", f"not one answer in {elapsed_s:.0f} s")
        Conversation.follow(self, side, record)


def exchange_of(
    setup: Asking,
    ends: Ends,
    *,
    within_s: float | None = None,
    one_by_one: bool = False,
    echo: Service | None = None,
) -> Exchange:
    """The exchange for the settings of a cell. The client asks. The client also connects, unless a
    setting or a firewall requires that the server connects.

    A ``connect`` cell measures the client's connections, so the client always connects.
    ``within_s``: a deadline instead of ``deadline_s``. ``one_by_one``: report each round trip.
    ``echo``: an echo service that answers in place of the server's probe.
    """
    token = secrets.token_hex(16)
    client = ends.client
    limit_s = deadline_s(setup) if within_s is None else within_s
    asking = keys_of(setup, "ask", "client", client, token) | {"deadline": decimal(limit_s)}
    if one_by_one:
        asking["trips"] = 1
    if ends.server is None:
        echo = ends.mirror
    if echo is not None:
        del asking["token"]
        return Exchange(
            name="",
            connector=ConversationEnd(
                client, "ask", ends.address("client", setup), asking | {"peer": "echo"}
            ),
            listener=None,
            to=destination(echo.address, echo.port),
            connecting=request_keys(setup, client, "connect"),
            silence_s=_silence_s(setup),
        )
    server = ends.agent_of_server
    answering = keys_of(setup, "mirror", "server", server, token)
    answering["deadline"] = decimal(limit_s + MIRROR_SLACK_S)
    asker = ConversationEnd(client, "ask", ends.address("client", setup), asking)
    mirror = ConversationEnd(server, "mirror", ends.address("server", setup), answering)
    connects = ends.connects(setup.protocol) if isinstance(setup, RoundTrip) else "client"
    listener, connector = opened_by(connects, server=mirror, client=asker)
    return Exchange(
        name="",
        listener=listener,
        connector=connector,
        connecting=request_keys(setup, connector.agent, "connect"),
        silence_s=_silence_s(setup),
    )


_KEYS = (
    "kind proto token message response socket_buffer congestion nodelay dscp dont_fragment "
    "no_checksum seconds count warm_up message_rate keep spin cpu close outstanding timeout hold "
    "stamps"
)


def keys_of(setup: Asking, verb: str, end: str, agent: Agent, token: str) -> dict[str, Any]:
    """Keys of the request to an end, except its deadline and the keys that say how the connection
    is opened.
    """
    keys = {**setup.keys(), "token": token}
    return in_order(keys | request_keys(setup, agent, verb, end), _KEYS)


def _silence_s(setup: Asking) -> float:
    timeout_s = setup.timeout_s if isinstance(setup, RoundTrip) else 0.0
    return setup.warm_up_s + max(SILENCE_S, 10 * timeout_s)


def deadline_s(setup: Asking) -> float:
    """Time limit in seconds of a trial with these settings at the asking end."""
    if setup.duration_s is not None:
        return setup.warm_up_s + setup.duration_s + PROBE_SLACK_S
    count = setup.count or 0
    if setup.message_rate_per_s is not None:
        return setup.warm_up_s + count / setup.message_rate_per_s + PROBE_SLACK_S
    return setup.warm_up_s + max(COUNT_DEADLINE_S, count * A_TRANSACTION_S)


HEADLINE = (
    "transactions_per_s",
    "transactions",
    "lost_messages",
    "elapsed_ns",
    "rtt_count",
    "rtt_min_ns",
    "rtt_max_ns",
    "rtt_mean_ns",
    "rtt_sum_ns",
    "rtt_histogram",
    "rtt_histogram_bits",
    "first_rtt_ns",
)
"""The main values of the asking end; its other values get the prefix ``client_``."""


def values_of(trial: Trial, ends: Ends, live: OnGoodput) -> dict[str, Value]:
    """The values of a trial; ProbeError if it has no result."""
    setup = trial.cell.setup
    assert isinstance(setup, RoundTrip | Connect)  # noqa: S101  (for the type checker)

    def on_progress(exchange: Exchange) -> OnProgress:
        def report(side: ConversationEnd, record: Mapping[str, Any]) -> None:
            if side is exchange.asker:
                live(trial.cell, so_far(record))

        return report

    if isinstance(setup, RoundTrip) and setup.mirror is not None:
        # Imported here, because a run without such mirrors does not need this module.

        reflection = reflected(setup, ends, on_progress)
        return _values(reflection.exchange, setup) | reflection.values
    exchange = exchange_of(setup, ends)
    drive([exchange], deadline_s(setup), on_progress(exchange))
    return _values(exchange, setup)


def _values(exchange: Exchange, setup: Asking) -> dict[str, Value]:
    """The values of ``HEADLINE``, then all others of both ends. An echo service has no values."""
    asker, mirror = exchange.asker, exchange.mirror
    of_asker = asker.result or {}
    of_mirror = mirror.result or {} if mirror is not None else {}
    values: dict[str, Value] = {name: of_asker[name] for name in HEADLINE if name in of_asker}
    values |= of_connection("", of_asker, of_mirror)
    values["connected_by"] = "client" if exchange.connector is asker else "server"
    if setup.congestion is not None and setup.protocol == "TCP":
        values["congestion_chosen"] = all(
            heeds(ROWS["congestion"], setup.protocol, side.agent) for side in exchange.sides
        )
    if isinstance(setup, RoundTrip) and setup.stack_time:
        values["stack_timed"] = mirror is not None and heeds(
            ROWS["stack_time"], setup.protocol, mirror.agent
        )
    if mirror is None and not (isinstance(setup, RoundTrip) and setup.mirror is not None):
        values["agentless"] = True
    values |= prefixed("client_", {k: v for k, v in of_asker.items() if k not in HEADLINE})
    return values | prefixed("server_", of_mirror)


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
