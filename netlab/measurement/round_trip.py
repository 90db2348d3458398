"""The tests ``round_trip``, ``connect`` and alike: requests that a mirror on the server answers.

The mirror is the server's probe, an echo service (RFC 862), or a program that the matrix names;
the latter two have no end in the conversation. For a named mirror, the time in the server's stack
is computed from captured frames: on Linux, AF_PACKET stamps a received frame when the interface
passes it to the stack, and a sent frame when the stack passes it to the interface.
"""

from __future__ import annotations

import ipaddress
import secrets
import struct
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, field, replace
from math import inf
from typing import Any

from netlab import clock
from netlab.errors import ProbeError
from netlab.experiment.cells import Cell
from netlab.experiment.hosts import Service
from netlab.experiment.matrix import NamedMirror
from netlab.experiment.schedule import Trial
from netlab.kinds import KINDS, ROWS, Connect, RoundTrip, Setup
from netlab.measurement import conversation
from netlab.measurement.capture import (
    Capture,
    CapturedFrame,
    NoCapture,
    captured_frames,
    capturing,
    interface_to,
    ip_packet,
)
from netlab.measurement.conversation import Conversation, ConversationEnd, OnProgress
from netlab.measurement.ends import Ends, OnGoodput, of_connection, prefixed, so_far
from netlab.measurement.tool_engine import free_ports
from netlab.remote.agent import Agent
from netlab.remote.programs import Program
from netlab.stats.histogram import BITS, bucket_of
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

    silence_s: float = inf
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
        mirror, kind = self.mirror, record["type"]
        if side is mirror:
            return
        if kind == "trips":
            self.trips.append(record)
        elif kind == "progress" and not side.ended:
            elapsed_s = record.get("elapsed_ns", 0) / 1e9
            if record.get("messages", 1) == 0 and elapsed_s > self.silence_s:
                self.give_up(side, "no-answer", f"not one answer in {elapsed_s:.0f} s")
        elif kind == "result" and mirror is not None and not mirror.ended:
            self.stop(mirror)


def exchange_of(
    setup: Setup,
    ends: Ends,
    *,
    within_s: float | None = None,
    one_by_one: bool = False,
    echo: Service | None = None,
) -> Exchange:
    """The exchange for the settings of a cell: one request to each end. The client asks. The client
    also connects, unless a setting or a firewall requires that the server connects.

    A ``connect`` cell measures the client's connections, so the client always connects.
    ``within_s``: a deadline instead of ``deadline_s``. ``one_by_one``: report each round trip.
    ``echo``: an echo service that answers in place of the server's probe.
    """
    token = secrets.token_hex(16)
    limit_s = deadline_s(setup) if within_s is None else within_s
    more = {"trips": 1} if one_by_one else {}
    asker = conversation.end_of(setup, ends, "client", "ask", token=token, limit_s=limit_s, **more)
    if ends.server is None and isinstance(setup, Asking):
        echo = ends.mirror
    connects = "client" if isinstance(setup, Connect) else ends.connects(setup.protocol)
    if echo is not None:
        keys = {name: level for name, level in asker.keys.items() if name != "token"}
        asker.keys = {**keys, "peer": "echo"}
        to = conversation.destination(echo.address, echo.port)
        connecting = conversation.request_keys(setup, ends.client, "connect")
        exchange = Exchange("", asker, None, to, connecting)
    else:
        limit_s += conversation.MIRROR_SLACK_S
        mirror = conversation.end_of(setup, ends, "server", "mirror", token=token, limit_s=limit_s)
        exchange = Exchange.between(setup, connects, mirror, asker)
    if isinstance(setup, Asking):
        timeout_s = setup.timeout_s if isinstance(setup, RoundTrip) else 0.0
        exchange.silence_s = setup.warm_up_s + max(SILENCE_S, 10 * timeout_s)
    return exchange


def deadline_s(setup: Setup) -> float:
    """Time limit in seconds of a trial with these settings at the asking end."""
    if (window_s := setup.window_s()) is not None:
        return window_s + conversation.PROBE_SLACK_S
    if not isinstance(setup, Asking):
        return conversation.COUNT_DEADLINE_S
    by_count_s = (setup.count or 0) * A_TRANSACTION_S
    return setup.warm_up_s + max(conversation.COUNT_DEADLINE_S, by_count_s)


