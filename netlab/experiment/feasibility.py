"""Finds settings with which no host could measure, before a run. No I/O.

A probe is netlab's own program that measures on a host. A mirror is the program on the server that
answers the requests of a round trip: the probe, or another program.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace

from netlab import ethernet
from netlab.kinds import (
    Connect,
    LatencyUnderLoad,
    PayloadSearch,
    RoundTrip,
    Stream,
    TestSettings,
    ThroughputSearch,
)
from netlab.kinds.latency_under_load.settings import OUTSTANDING_MOST
from netlab.trial.settings import Level

UDP_MOST_BYTES = {4: 65507, 6: 65527}
"""Maximum payload bytes of one UDP message, by IP version."""

SEQUENCE_BYTES = 16
"""Minimum length of a UDP message that holds a sequence number; a shorter answer cannot be assigned
to its request."""

STREAMS_WITH_A_THREAD = 64
"""Up to this number of streams in a test, each stream has its own thread. More streams share one
thread per CPU."""

ADAPTIVE_WARM_UP_S = 0.1
"""Minimum warm-up in which a receiver can try both receive calls (docs/protocol.md)."""

_OF_AN_AGENT = ("server_receive", "server_cpu", "udp_checksum")
"""Settings of the server's probe, which an echo service (RFC 862) does not have."""

SettingFault = tuple[str, str]
"""The setting at fault, and a sentence about the fault."""


@dataclass(frozen=True, slots=True)
class SentMessages:
    """The messages of one end of a test, for calculating the length of its packets."""

    protocol: str
    message_bytes: int | None
    """Bytes per send call; ``None``: enough to fill TCP's longest segments."""
    whole: bool = False
    """Whether a UDP message must stay in one packet."""


def sent_by(end: str, setup: TestSettings) -> SentMessages | None:
    """The messages that one end (``client`` or ``server``) sends.

    Returns ``None`` if the end sends only acknowledgements. Returns ``None`` also for a search for
    the longest packet, because it sends messages of any size.
    """
    if isinstance(setup, PayloadSearch):
        return None
    if isinstance(setup, LatencyUnderLoad):
        # Only the load's messages are considered, not the requests and answers beside them.
        return sent_by(end, setup.load())
    if isinstance(setup, Stream | ThroughputSearch):
        idle = {"client-sends": "server", "server-sends": "client"}.get(setup.direction)
        return None if end == idle else _streamed(setup)
    message_bytes = setup.message_bytes
    if end == "server" and setup.response_bytes is not None:
        message_bytes = setup.response_bytes
    if isinstance(setup, RoundTrip) and setup.protocol == "UDP":
        return SentMessages("UDP", message_bytes, setup.dont_fragment)
    several = setup.outstanding if isinstance(setup, RoundTrip) else 1
    return SentMessages("TCP", several * message_bytes)


def _streamed(setup: Stream | ThroughputSearch) -> SentMessages:
    if isinstance(setup, ThroughputSearch):
        frame_bytes, version = setup.frame_bytes, setup.ip_version
        message_bytes = ethernet.udp_message_in_frame(frame_bytes, ip_version=version)
        return SentMessages("UDP", message_bytes, whole=True)
    if setup.protocol == "TCP":
        return SentMessages("TCP", None)
    return SentMessages("UDP", setup.message_bytes, setup.dont_fragment)


def faults_of(setup: TestSettings) -> Iterator[SettingFault]:
    """All faults of a setup: settings with which no host could measure."""
    if isinstance(setup, Stream):
        yield from _of_stream(setup)
    elif isinstance(setup, RoundTrip):
        yield from _of_round_trip(setup)
    elif isinstance(setup, Connect):
        yield from _of_connect(setup)
    elif isinstance(setup, ThroughputSearch):
        yield from _of_throughput_search(setup)
    elif isinstance(setup, LatencyUnderLoad):
        yield from _of_latency_under_load(setup)


