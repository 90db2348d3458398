"""Own traffic: the bounds of what one end of a stream sent and received, computed by hand.

A TCP header with timestamps takes 14 + 20 + 20 + 12 = 66 bytes of an interface's count, without
them 54. An upper bound adds FCS and tag, 8 bytes, and pads frames to 64 bytes and a tag, 68.
"""

from __future__ import annotations

from typing import Any, Literal

import pytest

from netlab.findings.traffic import (
    EndWords,
    OwnBytes,
    tcp_acknowledgements,
    tcp_data_received,
    tcp_data_sent,
    udp_lost,
    udp_received,
    udp_sent,
)

QUEUED = 131_072
"""Two super-packets of 64 KiB, which may wait in the interface's queue."""


def words(
    end: Literal["sender", "receiver"], *, message: int = 1000, timestamps: bool = True, **own: Any
) -> EndWords:
    """The words of an end; ``snd_mss`` and ``total_retrans`` are always of the sender."""
    values = {
        f"{'sender' if name.endswith(('snd_mss', 'total_retrans')) else end}_{name}": value
        for name, value in own.items()
        if value is not None
    }
    peer = "receiver" if end == "sender" else "sender"
    return EndWords(values, f"{end}_", f"{peer}_", message, 4, 1500, timestamps)


def is_about(own: OwnBytes | None, **expected: float) -> bool:
    assert own is not None
    figures = {name: getattr(own, name) for name in ("payload", "frames", "header", "most")}
    return figures == pytest.approx({"header": 0.0, **expected})


def test_an_interface_that_counts_fewer_packets_has_counted_that_share_of_the_headers() -> None:
    own = OwnBytes(payload=1000, frames=10, header=660)
    counts = [own.counted(packets) for packets in (None, 5, 10, 20)]
    assert counts == pytest.approx([1660, 1330, 1660, 1660])
    assert OwnBytes(payload=1000).counted(5) == 1000


# ---- TCP -----------------------------------------------------------------------------------------

MSS: dict[str, Any] = {"tcp_begin_snd_mss": 1448, "tcp_end_snd_mss": 1448}
TWO_RESENT: dict[str, Any] = {"tcp_begin_total_retrans": 7, "tcp_end_total_retrans": 9}


def test_a_sender_s_segments_are_its_payload_and_a_header_each() -> None:
    counted: dict[str, Any] = {**MSS, "tcp_window_sent_bytes": 144_800, "tcp_window_segs_out": 100}
    assert is_about(
        tcp_data_sent(words("sender", **counted), 2),
        payload=144_800,
        frames=100,
        header=6_600,
        most=144_800 + 100 * 74 + QUEUED * (1 + 74 / 1448),
    )
    assert is_about(
        tcp_data_sent(words("sender", timestamps=False, **counted), 2),
        payload=144_800,
        frames=100,
        header=5_400,
        most=144_800 + 100 * 68 + QUEUED * (1 + 68 / 1448),
    )


def test_uncounted_segments_of_tcp_may_be_one_for_each_message_besides_the_full_ones() -> None:
    for message, frames in ((724, 100 + 200), (5000, 100 + 100)):
        end = words("sender", message=message, tcp_window_sent_bytes=144_800, **MSS)
        own = tcp_data_sent(end, 1)
        assert own is not None
        assert own.frames == pytest.approx(frames)


ACKNOWLEDGED: dict[str, Any] = {
    **MSS,
    **TWO_RESENT,
    "sent_bytes": 144_800,
    "send_buffer_bytes": 10_000,
    "tcp_window_segs_out": 110,
}


def test_without_a_count_a_single_stream_sent_what_was_acknowledged_and_what_it_resent() -> None:
    """Beyond that, the buffer may have been sent and not acknowledged."""
    assert is_about(
        tcp_data_sent(words("sender", **ACKNOWLEDGED), 1),
        payload=144_800 + 2 * 1448,
        frames=110,
        header=110 * 66,
        most=144_800 + 2 * 1448 + 110 * 74 + (QUEUED + 10_000) * (1 + 74 / 1448),
    )
    assert tcp_data_sent(words("sender", **ACKNOWLEDGED), 2) is None
    for name in ("sent_bytes", "send_buffer_bytes", "tcp_end_total_retrans"):
        assert tcp_data_sent(words("sender", **{**ACKNOWLEDGED, name: None}), 1) is None


ARRIVED: dict[str, Any] = {
    **MSS,
    **TWO_RESENT,
    "tcp_window_received_bytes": 144_800,
    "received_bytes": 140_000,
    "receive_buffer_bytes": 10_000,
    "tcp_window_data_segs_in": 110,
    "tcp_window_segs_in": 115,
}


@pytest.mark.parametrize(
    ("streams", "changes", "usual", "most"),
    [
        (1, {}, 147_696, 157_696),  # in order, two resent; the buffer in addition
        (2, {}, 147_696, 159_280),  # 110 full segments
        (1, {"receive_buffer_bytes": None}, 147_696, 159_280),
        (1, {"tcp_window_data_segs_in": None}, 147_696, 157_696),
        (1, {"tcp_window_data_segs_in": 101}, 146_248, 146_248),  # fewer than the bytes in order
        (1, {"tcp_window_received_bytes": None}, 142_896, 152_896),
        (1, {"tcp_window_received_bytes": None, "received_bytes": None}, 159_280, 159_280),
        (1, {"tcp_end_total_retrans": None}, 144_800, 159_280),
        (1, {"tcp_end_total_retrans": 7}, 144_800, 154_800),
    ],
)
def test_a_receiver_s_segments_are_the_bytes_in_order_and_the_resent_ones(
    streams: int, changes: dict[str, Any], usual: float, most: float
) -> None:
    assert is_about(
        tcp_data_received(words("receiver", **{**ARRIVED, **changes}), streams),
        payload=usual,
        frames=115,
        header=115 * 66,
        most=usual + 115 * 74 + (most - usual) * (1 + 74 / 1448),
    )


