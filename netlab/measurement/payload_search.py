"""The test ``payload_search``: the most payload that travels in one frame, and the path MTU.

UDP: messages that no router may fragment, by bisection. A size passes when one of three round
trips of it does; it fails when the sender's system refuses it, of itself or because a router told
it so (ICMP), or when all three vanish without a word, as in a path that drops what is too long.
TCP: a segment as long as the kernel says that its segments are, sent as one; shorter ones where it
vanishes. Each direction is searched apart, for a path may differ by direction.

What is found is the longest IP packet that passes: a virtual cable lets one pass that is 4 bytes
over the MTU of its other end (room for a VLAN tag), and then so does this search.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

from netlab.errors import ProbeError
from netlab.ethernet import IP_BYTES, MAX_DATAGRAM_BYTES, TCP_BYTES, TIMESTAMPS_BYTES, UDP_BYTES
from netlab.experiment.estimate import LEAST_MESSAGE_BYTES
from netlab.experiment.kinds import PayloadSearch
from netlab.experiment.records import Value
from netlab.experiment.schedule import Trial
from netlab.measurement.capture import NoCapture, captured, keep, of_frames
from netlab.measurement.ends import Ends, OnGoodput
from netlab.measurement.limit_search import Evidence, Limit, SizeTry, find_limit
from netlab.measurement.payload_path import UNHEARD, Direction
from netlab.measurement.record import of_connection
from netlab.measurement.sweep import sweep

DOUBTS = 2
"""How often silence is doubted, and the size tried again, on a path that lost what passes, too."""

WINDOW_FILLING_BYTES = 1 << 20
"""A message that makes a connection's window grow beyond two of the longest segments."""


def values_of(trial: Trial, ends: Ends, live: OnGoodput) -> dict[str, Value]:
    """What a search found, client to server first; ProbeError where nothing passes."""
    setup = trial.cell.setup
    assert isinstance(setup, PayloadSearch)  # noqa: S101  (told to the type checker)
    search = _search_tcp if setup.protocol == "TCP" else _search_udp
    there, back = Direction(setup, ends), Direction(setup, ends.reversed())
    found = search(there)
    values: dict[str, Value] = {"connected_by": ends.connects(setup.protocol)}
    returned = search(back)
    values |= found.values | _beyond(there, found.payload_bytes)
    values |= _to_client(returned.values | _beyond(back, returned.payload_bytes))
    if setup.capture:
        values |= _captured(there, found.payload_bytes, trial)
        values |= _to_client(_captured(back, returned.payload_bytes, trial, "to-client-"))
    if setup.sweep:
        values |= sweep(trial, setup, found.payload_bytes, ends, live)
    return values


@dataclass(frozen=True, slots=True)
class _Found:
    """One direction's result."""

    payload_bytes: int
    values: dict[str, Value]


def _search_udp(path: Direction) -> _Found:
    """Messages that may not be fragmented."""
    version = path.setup.ip_version
    headers_bytes = IP_BYTES[version] + UDP_BYTES
    most_bytes = MAX_DATAGRAM_BYTES[version]
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
    return _Found(limit.message_bytes, values)


def whole_messages(path: Direction, interface_mtu_bytes: int | None) -> Callable[[int], SizeTry]:
    """How one size of a message that may not be fragmented is tried."""
    headers_bytes = IP_BYTES[path.setup.ip_version] + UDP_BYTES

    def attempt(message_bytes: int) -> SizeTry:
        tried = attempt_once(message_bytes)
        for _ in range(DOUBTS if path.lost else 0):
            if tried.passed or tried.evidence != "timeout":
                break
            tried = attempt_once(message_bytes)
        return tried

    def attempt_once(message_bytes: int) -> SizeTry:
        try:
            path.exchange(message_bytes)
        except ProbeError as fault:
            if fault.word == "message-too-long":
                mtu_bytes = fault.path_mtu_bytes
                if mtu_bytes is None:
                    return SizeTry(message_bytes, False, "emsgsize")
                # Less than the interface takes: somebody on the path said so, now or before.
                told = interface_mtu_bytes is not None and mtu_bytes < interface_mtu_bytes
                evidence: Evidence = "icmp" if told else "emsgsize"
                return SizeTry(message_bytes, False, evidence, mtu_bytes - headers_bytes)
            if message_bytes > LEAST_MESSAGE_BYTES["UDP"] and fault.word in UNHEARD["UDP"]:
                return SizeTry(message_bytes, False, UNHEARD["UDP"][fault.word])
            raise
        return SizeTry(message_bytes, True)

    return attempt