def untold(setup: TestSettings) -> tuple[tuple[str, Level], ...]:
    """The settings for the server's probe in a setup: an echo service cannot apply them.

    Settings at their defaults are left out.
    """
    defaults = {**setup.defaults(), "opening": "client-connects"}
    return tuple(
        (name, level)
        for name in (*_OF_AN_AGENT, "opening")
        if name in setup.names() and (level := getattr(setup, name)) not in (None, defaults[name])
    )


def _of_latency_under_load(setup: LatencyUnderLoad) -> Iterator[SettingFault]:
    load = setup.load()
    if load.receive == "adaptive":
        load = replace(load, receive="blocking")
        yield (
            "receive",
            "`adaptive` needs a warm-up, and the load has none: "
            "choose `blocking`, `spinning` or `polling`",
        )
    yield from _of_stream(load)
    if setup.request_protocol == "UDP" and setup.request_bytes < SEQUENCE_BYTES:
        yield "request_bytes", f"a UDP request needs {SEQUENCE_BYTES} bytes for its sequence number"
    most = UDP_MOST_BYTES[setup.ip_version]
    if setup.request_protocol == "UDP" and setup.request_bytes > most:
        yield (
            "request_bytes",
            f"a UDP message carries {most} bytes at most over IPv{setup.ip_version}: "
            "give fewer bytes, or `request_protocol: TCP`",
        )
    request_count = setup.request_rate_per_s * setup.request_timeout_s
    if request_count > OUTSTANDING_MOST:
        yield (
            "request_timeout_s",
            f"{request_count:.0f} requests would be under way at once, and at most "
            f"{OUTSTANDING_MOST} can be: set a lower `request_rate`",
        )


def _of_many(setup: Stream | ThroughputSearch) -> Iterator[SettingFault]:
    if setup.streams <= STREAMS_WITH_A_THREAD:
        return
    if setup.send_method is not None and setup.protocol == "UDP":
        yield (
            "send_method",
            f"more than {STREAMS_WITH_A_THREAD} streams can only send one message per call: "
            "leave this setting out, or `exclude` this value",
        )
    if setup.receive in ("polling", "adaptive"):
        yield (
            "receive",
            f"with more than {STREAMS_WITH_A_THREAD} streams, a thread waits for several at once: "
            "set `blocking`, or `exclude` this value",
        )


def _of_stream(setup: Stream) -> Iterator[SettingFault]:
    yield from _too_long(setup)
    yield from _one_queue(setup)
    yield from _from_frames(setup)
    yield from _of_many(setup)
    if setup.receive == "adaptive" and setup.warm_up_s < ADAPTIVE_WARM_UP_S:
        yield (
            "receive",
            "an adaptive receiver chooses its method in the warm-up: "
            f"set `warm_up` to {ADAPTIVE_WARM_UP_S:g} s or more",
        )
    if setup.receive == "adaptive" and setup.count is not None:
        yield (
            "receive",
            "`adaptive` needs a warm-up, and a test with `count` has none: "
            "set another `receive`, or `duration` instead of `count`",
        )
    if setup.source_port is not None and (setup.streams > 1 or setup.direction == "both"):
        yield (
            "source_port",
            "one source port serves only one stream: it excludes several `streams` and "
            "`direction: both`",
        )