def values_of(trial: Trial, ends: Ends, live: OnGoodput) -> dict[str, Value]:
    """The values of a trial of any kind of test that is one request to each end; ProbeError if it
    has no result.
    """
    setup = trial.cell.setup

    def on_progress(side: ConversationEnd, record: Mapping[str, Any]) -> None:
        if side.verb == "ask":
            live(trial.cell, so_far(record))

    if isinstance(setup, RoundTrip) and setup.mirror is not None:
        return _reflected(trial.cell, setup, ends, on_progress)
    exchange = exchange_of(setup, ends)
    conversation.drive([exchange], deadline_s(setup), on_progress)
    return _values(exchange, trial.cell)


def _values(exchange: Exchange, cell: Cell) -> dict[str, Value]:
    """The figures of the kind of test, then all other values of both ends. An echo service has no
    values.
    """
    setup, figures = cell.setup, KINDS[cell.test].figures
    asker, mirror = exchange.asker, exchange.mirror
    of_asker = asker.result or {}
    of_mirror = mirror.result or {} if mirror is not None else {}
    values: dict[str, Value] = {name: of_asker[name] for name in figures if name in of_asker}
    values |= of_connection("", of_asker, of_mirror)
    values["connected_by"] = "client" if exchange.connector is asker else "server"
    if isinstance(setup, Asking) and setup.congestion is not None and setup.protocol == "TCP":
        values["congestion_chosen"] = all(
            conversation.heeds(ROWS["congestion"], setup.protocol, side.agent)
            for side in exchange.sides
        )
    if isinstance(setup, RoundTrip) and setup.stack_time:
        values["stack_timed"] = mirror is not None and conversation.heeds(
            ROWS["stack_time"], setup.protocol, mirror.agent
        )
    if mirror is None and not (isinstance(setup, RoundTrip) and setup.mirror is not None):
        values["agentless"] = True
    values |= prefixed("client_", {k: v for k, v in of_asker.items() if k not in figures})
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


def _reflected(
    cell: Cell, setup: RoundTrip, ends: Ends, on_progress: OnProgress
) -> dict[str, Value]:
    """The values of one trial with the mirror that its settings name.

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
            with _stack_time(setup, ends, mirror, service) as stack_values:
                conversation.drive([exchange], deadline_s(setup), on_progress)
        except ProbeError as error:
            if program is None or not program.ends_within(DIES_S):
                raise
            # The end of the program explains the error.
            result = program.result or {}
            is_killed = "signal" in result
            how = f"signal {result['signal']}" if is_killed else f"exit code {result['exit_code']}"
            last_words = f": {program.last_words}" if program.last_words else ""
            detail = excerpt(f"{mirror.name} ended ({how}){last_words}", WORDS_MOST)
            raise ProbeError(server.host.name, "mirror-failed", detail=detail) from error
    values = _values(exchange, cell) | stack_values
    if program is not None:
        values["server_engine_command"] = excerpt(" ".join(program.words), WORDS_MOST)
        if program.cpu_ns is not None:
            values["server_engine_cpu_ns"] = program.cpu_ns
    return values


@contextmanager
def _running(
    mirror: NamedMirror, service: Service, server: Agent, limit_s: float
) -> Iterator[Program | None]:
    """The mirror's program while it runs; ``None`` if the mirror runs already."""
    if not mirror.start:
        yield None
        return
    with_address = [word.replace("{address}", service.address) for word in mirror.start]
    words = [word.replace("{port}", str(service.port)) for word in with_address]
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
            conversation.drive([exchange], BEGINS_S)
        except ProbeError as error:
            has_ended = program is not None and program.ends_within(0.0)
            if has_ended or clock.monotonic() > give_up:
                why = error.detail or error.word
                detail = f"{setup.mirror} at {service.address}, port {service.port}: {why}"
                raise ProbeError(ends.server_name, "mirror-failed", detail=detail) from error
        else:
            return
        clock.sleep(KNOCK_S / 2)


