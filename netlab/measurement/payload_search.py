"""The test ``payload_search``: the largest payload in one frame, and the path MTU.

UDP: a bisection with messages that no router may fragment. A size passes if one of three round
trips succeeds. TCP: one segment as long as the kernel's MSS; if it is lost, shorter ones.
Each direction is searched separately, because they may differ. A virtual cable passes a packet
4 bytes over the MTU of its other end (room for a VLAN tag); the result has these 4 bytes, too.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from functools import partial
from typing import Any

from netlab import ethernet
from netlab.errors import ProbeError
from netlab.experiment.cells import Cell
from netlab.experiment.schedule import Trial
from netlab.kinds import PayloadSearch, RoundTrip, Stream
from netlab.kinds.payload_search.limit_search import Evidence, Limit, SizeTry, find_limit
from netlab.kinds.payload_search.settings import LEAST_MESSAGE_BYTES, SETTLE_TCP_S
from netlab.measurement import stream
from netlab.measurement.capture import NoCapture, capture_during, of_frames
from netlab.measurement.conversation import drive
from netlab.measurement.ends import Ends, OnGoodput, of_connection
from netlab.measurement.round_trip import exchange_of
from netlab.store.files import write_private
from netlab.trial.record import Value

TRIES = 3
"""Number of round trips that try a UDP size, all at the same time: one answer is enough."""

UNHEARD: Mapping[str, Mapping[str, Evidence]] = {
    "TCP": {"deadline": "timeout"},
    "UDP": {"no-answer": "timeout", "no-buffers": "dropped"},
}
"""Protocol → reason that a probe reports if its messages are lost → evidence (why the size does not
pass). Linux reports `no-buffers` if an interface drops a message that the system has accepted as
short enough."""

SETTLE_S = {"TCP": SETTLE_TCP_S, "UDP": 10.0}
"""Time that a try may take beyond its time-out. Over UDP, the probe itself reports that no answer
came. Over TCP, a try with unacknowledged data ends only at its deadline."""


@dataclass(slots=True)
class Direction:
    """The direction from the asking end, which is the client of ``ends``, to the answering end."""

    setup: PayloadSearch
    ends: Ends
    facts: Mapping[str, Any] | None = None
    """Facts of the asking end with its route to the other end, if they are known already."""
    results: dict[int, tuple[Mapping[str, Any], Mapping[str, Any]]] = field(default_factory=dict)
    """Size → results of both ends for its last successful exchange."""

    def exchange(self, message_bytes: int, *, whole: bool = True) -> None:
        """Do round trips of one size; ProbeError if no answer came.

        ``whole``: whether UDP messages must stay in one packet.
        """
        setup = self.setup
        udp = setup.protocol == "UDP"
        round_trip = RoundTrip(
            # At most ``TRIES`` messages are under way: the default buffers are enough.
            **setup.passed_on(RoundTrip, but={"duration_s", "socket_buffer_bytes"}),
            message_bytes=message_bytes,
            response_bytes=LEAST_MESSAGE_BYTES[setup.protocol],
            duration_s=None,
            count=TRIES if udp else 1,
            outstanding=TRIES if udp else 1,
            dont_fragment=udp and whole,
            nodelay=not udp,
        )
        within_s = setup.timeout_s + SETTLE_S[setup.protocol]
        exchange = exchange_of(round_trip, self.ends, within_s=within_s)
        drive([exchange], within_s)
        mirror = exchange.mirror
        answered = mirror.result or {} if mirror is not None else {}
        self.results[message_bytes] = exchange.asker.result or {}, answered

    @property
    def lost(self) -> int:
        """Lost messages of sizes that pass: if there are any, the path has random loss."""
        return sum(int(asker.get("lost_messages", 0)) for asker, _ in self.results.values())

    @property
    def addresses(self) -> tuple[str, str]:
        """Test addresses of the asking and the answering end."""
        asking, answering = (self.ends.address(end, self.setup) for end in ("client", "server"))
        return asking, answering

    def interface_mtu_bytes(self) -> int | None:
        """MTU of the asking end's interface towards the other end; ``None`` if not reported."""
        try:
            facts = self.facts or self.ends.client.facts(to=self.addresses[1])
        except ProbeError:
            return None
        mtu_bytes = facts.get("interface_mtu_bytes")
        return mtu_bytes if isinstance(mtu_bytes, int) else None

    def has_next(self, payload_bytes: int) -> bool:
        """Whether a message one byte longer is possible (over TCP: in two segments)."""
        most_bytes = ethernet.MAX_DATAGRAM_BYTES[self.setup.ip_version]
        return self.setup.protocol == "TCP" or payload_bytes < most_bytes

    def beyond(self, payload_bytes: int) -> dict[str, Value]:
        """Whether a UDP message one byte longer than the payload passes if it may be fragmented,
        and both hosts' counts of its fragments: they count none if it must not be fragmented.
        """
        message_bytes = payload_bytes + 1
        if self.setup.protocol == "TCP" or not self.has_next(payload_bytes):
            return {}
        try:
            self.exchange(message_bytes, whole=False)
        except ProbeError as fault:
            return {"next_passed": False} if fault.word in UNHEARD["UDP"] else {}
        asker, mirror = self.results[message_bytes]
        return {"next_passed": True} | {
            f"next_{prefix}{name}": value
            for prefix, result in (("client_", asker), ("server_", mirror))
            for name, value in result.items()
            if name.startswith("ip_")
        }


