"""Setups: what one cell of each kind of test is measured with, as plain settings. Pure.

A new kind of test: a dataclass here, its name in ``SETUPS``, what no host could measure of it in
``limits.py``. Its fields are its settings in a matrix; what a setting may be stands once, in
``matrix_settings.py``.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import MISSING, dataclass, fields
from typing import Literal

Scalar = str | int | float | bool
Level = Scalar | None
"""One value of an axis; ``None`` leaves it to the host (``socket_buffer: auto``)."""

Receive = Literal["blocking", "spinning", "polling"]
"""How the receiver of a stream waits; only a UDP receiver polls: docs/protocol.md."""

SendMethod = Literal["batch", "packet"]
"""How UDP messages are handed to the system other than one a call: docs/protocol.md."""


@dataclass(frozen=True, slots=True, kw_only=True)
class _Settings:
    """What all setups can do."""

    def settings(self) -> dict[str, Scalar]:
        """All that is set, as flat keys with their units; ``None`` is left out."""
        pairs = ((f.name, getattr(self, f.name)) for f in fields(self))
        return {name: value for name, value in pairs if value is not None}


@dataclass(frozen=True, slots=True, kw_only=True)
class Stream(_Settings):
    """Settings of one ``stream`` cell. ``None`` leaves the host's default alone."""

    protocol: Literal["TCP", "UDP"]
    message_bytes: int
    """Bytes handed to one send call, 1 to 2^24."""
    socket_buffer_bytes: int | None = None
    """SO_SNDBUF and SO_RCVBUF of both ends; ``None`` is ``auto``, the kernel's own tuning."""
    duration_s: float | None = 10.0
    """Length of the window; ``None`` where ``count`` bounds the trial."""
    count: int | None = None
    """Messages to send, in place of a duration."""
    warm_up_s: float = 0.0
    direction: Literal["client-sends", "server-sends", "both"] = "client-sends"
    streams: int = 1
    ip_version: Literal[4, 6] = 4
    congestion: str | None = None
    nodelay: bool = False
    dont_fragment: bool = False
    rate_bit_per_s: float | None = None
    """Offered payload rate, open loop; ``None`` sends as fast as the socket takes it."""
    message_rate_per_s: float | None = None
    send_method: SendMethod | None = None
    """``None``: ``plain``, one send call a message."""
    dscp: int | None = None
    source_port: int | None = None
    interface: str | None = None
    receive: Receive = "blocking"
    server_cpu: int | None = None
    client_cpu: int | None = None
    network: str | None = None
    """Name of the test addresses to use; ``None`` is the first of each host."""


