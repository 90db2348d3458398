"""Each limit of a path has its exact threshold."""

from __future__ import annotations

from typing import Any

import pytest
from draws import chance, drawn
from made_samples import ACCOUNT, IDLE, NONE_DROPPED, changed, losses_of, tcp, udp

from netlab.findings.derived import StreamSample, TcpAccount
from netlab.findings.finding import Kind
from netlab.findings.limits import packet_bound
from netlab.findings.stream_rules import (
    congested,
    lost_at,
    receive_queue_drops,
    send_buffer_limited,
    sender_queue_drops,
    stood_in_queue,
    window_limited,
)

SHORT = changed(IDLE, window_ns=199_999_999)


def counts(**changes: Any) -> TcpAccount:
    return changed(ACCOUNT, **changes)


# ---- TCP's account -------------------------------------------------------------------------------


def windowed(throughput_bit_per_s: float = 40_000_000.0, **changes: Any) -> StreamSample:
    """A window of 31,250 bytes a round trip of 5 ms: 50 Mbit/s, 1.25 times the throughput."""
    shut = {"rwnd_limited_us": 500_000, "window_bytes": 31_250, "min_rtt_us": 5_000}
    counters = {name: changes.pop(name, value) for name, value in shut.items()}
    defaults = {"throughput_bit_per_s": throughput_bit_per_s, "tcp": counts(**counters)}
    return tcp(**(defaults | changes))


@pytest.mark.parametrize(
    ("sample", "limited"),
    [
        (windowed(), True),
        (windowed(rwnd_limited_us=499_999), False),
        (windowed(rwnd_limited_us=None), False),
        (windowed(39_999_999.0), False),
        (windowed(window_bytes=31_251), False),
        (windowed(window_bytes=None), False),
        (windowed(min_rtt_us=4_999), False),
        (windowed(min_rtt_us=0), False),
        (windowed(min_rtt_us=None), False),
        (windowed(queue_full_share=0.51), False),
        (windowed(streams=2), False),
        (windowed(sender=SHORT), False),
        (windowed(receiver=SHORT), True),
        # BBR paces at the rate of the window, within a tenth, and does not wait for it.
        (windowed(46e6, rwnd_limited_us=0, congestion="bbr"), True),
        (windowed(45e6, rwnd_limited_us=0, congestion="bbr"), False),
        (windowed(46e6, rwnd_limited_us=0, congestion="cubic"), False),
    ],
)
def test_the_receive_window_is_the_limit_if_tcp_waited_for_the_window_and_the_rate_fits(
    sample: StreamSample, limited: bool
) -> None:
    assert window_limited(sample) is limited


@pytest.mark.parametrize(
    ("changes", "limited"),
    [
        ({"tcp": counts(sndbuf_limited_us=500_000)}, True),
        ({"tcp": counts(sndbuf_limited_us=499_999)}, False),
        ({"tcp": counts(sndbuf_limited_us=None)}, False),
        ({"tcp": counts(sndbuf_limited_us=900_000), "streams": 2}, False),
        ({"tcp": counts(sndbuf_limited_us=900_000), "sender": SHORT}, False),
    ],
)
def test_the_send_buffer_is_the_limit_if_tcp_waited_for_the_buffer_half_of_the_time(
    changes: dict[str, Any], limited: bool
) -> None:
    assert send_buffer_limited(tcp(**changes)) is limited


@pytest.mark.parametrize(
    ("changes", "limited"),
    [
        # Busy, and held back neither by the window nor by the buffer, for 0.5 s of 1 s.
        ({"busy_us": 900_000, "rwnd_limited_us": 300_000, "sndbuf_limited_us": 100_000}, True),
        ({"busy_us": 900_000, "rwnd_limited_us": 300_001, "sndbuf_limited_us": 100_000}, False),
        ({"busy_us": 900_000, "rwnd_limited_us": 300_000, "sndbuf_limited_us": 100_001}, False),
        ({"busy_us": 899_999, "rwnd_limited_us": 300_000, "sndbuf_limited_us": 100_000}, False),
        ({"retransmissions": 0}, False),
        ({"retransmissions": None}, False),
        ({"busy_us": None}, False),
        ({"rwnd_limited_us": None}, False),
        ({"sndbuf_limited_us": None}, False),
    ],
)
def test_congestion_is_the_limit_of_busy_tcp_with_retransmissions(
    changes: dict[str, Any], limited: bool
) -> None:
    sample = tcp(tcp=counts(**({"retransmissions": 1} | changes)))
    assert congested(sample) is limited
    assert congested(changed(sample, streams=2)) is False
    assert congested(changed(sample, sender=SHORT)) is False