STREAM_MOST_BYTES = 1 << 24
"""Maximum message size of one send call of a TCP stream."""


def sweep(
    trial: Trial, setup: PayloadSearch, payload_bytes: int, ends: Ends, live: OnGoodput
) -> dict[str, Value]:
    """Measure one short stream from client to server per size; failed sizes have a separate list.

    Raises ``HostGone`` if one of the hosts is lost.
    """
    rates: dict[int, Value | None] = {}
    for message_bytes in sizes_around(payload_bytes, setup.protocol, setup.ip_version):
        settings = Stream(**setup.passed_on(Stream), message_bytes=message_bytes)
        cell = Cell(pairing=trial.cell.pairing, test="stream", setup=settings)
        try:
            values = stream.values_of(
                Trial(cell, trial.number), ends, lambda _cell, totals: live(trial.cell, totals)
            )
        except ProbeError:
            values = {}
        rates[message_bytes] = values.get("throughput_bit_per_s")
    known = {size: float(rate) for size, rate in rates.items() if isinstance(rate, int | float)}
    failed = [size for size in rates if size not in known]
    swept: dict[str, Value] = {"sweep_message_bytes": [*known]}
    swept["sweep_throughput_bit_per_s"] = [*known.values()]
    return swept | ({"sweep_failed_message_bytes": failed} if failed else {})