def _search_tcp(path: Direction) -> _Found:
    """Segments: what a connection says that they hold, tried in one, and less where that fails.

    A window that is still small keeps segments short as well (loopback): there the connection is
    asked after it has carried more, and believed, for one message fills no such segment.
    """
    asking_bytes = LEAST_MESSAGE_BYTES["TCP"]
    path.exchange(asking_bytes)
    by_window = _bound_by_window(path.results[asking_bytes][0])
    if by_window:
        asking_bytes = WINDOW_FILLING_BYTES
        path.exchange(asking_bytes)
    first, _ = path.results[asking_bytes]
    told = of_connection("", *path.results[asking_bytes])
    mss_bytes = told.get("mss_bytes")
    if not isinstance(mss_bytes, int):
        detail = "neither end's system tells what a TCP segment holds"
        raise ProbeError(path.ends.client.host.name, "capability-missing", detail=detail)

    def attempt(message_bytes: int) -> SizeTry:
        try:
            if message_bytes not in path.results:
                path.exchange(message_bytes)
        except ProbeError as fault:
            if fault.word in UNHEARD["TCP"]:
                return SizeTry(message_bytes, False, UNHEARD["TCP"][fault.word])
            raise
        asked, _ = path.results[message_bytes]
        segment_bytes = asked.get("tcp_end_snd_mss", message_bytes)
        if segment_bytes < message_bytes:
            # It came through in pieces: the system learnt meanwhile that segments are too long.
            told_by_router = asked.get("tcp_end_pmtu", 0) < first.get("tcp_open_pmtu", 0)
            evidence: Evidence = "icmp" if told_by_router else "timeout"
            return SizeTry(message_bytes, False, evidence, segment_bytes)
        return SizeTry(message_bytes, True)

    if by_window:
        limit = Limit(mss_bytes, "mss", (SizeTry(asking_bytes, True),))
    else:
        limit = find_limit(
            attempt,
            least_bytes=LEAST_MESSAGE_BYTES["TCP"],
            most_bytes=mss_bytes,
            guesses=[mss_bytes],
            beyond="mss",
        )
    values = _of_limit(limit) | told
    teller = path.ends.client if "tcp_end_snd_mss" in first else path.ends.agent_of_server
    values["mss_told_by"] = teller.host.name
    if "tcp_timestamps" in told:
        options_bytes = TIMESTAMPS_BYTES if told["tcp_timestamps"] else 0
        headers_bytes = IP_BYTES[path.setup.ip_version] + TCP_BYTES + options_bytes
        values["path_mtu_bytes"] = limit.message_bytes + headers_bytes
    return _Found(limit.message_bytes, values)


def _bound_by_window(asked: Mapping[str, Any]) -> bool:
    """Whether segments are no longer because the peer's window is small: Linux fills half of it."""
    segment_bytes, window_bytes = asked.get("tcp_end_snd_mss"), asked.get("tcp_end_snd_wnd")
    return bool(segment_bytes and window_bytes and 2 * segment_bytes >= window_bytes - 1)


def _of_limit(limit: Limit) -> dict[str, Value]:
    return {
        "payload_bytes": limit.message_bytes,
        "path_mtu_evidence": limit.evidence,
        "probed_message_bytes": [each.message_bytes for each in limit.tries],
        "probed_passed": [int(each.passed) for each in limit.tries],
    }


def _to_client(values: Mapping[str, Value]) -> dict[str, Value]:
    return {f"to_client_{name}": value for name, value in values.items()}


def _has_next(path: Direction, payload_bytes: int) -> bool:
    """Whether a message may have one byte more: TCP makes another segment of it."""
    setup = path.setup
    return setup.protocol == "TCP" or payload_bytes < MAX_DATAGRAM_BYTES[setup.ip_version]


def _beyond(path: Direction, payload_bytes: int) -> dict[str, Value]:
    """What becomes of a UDP message one byte longer, which takes several packets."""
    if path.setup.protocol == "TCP" or not _has_next(path, payload_bytes):
        return {}
    return path.fragments(payload_bytes + 1)


def _captured(path: Direction, payload_bytes: int, trial: Trial, way: str = "") -> dict[str, Value]:
    """The frames that arrive of the payload found, and of a message one byte longer."""
    steps = {"captured_": (payload_bytes, True)}
    if _has_next(path, payload_bytes):
        steps["captured_next_"] = (payload_bytes + 1, False)
    values: dict[str, Value] = {"captured": True}
    for prefix, (message_bytes, whole) in steps.items():

        def exchange(message_bytes: int = message_bytes, whole: bool = whole) -> None:
            path.exchange(message_bytes, whole=whole)

        try:
            pcap = captured(path.ends.agent_of_server, *path.addresses, exchange)
            values |= of_frames(prefix, pcap)
        except (NoCapture, ProbeError) as none:
            # What a frame takes is captured by then; fragments may not pass a firewall at all.
            return values | {"captured": len(values) > 1, "capture_reason": str(none)}
        if path.ends.captures is not None:
            keep(
                path.ends.captures,
                f"{trial.cell.key}-{trial.number}-{way}{message_bytes}.pcap",
                pcap,
            )
    return values