def _of_round_trip(setup: RoundTrip) -> Iterator[SettingFault]:
    yield from _too_long(setup)
    if setup.mirror is not None:
        yield from _of_other_mirror(setup)
    if setup.protocol != "UDP":
        return
    response_bytes = setup.message_bytes
    if setup.response_bytes is not None:
        response_bytes = setup.response_bytes
        if response_bytes > setup.message_bytes:
            yield (
                "response_bytes",
                f"the UDP answer ({response_bytes} bytes) is larger than the request "
                f"({setup.message_bytes} bytes), and a mirror sends no such answer, so that "
                "nobody can amplify traffic with it: make `message_size` as large, or `exclude` "
                "this value",
            )
    unnumbered = min(setup.message_bytes, response_bytes) < SEQUENCE_BYTES
    if setup.outstanding > 1 and unnumbered:
        yield (
            "outstanding",
            f"with more than one UDP request under way, requests and answers need {SEQUENCE_BYTES} "
            "bytes or more: the sequence number in them shows to which request an answer belongs",
        )
    if setup.source_port is not None and unnumbered:
        yield (
            "source_port",
            f"the source port of UDP messages under {SEQUENCE_BYTES} bytes changes after each "
            "time-out: make the messages longer, or leave this setting out",
        )
    if not setup.udp_checksum and setup.ip_version == 6:
        yield (
            "udp_checksum",
            "UDP over IPv6 must have a checksum (RFC 8200): `exclude` that combination",
        )


def _of_other_mirror(setup: RoundTrip) -> Iterator[SettingFault]:
    """Faults of a round trip that another program answers: settings that only a probe can apply."""
    requested = [name for name, _level in untold(setup)]
    requested += ["mirror_hold_s"] if setup.mirror_hold_s else []
    requested += [] if setup.response_bytes in (None, setup.message_bytes) else ["response_bytes"]
    for name in requested:
        yield (
            name,
            f"the mirror `{setup.mirror}` cannot apply this setting, only netprobe can: `exclude` "
            "that combination",
        )


def _of_connect(setup: Connect) -> Iterator[SettingFault]:
    if setup.protocol != "TCP":
        yield "protocol", "UDP has no connections: a `connect` test takes `protocol: TCP`"
    if setup.source_port is not None and setup.close == "orderly":
        yield (
            "source_port",
            "after an orderly close, a source port cannot connect again for a minute: "
            "leave this setting out, or set `close: reset`",
        )


def _of_throughput_search(setup: ThroughputSearch) -> Iterator[SettingFault]:
    yield from _one_queue(setup)
    yield from _from_frames(setup)
    yield from _of_many(setup)
    if setup.protocol != "UDP":
        yield "protocol", "TCP chooses its own rate: a `throughput_search` needs `protocol: UDP`"
    if setup.receive == "adaptive":
        yield (
            "receive",
            "`adaptive` needs a warm-up, and the trials of a search have none: "
            "choose `blocking`, `spinning` or `polling`",
        )
    try:
        message_bytes = ethernet.udp_message_in_frame(
            setup.frame_bytes, ip_version=setup.ip_version
        )
    except ValueError as error:
        yield "frame_bytes", f"{error}: `exclude` that combination"
        return
    if message_bytes < SEQUENCE_BYTES:
        least = setup.frame_bytes + SEQUENCE_BYTES - message_bytes
        yield (
            "frame_bytes",
            f"over IPv{setup.ip_version}, a frame of {setup.frame_bytes} bytes has no room for a "
            f"sequence number; a frame needs {least} bytes or more: `exclude` that combination",
        )


def _one_queue(setup: Stream | ThroughputSearch) -> Iterator[SettingFault]:
    if setup.send_method == "xdp" and setup.streams > 1:
        yield (
            "send_method",
            "AF_XDP takes a queue of the interface for itself, so it sends only one stream: "
            "`replace` this value where there are several `streams`, or `exclude` it",
        )


def _from_frames(setup: Stream | ThroughputSearch) -> Iterator[SettingFault]:
    if setup.receive_from == "packet" and setup.receive not in ("polling", "spinning"):
        yield (
            "receive_from",
            "`receive_from: packet` needs `receive: polling` or `receive: spinning`, because "
            "nothing wakes a receiver that waits for frames",
        )


def _too_long(setup: Stream | RoundTrip) -> Iterator[SettingFault]:
    most = UDP_MOST_BYTES[setup.ip_version]
    if setup.protocol == "UDP" and setup.message_bytes > most:
        yield (
            "message_bytes",
            f"a UDP message carries {most} bytes at most over IPv{setup.ip_version}: "
            "`replace` this size for UDP, or `exclude` it",
        )