def sizes_around(
    payload_bytes: int, protocol: str, ip_version: ethernet.IpVersion
) -> tuple[int, ...]:
    """Message sizes that show the saw-tooth of throughput: near one and two frames, and between.

    The sizes ascend. ``payload_bytes``: the payload of one frame. For UDP, the longest message in
    two fragments is included. Its size is not twice ``payload_bytes``: only the first fragment has
    a UDP header, and over IPv6 each fragment has a fragment header.
    """
    sizes = {payload_bytes + step for step in (-2, -1, 0, 1, 2)}
    sizes |= {2 * payload_bytes + step for step in (-1, 0, 1)}
    sizes |= {payload_bytes * quarters // 4 for quarters in (1, 2, 3, 5, 6, 7)}
    most_bytes = STREAM_MOST_BYTES
    if protocol == "UDP":
        most_bytes = ethernet.MAX_DATAGRAM_BYTES[ip_version]
        # Some systems fragment so that the last packet carries up to 7 bytes more.
        room = payload_bytes + ethernet.UDP_BYTES - ethernet.FRAGMENT_HEADER_BYTES[ip_version]
        two = 2 * (room // 8 * 8) - ethernet.UDP_BYTES
        sizes |= {two, two + 1}
    return tuple(sorted(size for size in sizes if 1 <= size <= most_bytes))


DOUBTS = 2
"""Maximum number of further tries of a size without an answer, on a path with random loss."""
WINDOW_FILLING_BYTES = 1 << 20
"""Size of a message after which a connection's TCP window exceeds two of the longest segments."""


def values_of(trial: Trial, ends: Ends, live: OnGoodput) -> dict[str, Value]:
    """The values of a search, client to server first; ProbeError if nothing passes."""
    setup = trial.cell.setup
    assert isinstance(setup, PayloadSearch)  # noqa: S101  (for the type checker)
    search = _search_tcp if setup.protocol == "TCP" else _search_udp
    to_server, to_client = Direction(setup, ends), Direction(setup, ends.reversed())
    payload_bytes, of_server = search(to_server)
    values: dict[str, Value] = {"connected_by": ends.connects(setup.protocol)}
    client_payload_bytes, of_client = search(to_client)
    values |= of_server | to_server.beyond(payload_bytes)
    values |= _to_client(of_client | to_client.beyond(client_payload_bytes))
    if setup.capture:
        values |= _captured(to_server, payload_bytes, trial)
        values |= _to_client(_captured(to_client, client_payload_bytes, trial, "to-client-"))
    if setup.sweep:
        values |= sweep(trial, setup, payload_bytes, ends, live)
    return values


def _search_udp(path: Direction) -> tuple[int, dict[str, Value]]:
    """The largest payload, and all values; with messages that must not be fragmented."""
    version = path.setup.ip_version
    headers_bytes = ethernet.IP_BYTES[version] + ethernet.UDP_BYTES
    most_bytes = ethernet.MAX_DATAGRAM_BYTES[version]
    interface_mtu_bytes = path.interface_mtu_bytes()
    guess = most_bytes if interface_mtu_bytes is None else interface_mtu_bytes - headers_bytes
    limit = find_limit(
        whole_messages(path, interface_mtu_bytes),
        least_bytes=LEAST_MESSAGE_BYTES["UDP"],
        most_bytes=most_bytes,
        guesses=[min(guess, most_bytes)],
    )
    values = _of_limit(limit) | {"path_mtu_bytes": limit.message_bytes + headers_bytes}
    values["lost_probes"] = path.lost
    if interface_mtu_bytes is not None:
        values["interface_mtu_bytes"] = interface_mtu_bytes
    return limit.message_bytes, values


def whole_messages(path: Direction, interface_mtu_bytes: int | None) -> Callable[[int], SizeTry]:
    """A function for ``find_limit`` that tries a size with messages that must not be fragmented."""
    headers_bytes = ethernet.IP_BYTES[path.setup.ip_version] + ethernet.UDP_BYTES

    def attempt(message_bytes: int) -> SizeTry:
        size_try = attempt_once(message_bytes)
        for _ in range(DOUBTS if path.lost else 0):
            if size_try.passed or size_try.evidence != "timeout":
                break
            size_try = attempt_once(message_bytes)
        return size_try

    def attempt_once(message_bytes: int) -> SizeTry:
        try:
            path.exchange(message_bytes)
        except ProbeError as fault:
            if fault.word == "message-too-long":
                mtu_bytes = fault.path_mtu_bytes
                if mtu_bytes is None:
                    return SizeTry(message_bytes, False, "emsgsize")
                # If the limit is below the interface's MTU, a router reported it, now or before.
                is_reported = interface_mtu_bytes is not None and mtu_bytes < interface_mtu_bytes
                evidence: Evidence = "icmp" if is_reported else "emsgsize"
                return SizeTry(message_bytes, False, evidence, mtu_bytes - headers_bytes)
            if message_bytes > LEAST_MESSAGE_BYTES["UDP"] and fault.word in UNHEARD["UDP"]:
                return SizeTry(message_bytes, False, UNHEARD["UDP"][fault.word])
            raise
        return SizeTry(message_bytes, True)

    return attempt


def _search_tcp(path: Direction) -> tuple[int, dict[str, Value]]:
    """As ``_search_udp``, with a segment as long as the connection's MSS, and with shorter ones if
    it is lost.

    A small TCP window also keeps segments short, for example on the loopback. In this case the
    result is the MSS, read after the connection has carried more data, because one message does not
    fill such a segment.
    """
    least = asking_bytes = LEAST_MESSAGE_BYTES["TCP"]
    path.exchange(asking_bytes)
    first, _ = path.results[asking_bytes]
    segment_bytes, window_bytes = first.get("tcp_end_snd_mss"), first.get("tcp_end_snd_wnd")
    # Linux sends segments of at most half of the peer's window.
    by_window = segment_bytes and window_bytes and 2 * segment_bytes >= window_bytes - 1
    if by_window:
        asking_bytes = WINDOW_FILLING_BYTES
        path.exchange(asking_bytes)
    first, _ = path.results[asking_bytes]
    connection = of_connection("", *path.results[asking_bytes])
    mss_bytes = connection.get("mss_bytes")
    if not isinstance(mss_bytes, int):
        detail = "neither end's system reports the MSS of a TCP connection"
        raise ProbeError(path.ends.client.host.name, "capability-missing", detail=detail)

    def attempt(message_bytes: int) -> SizeTry:
        try:
            if message_bytes not in path.results:
                path.exchange(message_bytes)
        except ProbeError as fault:
            if fault.word in UNHEARD["TCP"]:
                return SizeTry(message_bytes, False, UNHEARD["TCP"][fault.word])
            raise
        result, _ = path.results[message_bytes]
        segment_bytes = result.get("tcp_end_snd_mss", message_bytes)
        if segment_bytes < message_bytes:
            # The message arrived in shorter segments: the system has learnt that longer ones are
            # lost.
            is_reported = result.get("tcp_end_pmtu", 0) < first.get("tcp_open_pmtu", 0)
            evidence: Evidence = "icmp" if is_reported else "timeout"
            return SizeTry(message_bytes, False, evidence, segment_bytes)
        return SizeTry(message_bytes, True)

    if by_window:
        limit = Limit(mss_bytes, "mss", (SizeTry(asking_bytes, True),))
    else:
        limit = find_limit(
            attempt, least_bytes=least, most_bytes=mss_bytes, guesses=[mss_bytes], beyond="mss"
        )
    values = _of_limit(limit) | connection
    reporter = path.ends.client if "tcp_end_snd_mss" in first else path.ends.agent_of_server
    values["mss_told_by"] = reporter.host.name
    if "tcp_timestamps" in connection:
        options_bytes = ethernet.TIMESTAMPS_BYTES if connection["tcp_timestamps"] else 0
        headers_bytes = ethernet.IP_BYTES[path.setup.ip_version] + ethernet.TCP_BYTES
        values["path_mtu_bytes"] = limit.message_bytes + headers_bytes + options_bytes
    return limit.message_bytes, values


def _of_limit(limit: Limit) -> dict[str, Value]:
    return {
        "payload_bytes": limit.message_bytes,
        "path_mtu_evidence": limit.evidence,
        "probed_message_bytes": [size_try.message_bytes for size_try in limit.tries],
        "probed_passed": [int(size_try.passed) for size_try in limit.tries],
    }


def _to_client(values: Mapping[str, Value]) -> dict[str, Value]:
    return {f"to_client_{name}": value for name, value in values.items()}


def _captured(path: Direction, payload_bytes: int, trial: Trial, way: str = "") -> dict[str, Value]:
    """Captured frames of a message with the found payload, and of a message one byte longer."""
    steps = {"captured_": (payload_bytes, True)}
    if path.has_next(payload_bytes):
        steps["captured_next_"] = (payload_bytes + 1, False)
    values: dict[str, Value] = {"captured": True}
    for prefix, (message_bytes, whole) in steps.items():
        exchange = partial(path.exchange, message_bytes, whole=whole)
        try:
            pcap = capture_during(path.ends.agent_of_server, *path.addresses, exchange)
            values |= of_frames(prefix, pcap)
        except (NoCapture, ProbeError) as error:
            # The first message may be captured already; a firewall may drop fragments.
            return values | {"captured": len(values) > 1, "capture_reason": str(error)}
        if path.ends.captures is not None:
            folder = path.ends.captures
            name = f"{trial.cell.key}-{trial.number}-{way}{message_bytes}.pcap"
            write_private(folder.parent, folder.name, name, pcap)
    return values