def test_a_receiver_of_several_streams_without_counted_segments_has_no_bound() -> None:
    uncounted = {**ARRIVED, "tcp_window_data_segs_in": None}
    assert tcp_data_received(words("receiver", **uncounted), 2) is None
    for name in ("receive_buffer_bytes", "tcp_begin_total_retrans"):
        assert tcp_data_received(words("receiver", **{**uncounted, name: None}), 1) is None


def test_acknowledgements_have_at_most_40_bytes_of_options() -> None:
    """14 + 20 + 20 + 40 bytes, FCS and tag: 102, with timestamps or without."""
    counts: dict[str, Any] = {"tcp_window_segs_in": 50, "tcp_window_segs_out": 60}
    data = OwnBytes(payload=1448, frames=70)
    for timestamps, header in ((True, 66), (False, 54)):
        for end, frames in (
            (words("sender", timestamps=timestamps, **counts), 50),
            (words("receiver", timestamps=timestamps, **counts), 60),
            (words("receiver", timestamps=timestamps), 70),
        ):
            own = tcp_acknowledgements(end, data)
            expected = {"frames": frames, "header": frames * header, "most": frames * 102}
            assert is_about(own, payload=0.0, **expected)
    assert tcp_acknowledgements(words("sender"), None) is None


# ---- UDP -----------------------------------------------------------------------------------------


def datagrams(messages: float, slack: float) -> dict[str, float]:
    """Messages of 1000 bytes in a frame of 1042 bytes each; with FCS and tag, 1050."""
    return {"payload": 1042 * messages, "frames": messages, "most": 1050 * (messages + slack)}


def test_a_sender_s_datagrams_are_those_of_its_calls_and_at_most_its_buffer() -> None:
    counts: dict[str, Any] = {"sent_messages_window": 100, "send_buffer_bytes": 20_000}
    assert is_about(udp_sent(words("sender", **counts)), **datagrams(100, 20))
    for name in counts:
        assert udp_sent(words("sender", **{**counts, name: None})) is None


def test_datagrams_are_padded_and_fragmented() -> None:
    counts: dict[str, Any] = {"sent_messages_window": 100, "send_buffer_bytes": 0}
    short = udp_sent(words("sender", message=10, **counts))
    assert is_about(short, payload=100 * 52, frames=100, most=100 * 68)
    long = udp_sent(words("sender", message=2000, **counts))  # 1500 and 548 bytes
    assert is_about(long, payload=100 * (1514 + 562), frames=200, most=100 * (1522 + 570))


DATAGRAMS: dict[str, Any] = {
    "received_messages": 90,
    "lost_messages": 10,
    "queue_drops": 4,
    "duplicate_messages": 2,
    "largest_receive_bytes": 3000,
    "queue_close_bytes": 5000,
    "receive_buffer_bytes": 9000,
}


@pytest.mark.parametrize(
    ("dropped", "changes", "messages", "slack"),
    [
        (3, {}, 90 + 7 + 2, 8),  # of 10 lost ones, 4 were dropped in the socket, 3 before it
        (3, {"lost_messages": 5}, 90 + 5 + 2, 8),
        (0, {}, 90 + 4 + 2, 8),
        (3, {"queue_drops": 0}, 90 + 3 + 2, 8),
        (None, {}, 90 + 10 + 2, 8),  # without both counts, all may have been lost in the host
        (3, {"queue_drops": None}, 90 + 10 + 2, 8),
        (3, {"lost_messages": None}, 90 + 7 + 2, 8),
        (None, {"lost_messages": None}, 90 + 4 + 2, 8),
        (3, {"duplicate_messages": None}, 90 + 7, 8),
        (3, {"largest_receive_bytes": None}, 90 + 7 + 2, 6),
        (3, {"queue_close_bytes": None}, 90 + 7 + 2, 12),
    ],
)
def test_a_receiver_s_datagrams_are_those_received_twice_received_and_lost_in_its_host(
    dropped: float | None, changes: dict[str, Any], messages: float, slack: float
) -> None:
    own = udp_received(words("receiver", **{**DATAGRAMS, **changes}), dropped)
    assert is_about(own, **datagrams(messages, slack))


def test_all_but_one_fragment_of_each_lost_message_may_have_reached_the_receiver() -> None:
    own = udp_received(words("receiver", message=2000, **DATAGRAMS), 3)
    figures = {"payload": 102 * 2076, "frames": 204, "most": (102 + 4) * 2092}
    assert is_about(own, **figures)


@pytest.mark.parametrize(
    "missing",
    [
        ("received_messages",),
        ("queue_close_bytes", "receive_buffer_bytes"),
        ("lost_messages", "queue_drops"),
    ],
)
def test_a_receiver_without_a_needed_count_has_no_bound(missing: tuple[str, ...]) -> None:
    changes = dict.fromkeys(missing)
    assert udp_received(words("receiver", **{**DATAGRAMS, **changes}), 3) is None


def test_lost_datagrams_are_all_messages_that_did_not_reach_the_test() -> None:
    assert is_about(udp_lost(words("receiver", lost_messages=3)), **datagrams(3, 0))
    assert udp_lost(words("receiver")) == OwnBytes()