@dataclass(frozen=True, slots=True, kw_only=True)
class RoundTrip(_Settings):
    """Settings of one ``round_trip`` cell: the client asks, the server's mirror answers."""

    protocol: Literal["TCP", "UDP"]
    message_bytes: int
    """Bytes of a request, 1 to 2^24."""
    response_bytes: int | None = None
    """Bytes of an answer; ``None``: as many as the request has. UDP: never more than it has."""
    socket_buffer_bytes: int | None = None
    duration_s: float | None = 10.0
    """Length of the window; ``None`` where ``count`` bounds the trial."""
    count: int | None = None
    """Round trips, answered or lost, in place of a duration."""
    warm_up_s: float = 0.0
    outstanding: int = 1
    """Requests under way at once, 1 to 1024."""
    message_rate_per_s: float | None = None
    """Requests a second, open loop; ``None``: the next one follows an answer."""
    timeout_s: float = 1.0
    """After which a UDP request is lost, 0.001 to 10."""
    ip_version: Literal[4, 6] = 4
    congestion: str | None = None
    nodelay: bool = False
    dont_fragment: bool = False
    dscp: int | None = None
    source_port: int | None = None
    interface: str | None = None
    server_receive: Literal["blocking", "spinning"] = "blocking"
    client_receive: Literal["blocking", "spinning"] = "blocking"
    server_cpu: int | None = None
    client_cpu: int | None = None
    network: str | None = None
    udp_checksum: bool = True
    """False sends UDP over IPv4 without a checksum, both ways."""
    stack_time: bool = False
    """Whether the server's stack is timed as well: receive stamp to transmit stamp, UDP."""
    mirror_hold_s: float = 0.0
    """What the mirror waits between receiving and answering, 0 to 0.1."""
    keep_first: int = 0
    """How many of the first round trips are kept one by one, 0 to 1000."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Connect(_Settings):
    """Settings of one ``connect`` cell: every transaction has a TCP connection of its own."""

    message_bytes: int
    protocol: Literal["TCP", "UDP"] = "TCP"
    """UDP has no connections: refused by ``limits.py``."""
    response_bytes: int | None = None
    """Bytes of an answer; ``None``: as many as the request has."""
    socket_buffer_bytes: int | None = None
    duration_s: float | None = 10.0
    count: int | None = None
    """Transactions, in place of a duration."""
    warm_up_s: float = 0.0
    message_rate_per_s: float | None = None
    """Transactions a second, open loop; ``None``: the next one follows an answer."""
    ip_version: Literal[4, 6] = 4
    congestion: str | None = None
    nodelay: bool = False
    dscp: int | None = None
    source_port: int | None = None
    interface: str | None = None
    server_receive: Literal["blocking", "spinning"] = "blocking"
    client_receive: Literal["blocking", "spinning"] = "blocking"
    server_cpu: int | None = None
    client_cpu: int | None = None
    network: str | None = None
    mirror_hold_s: float = 0.0
    keep_first: int = 0
    close: Literal["reset", "orderly"] = "reset"
    """How the client ends a connection: by reset (no TIME_WAIT), or closing first, in order."""


@dataclass(frozen=True, slots=True, kw_only=True)
class PayloadSearch(_Settings):
    """Settings of one ``payload_search`` cell: the most payload that travels in one frame."""

    protocol: Literal["TCP", "UDP"]
    ip_version: Literal[4, 6] = 4
    network: str | None = None
    sweep: bool = False
    """Whether throughput is measured over message sizes around the one found."""
    capture: bool = False
    """Whether frames are captured on the way, where the hosts allow it."""
    timeout_s: float = 1.0
    """After which a UDP probe counts as lost, 0.001 to 10."""
    duration_s: float = 1.0
    """Length of each step of the sweep."""
    socket_buffer_bytes: int | None = None
    congestion: str | None = None
    dscp: int | None = None
    interface: str | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class ThroughputSearch(_Settings):
    """Settings of one ``throughput_search`` cell: the highest rate without loss (RFC 2544)."""

    frame_bytes: int
    """Length of a frame, header and FCS counted: 64 to 9018."""
    protocol: Literal["TCP", "UDP"] = "UDP"
    """TCP keeps its own rate: refused by ``limits.py``."""
    duration_s: float | None = 60.0
    """Length of a trial that counts."""
    search_duration_s: float | None = None
    """Length of a trial before the confirmation; ``None``: as long as one that counts."""
    direction: Literal["client-sends", "server-sends", "both"] = "client-sends"
    streams: int = 1
    """Pairs of ports that share the rate."""
    burst: int | None = None
    """Frames back to back at most, when the sender was held up; ``None``: 32 or 1 ms' worth, the
    smaller. What is further behind is not sent."""
    acceptable_loss: float = 0.0
    """Share of the frames that may be lost, 0 to 0.1."""
    resolution: float = 0.005
    """Step of the rates tried, as a share of the line rate: 0.0001 to 0.1."""
    line_rate_bit_per_s: float | None = None
    """``None``: the matrix's link's, else the interface's."""
    together: Literal[True] | None = None
    """Whether the pairs of hosts of a round search as one: a rate passes where it does for all."""
    frame_loss: bool = False
    """Whether the share of frames lost is measured as well, from the line rate down by tenths."""
    latency: Literal[True] | None = None
    """Whether round trips are measured as well, at the rate found and at parts of it."""
    back_to_back: int | None = None
    """How often the longest burst at line rate is searched for as well; ``None``: not at all."""
    residual_s: float = 2.0
    """How long frames that may still be on their way are waited for."""
    settle_s: float = 5.0
    """Between two trials, for the device to come to rest."""
    send_method: SendMethod | None = None
    """``None``: ``plain``, one send call a frame."""
    ip_version: Literal[4, 6] = 4
    socket_buffer_bytes: int | None = None
    dscp: int | None = None
    interface: str | None = None
    receive: Receive = "blocking"
    network: str | None = None