def test_congestion_is_no_limit_if_at_most_a_tenth_of_the_segments_sent_again_were_lost() -> None:
    random = chance("repeats")
    for _ in range(drawn(40, 400)):
        resent = random.randint(1, 300)
        lost = random.choice((random.randint(0, resent), random.randint(0, 1 + resent // 9)))
        sample = tcp(tcp=counts(retransmissions=resent), duplicate_packets=resent - lost)
        assert congested(sample) is (10 * lost > resent), (lost, resent)


@pytest.mark.parametrize(
    ("rtt_us", "min_rtt_us", "bit_per_s", "stood"),
    [
        # Twice the shortest round trip, and 4 ms more at 6 byte/us: 16 frames of 1500 bytes.
        (8_000, 4_000, 48e6, True),
        (8_000, 4_000, 47_999_999.0, False),
        (8_001, 4_001, 48e6, False),
        (None, 4_000, 48e6, False),
        (8_000, None, 48e6, False),
    ],
)
def test_tcp_kept_a_queue_filled_if_the_round_trip_doubled_and_16_frames_stood_in_the_queue(
    rtt_us: int | None, min_rtt_us: int | None, bit_per_s: float, stood: bool
) -> None:
    sample = tcp(throughput_bit_per_s=bit_per_s, tcp=counts(rtt_us=rtt_us, min_rtt_us=min_rtt_us))
    assert stood_in_queue(sample) is stood


# ---- loss ----------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("sent_count", "lost_count", "drop_count", "socket", "path"),
    [
        (4_000, 1_000, 500, True, False),
        (4_000, 1_000, 499, False, True),
        (4_000, 1_000, 1, False, True),
        (4_000, 1_000, 0, False, True),
        (4_000, 1_000, None, False, False),
        (4_000, 200, 200, False, False),
        (4_000, 200, 0, False, False),
        (4_000, 0, 0, False, False),
        (None, 1_000, 0, False, False),
    ],
)
def test_loss_is_in_a_socket_that_dropped_half_of_it_and_else_on_the_path(
    sent_count: int | None, lost_count: int, drop_count: int | None, socket: bool, path: bool
) -> None:
    sample = udp(
        losses=losses_of(sent=sent_count, lost=lost_count, receive_queue=drop_count, local=0)
    )
    assert (receive_queue_drops(sample), lost_at(sample, Kind.LOSS_LIMIT_PATH)) == (socket, path)


def test_of_several_places_with_loss_the_one_with_most_is_the_limit() -> None:
    losses = losses_of(sent=4_000, lost=1_000, receive_queue=450, local=0)

    def limits(drops: int) -> tuple[bool, bool, bool]:
        sample = udp(losses=losses, drops=changed(NONE_DROPPED, receiver_backlog=drops))
        of_path, of_host = Kind.LOSS_LIMIT_PATH, Kind.LOSS_LIMIT_HOST
        return receive_queue_drops(sample), lost_at(sample, of_host), lost_at(sample, of_path)

    assert limits(350) == (True, False, False)
    assert limits(460) == (False, True, False)
    assert limits(0) == (False, False, True)


@pytest.mark.parametrize(
    ("sent_count", "local", "limited"),
    [
        # Of 4,000 that were to be sent: 5 % and one more.
        (3_800, 200, False),
        (3_799, 201, True),
        (3_799, None, False),
        (None, 201, False),
        (3_799, 0, False),
    ],
)
def test_the_queue_of_the_sender_is_the_limit_if_more_than_5_percent_of_messages_dropped(
    sent_count: int | None, local: int | None, limited: bool
) -> None:
    sample = udp(losses=losses_of(sent=sent_count, lost=0, receive_queue=0, local=local))
    assert sender_queue_drops(sample) is limited
    assert sender_queue_drops(changed(sample, protocol="TCP")) is False


# ---- frames a second -----------------------------------------------------------------------------


def frames(size: int, per_s: float, **changes: Any) -> StreamSample:
    defaults = {
        "message_bytes": size,
        "throughput_bit_per_s": per_s * size * 8.0,
        "cell": str(size),
    }
    return udp(**(defaults | changes))


def bound(*samples: StreamSample) -> set[str]:
    return {cell for cell, _ in packet_bound(samples)}


def test_frames_per_second_are_throughput_divided_by_message_size() -> None:
    assert udp(message_bytes=125, throughput_bit_per_s=5_000_000.0).frames_per_s == 5_000


def test_three_message_sizes_with_frame_rates_within_5_percent_show_a_packet_rate() -> None:
    alike = frames(100, 4_000), frames(200, 4_200), frames(400, 4_000)
    assert bound(*alike) == {"100", "200", "400"}
    assert packet_bound(alike) == {("100", ""), ("200", ""), ("400", "")}
    assert bound(*reversed(alike)) == {"100", "200", "400"}


@pytest.mark.parametrize(
    ("lost", "presence"), [(0, False), (200, False), (201, True), (None, False)]
)
def test_cells_of_another_tool_show_a_packet_rate_only_with_much_loss(
    lost: int | None, presence: bool
) -> None:
    losses = losses_of(sent=4_000, lost=lost)
    alike = [frames(size, 4_000, engine="iperf3", losses=losses) for size in (100, 200, 400)]
    assert bool(packet_bound(alike)) is presence


@pytest.mark.parametrize(
    "samples",
    [
        (frames(100, 4_000), frames(400, 4_000)),
        (frames(100, 4_000), frames(200, 4_000), frames(399, 4_000)),
        (frames(100, 4_000), frames(200, 4_201), frames(400, 4_000)),
        (frames(100, 4_000), frames(100, 4_000, cell="again"), frames(400, 4_000)),
        (frames(100, 4_000), frames(200, 4_000), frames(400, 4_000, pairing="WL")),
        (frames(100, 4_000), frames(200, 4_000), frames(400, 4_000, flow="to client")),
        (frames(100, 4_000), frames(200, 4_000), frames(400, 4_000, conditions="other")),
    ],
)
def test_no_packet_rate_is_found_with_few_sizes_a_narrow_range_unequal_rates_or_other_settings(
    samples: tuple[StreamSample, ...],
) -> None:
    assert bound(*samples) == set()


@pytest.mark.parametrize(
    "changes",
    [
        {"packets_a_message": 2},
        {"packets_a_message": None},
        {"imported": True},
        {"same_host": True},
        {"offered_bit_per_s": 9e7},
        {"ceiling_bit_per_s": None},
    ],
)
def test_fragmented_imported_loopback_or_paced_cells_do_not_count_for_a_packet_rate(
    changes: dict[str, Any],
) -> None:
    around = frames(200, 4_000), frames(800, 4_000)
    assert bound(*around, frames(475, 4_000)) == {"200", "475", "800"}
    assert bound(*around, frames(475, 4_000, **changes)) == set()


def test_only_sizes_below_95_percent_of_the_wire_ceiling_count_for_a_packet_rate() -> None:
    around = frames(200, 4_000), frames(800, 4_000)
    at = frames(475, 4_000, ceiling_bit_per_s=1.6e7)
    assert at.ceiling_share == 0.95
    assert bound(*around, at) == set()
    assert bound(*around, changed(at, ceiling_bit_per_s=1.6001e7)) == {"200", "475", "800"}


def test_a_message_size_with_another_frame_rate_is_not_limited_by_the_packet_rate() -> None:
    alike = frames(100, 4_000), frames(200, 4_000), frames(400, 4_000)
    assert bound(*alike, frames(800, 3_000)) == {"100", "200", "400"}
    assert bound(frames(50, 9_000), *alike) == {"100", "200", "400"}
    assert bound(*alike, frames(800, 4_000)) == {"100", "200", "400", "800"}


def test_a_middle_message_size_with_another_frame_rate_refutes_a_packet_rate() -> None:
    parted = frames(100, 4_000), frames(200, 4_000), frames(300, 3_000), frames(400, 4_000)
    assert bound(*parted) == set()


def test_the_frame_rate_of_a_size_is_the_median_over_the_trials_of_all_its_cells() -> None:
    trials = [frames(200, per_s, cell=cell) for per_s, cell in ((4_000, "x"), (4_100, "y"))]
    stray = frames(200, 400, cell="z")
    bound_cells = bound(frames(100, 4_000), *trials, stray, frames(400, 4_000))
    assert bound_cells == {"100", "x", "y", "z", "400"}
    assert bound(frames(100, 4_000), trials[0], stray, stray, frames(400, 4_000)) == set()


def test_the_packet_rate_is_judged_for_each_direction_of_a_cell() -> None:
    upload = [frames(size, 4_000, flow="to server") for size in (100, 200, 400)]
    download = [frames(size, 4_000, flow="to client") for size in (100, 200)]
    bound_cells = packet_bound([*upload, *download])
    assert bound_cells == {(str(size), "to server") for size in (100, 200, 400)}