@contextmanager
def _stack_time(
    setup: RoundTrip, ends: Ends, mirror: NamedMirror, service: Service
) -> Iterator[dict[str, Value]]:
    """While the context lasts, capture the mirror's frames if the trial requests the time in the
    stack. The dictionary has the values about this time when the context has ended.
    """
    values: dict[str, Value] = {}
    if not setup.stack_time or setup.protocol != "UDP":
        yield values
        return
    server = ends.agent_of_server
    capture: Capture | None = None
    device, why = "", ""
    times: list[int] = []
    with ExitStack() as stack:
        try:
            device = interface_to(server, ends.address("client", setup))
            device = mirror.interface or device
            options = ["--time-stamp-precision=nano", "-c", str(FRAMES_MOST)]
            host = service.address.partition("%")[0]
            frames = ["udp", "and", "host", host, "and", "port", str(service.port)]
            running = capturing(server, device, options, frames, deadline_s(setup) + LAST_S)
            capture = stack.enter_context(running)
        except NoCapture as error:
            why = str(error)
        yield values
        pcap = b"" if capture is None else capture.finish(QUIET_S, LAST_S)
    if capture is not None:
        try:
            times = stack_times_ns([*captured_frames(pcap)], service.address, service.port)
        except ValueError as error:
            why = str(error)
    values["stack_timed"] = bool(times)
    if times:
        values |= {f"server_{name}": value for name, value in stack_values(times).items()}
    else:
        none = f"no request and its answer were captured at {device}"
        values["capture_reason"] = excerpt(why or none, WORDS_MOST)


PAYLOAD_BYTES = 16
"""Number of first bytes of the payload that are compared. The probes write the number of the
request there."""

_UDP, _FRAGMENT = 17, 44
_V6_BYTES = 40


def stack_times_ns(frames: Sequence[CapturedFrame], address: str, port: int) -> list[int]:
    """The times in the stack of the host whose program answers at ``address`` and ``port``, in ns,
    in the order of the answers.

    If the interface shows each frame twice, as loopback does, the time is from the last frame with
    the request to the first frame with the answer. Requests without an answer, and frames that are
    no UDP datagrams, are left out.
    """
    mirror = (ipaddress.ip_address(address.partition("%")[0]).packed, port)
    requested_ns: dict[tuple[tuple[bytes, int], bytes], int] = {}
    times: list[int] = []
    for frame in frames:
        for source, target, udp in _udp(ip_packet(frame) or b""):
            if len(udp) < 8:
                continue
            ports = struct.unpack_from(">HH", udp)
            sender, receiver = (source, ports[0]), (target, ports[1])
            payload = bytes(udp[8 : 8 + PAYLOAD_BYTES])
            if receiver == mirror:
                requested_ns[sender, payload] = frame.at_ns
            elif sender == mirror:
                at_ns = requested_ns.pop((receiver, payload), None)
                if at_ns is not None and frame.at_ns >= at_ns:
                    times.append(frame.at_ns - at_ns)
    return times


def stack_values(times_ns: Sequence[int]) -> dict[str, Value]:
    """The values of a record about ``times_ns``, which has at least one time.

    The values have the names that a probe uses for them; ``mean``, ``min``, ``max`` and ``sum`` are
    in ns.
    """
    buckets = Counter(map(bucket_of, times_ns))
    return {
        "stack_count": len(times_ns),
        "stack_min_ns": min(times_ns),
        "stack_max_ns": max(times_ns),
        "stack_sum_ns": sum(times_ns),
        "stack_mean_ns": sum(times_ns) / len(times_ns),
        "stack_histogram": [number for pair in sorted(buckets.items()) for number in pair],
        "stack_histogram_bits": BITS,
        "stack_stamps": "capture",
    }


def _udp(packet: bytes) -> Iterator[tuple[bytes, bytes, bytes]]:
    """Source and destination address, and the UDP header with its payload (RFC 791, RFC 8200).

    Yields nothing if the packet has no UDP header.
    """
    version = packet[0] >> 4 if packet else 0
    if version == 4 and len(packet) >= 20:
        offset = struct.unpack_from(">H", packet, 6)[0] & 0x1FFF
        if packet[9] == _UDP and offset == 0:
            length = struct.unpack_from(">H", packet, 2)[0]
            yield packet[12:16], packet[16:20], packet[4 * (packet[0] & 15) : length]
    elif version == 6 and len(packet) >= _V6_BYTES:
        next_header, at = packet[6], _V6_BYTES
        if next_header == _FRAGMENT and len(packet) >= at + 8:
            offset = struct.unpack_from(">H", packet, at + 2)[0] >> 3
            next_header, at = (packet[at] if offset == 0 else -1), at + 8
        if next_header == _UDP:
            length = _V6_BYTES + struct.unpack_from(">H", packet, 4)[0]
            yield packet[8:24], packet[24:40], packet[at:length]