TestSettings = Stream | RoundTrip | Connect | PayloadSearch | ThroughputSearch


def is_together(setup: TestSettings) -> bool:
    """Whether pairs of hosts that are measured at the same time search as one."""
    return isinstance(setup, ThroughputSearch) and bool(setup.together)


SETUPS: Mapping[str, type[TestSettings]] = {
    "stream": Stream,
    "round_trip": RoundTrip,
    "connect": Connect,
    "payload_search": PayloadSearch,
    "throughput_search": ThroughputSearch,
}
"""The kinds of test, by the name that a matrix gives them."""

SEARCHES = (PayloadSearch, ThroughputSearch)
"""Kinds of test that take what the path makes them take."""

FIELDS: Mapping[str, frozenset[str]] = {
    test: frozenset(f.name for f in fields(setup)) for test, setup in SETUPS.items()
}
"""Every setting of each kind of test."""

NEEDED: Mapping[str, frozenset[str]] = {
    test: frozenset(f.name for f in fields(setup) if f.default is MISSING)
    for test, setup in SETUPS.items()
}
"""Settings without which there is no cell."""

DEFAULTS_OF: Mapping[str, Mapping[str, Level]] = {
    test: {f.name: f.default for f in fields(setup) if f.default is not MISSING}
    for test, setup in SETUPS.items()
}
"""What a setting is where nobody says anything."""

EXCLUSIVE = (("duration_s", "count"), ("rate_bit_per_s", "message_rate_per_s"))
"""Settings of which a cell has one at most: naming one takes the other back."""

ONLY_OF_TCP = frozenset({"congestion", "nodelay"})
ONLY_OF_UDP = frozenset({"dont_fragment", "send_method", "timeout_s", "udp_checksum", "stack_time"})


def applicable(test: str, settings: Mapping[str, Level]) -> dict[str, Level]:
    """The settings without those that mean nothing for the cell's protocol."""
    idle = ONLY_OF_TCP if settings["protocol"] == "UDP" else ONLY_OF_UDP
    defaults = DEFAULTS_OF[test]
    return {name: defaults[name] if name in idle else level for name, level in settings.items()}


def window_s(setup: TestSettings) -> float | None:
    """Warm-up and window, as asked for.

    ``None`` where the settings do not say how long it takes: a count without a rate, a search.
    """
    if isinstance(setup, SEARCHES):
        return None
    if setup.duration_s is not None:
        return setup.warm_up_s + setup.duration_s
    if setup.count is None:
        return None
    if setup.message_rate_per_s is not None:
        return setup.warm_up_s + setup.count / setup.message_rate_per_s
    if isinstance(setup, Stream) and setup.rate_bit_per_s is not None:
        return setup.warm_up_s + 8 * setup.message_bytes * setup.count / setup.rate_bit_per_s
    return None


def key_words(setup: TestSettings) -> tuple[str, ...]:
    """What of a setup makes a cell's key readable: ``tcp``, ``64``, ``16384``."""
    buffer = setup.socket_buffer_bytes
    buffer_word = "auto" if buffer is None else str(buffer)
    if isinstance(setup, PayloadSearch):
        return (setup.protocol.lower(), f"ipv{setup.ip_version}", buffer_word)
    size_bytes = setup.frame_bytes if isinstance(setup, ThroughputSearch) else setup.message_bytes
    return (setup.protocol.lower(), str(size_bytes), buffer_word)
