"""Each limit of a sender, of its calls and of a core has its exact threshold."""

from __future__ import annotations

from typing import Any

import pytest
from made_histograms import of_values
from made_samples import IDLE, changed, losses_of, tcp, udp

from netlab.findings.stream_end import StreamEnd
from netlab.findings.stream_rules import (
    core_saturated,
    loses,
    sender_in_calls,
    sender_on_cpu,
    sent_enough,
)

MS = 1_000_000
LEAST_WINDOW_NS = 200 * MS


def end(**changes: Any) -> StreamEnd:
    return changed(IDLE, **changes)


# ---- the sender's only thread -------------------------------------------------------------------


@pytest.mark.parametrize(
    ("thread_ns", "delay_ns", "bound"),
    [
        (970 * MS, 20 * MS, False),
        (975 * MS, 20 * MS - 1, True),
        (970 * MS, 11 * MS, True),
        (970 * MS, 9 * MS, False),
        # The two shares leave 2 % of the window to the last bit, and a hair less.
        (974_400_402, 5_599_598, False),
        (974_400_403, 5_599_598, True),
        (941 * MS, 19 * MS, False),
        (961 * MS, None, True),
        (959 * MS, None, False),
        (None, 0, False),
        (None, None, False),
    ],
)
def test_a_sender_is_on_its_cpu_if_waits_for_a_cpu_and_other_waits_are_under_2_percent(
    thread_ns: int | None, delay_ns: int | None, bound: bool
) -> None:
    busy = end(thread_ns=thread_ns, run_queue_delay_ns=delay_ns)
    assert sender_on_cpu(udp(sender=busy)) is bound


BUSY = end(thread_ns=985 * MS)


@pytest.mark.parametrize(
    ("changes", "bound"),
    [
        ({}, True),
        ({"streams": 2}, False),
        ({"offered_bit_per_s": 9e7}, False),
        ({"sender": changed(BUSY, window_ns=LEAST_WINDOW_NS - 1, thread_ns=199 * MS)}, False),
        ({"sent": 4_000, "lost": 200}, True),
        ({"sent": 4_000, "lost": 201}, False),
        ({"calls": None}, False),
        # 98.4 % of what the wire carries left the sender, and 96.5 % arrived.
        ({"sent": 8_000, "lost": 160}, False),
        ({"sent": 7_900, "lost": 160}, True),
    ],
)
def test_a_sender_on_its_cpu_is_the_limit_only_of_a_single_unpaced_stream_without_loss(
    changes: dict[str, Any], bound: bool
) -> None:
    assert sender_on_cpu(udp(**({"sender": BUSY} | changes))) is bound


def test_the_cpu_limit_of_a_tcp_sender_does_not_depend_on_calls_or_loss() -> None:
    assert sender_on_cpu(tcp(sender=BUSY, calls=None)) is True
    assert sender_on_cpu(tcp(sender=BUSY, sent=4_000, lost=2_000)) is True


# ---- its calls -----------------------------------------------------------------------------------


def in_calls(each_ns: int = 20_000, samples: int = 50, **changes: Any) -> Any:
    """40,000 calls in a second; times below 2^20 ns have a bucket each."""
    defaults: dict[str, Any] = {
        "message_bytes": 64,
        "sent": 40_000,
        "throughput_bit_per_s": 40_000 * 64 * 8.0,
        "call_times": of_values([each_ns] * samples, 20),
        "room_looks": 8,
        "room_share": 0.9,
        "send_buffer_bytes": 8 * 64,
    }
    return udp(**(defaults | changes))


def test_send_calls_are_the_limit_exactly_at_each_threshold() -> None:
    assert sender_in_calls(in_calls()) is True
    assert in_calls().in_calls_share == 0.8


@pytest.mark.parametrize(
    "lacking",
    [
        in_calls(each_ns=19_999),
        in_calls(samples=49),
        in_calls(call_times=None),
        in_calls(room_looks=7),
        in_calls(room_looks=None),
        in_calls(room_share=0.899),
        in_calls(room_share=None),
        in_calls(send_buffer_bytes=8 * 64 - 1),
        in_calls(send_buffer_bytes=None),
        in_calls(calls=None),
        in_calls(offered_bit_per_s=9e7),
        in_calls(throughput_bit_per_s=0.94 * 40_000 * 64 * 8),
        in_calls(sender=end(window_ns=None)),
    ],
)
def test_send_calls_are_not_the_limit_if_one_condition_is_not_met(lacking: Any) -> None:
    assert sender_in_calls(lacking) is False


@pytest.mark.parametrize(
    ("each_ns", "longest_ns", "limited"),
    # 100,000 calls within 0.98 s, one of fifty of them long: 49 x 5 us of each 50 make half of it.
    [(5_000, 147_000, True), (4_999, 150_000, False), (5_000, 146_000, False)],
)
def test_send_calls_without_the_longest_calls_must_fill_half_of_the_window(
    each_ns: int, longest_ns: int, limited: bool
) -> None:
    times = of_values([each_ns] * 49 + [longest_ns], 20)
    sample = in_calls(
        sent=100_000,
        call_times=times,
        sender=end(window_ns=980 * MS, thread_ns=300 * MS),
        throughput_bit_per_s=100_000 * 64 * 8 / 0.98,
        ceiling_bit_per_s=1e8,
    )
    assert sender_in_calls(sample) is limited
    if limited:
        assert (sample.in_calls_share, sample.in_ordinary_calls_share) == (0.8, 0.5)


# ---- a core --------------------------------------------------------------------------------------


def with_core(**changes: Any) -> Any:
    """10,000 small messages a second, and one core of the receiver's host 97 % busy."""
    defaults: dict[str, Any] = {
        "message_bytes": 64,
        "sent": 10_000,
        "throughput_bit_per_s": 10_000 * 64 * 8.0,
        "receiver": end(busiest_core_share=0.97),
    }
    return udp(**(defaults | changes))


def test_a_core_of_either_host_is_saturated_from_97_percent() -> None:
    assert core_saturated(with_core()) is True
    assert core_saturated(with_core(sender=end(busiest_core_share=0.97), receiver=IDLE)) is True


SLOW = {"message_bytes": 1472, "calls": None, "ceiling_bit_per_s": 1e9}


@pytest.mark.parametrize(
    ("changes", "saturated"),
    [
        ({"receiver": end(busiest_core_share=0.969)}, False),
        ({"receiver": end(busiest_core_share=None)}, False),
        ({"receiver": end(busiest_core_share=0.97, busiest_core=None)}, False),
        (
            {"receiver": end(busiest_core_share=0.97, window_ns=LEAST_WINDOW_NS - 1)},
            False,
        ),
        ({"calls": 9_999}, False),
        ({"calls": None}, False),
        ({**SLOW, "throughput_bit_per_s": 10_000 * 1500 * 8.0}, True),
        ({**SLOW, "throughput_bit_per_s": 10_000 * 1500 * 8.0 - 8}, False),
        ({"sender": end(run_queue_delay_ns=51 * MS)}, False),
        ({"receiver": end(busiest_core_share=0.97, run_queue_delay_ns=51 * MS)}, False),
        ({"sender": end(run_queue_delay_ns=50 * MS)}, True),
    ],
)
def test_a_saturated_core_needs_many_messages_and_no_waiting_threads(
    changes: dict[str, Any], saturated: bool
) -> None:
    assert core_saturated(with_core(**changes)) is saturated


@pytest.mark.parametrize(
    ("thread", "saturated"),
    [
        ({"spins": True}, False),
        ({"spins": True, "cpu": 0}, False),
        ({"spins": True, "cpu": 1}, True),
        ({"thread_ns": 950 * MS}, False),
        ({"thread_ns": 950 * MS, "cpu": 0}, False),
        ({"thread_ns": 950 * MS, "cpu": 1}, True),
        ({"thread_ns": 949 * MS}, True),
        ({"thread_ns": None}, True),
    ],
)
def test_a_core_that_a_probe_thread_may_keep_busy_is_not_called_saturated(
    thread: dict[str, Any], saturated: bool
) -> None:
    assert core_saturated(with_core(sender=end(**thread))) is saturated
    busy = end(busiest_core_share=0.97, **thread)
    assert core_saturated(with_core(receiver=busy)) is saturated


# ---- what was sent and lost ----------------------------------------------------------------------


@pytest.mark.parametrize(
    ("ceiling", "offered_rate", "enough"),
    [
        (1e7, None, True),
        (1.0001e7, None, False),
        (None, 1e7, True),
        (None, 1.0001e7, False),
        (1e7, 5e7, True),
        (5e7, 1e7, True),
        (5e7, 2e7, False),
        (None, None, False),
    ],
)
def test_sending_at_98_percent_of_the_ceiling_or_of_the_offered_rate_counts_as_enough(
    ceiling: float | None, offered_rate: float | None, enough: bool
) -> None:
    sample = udp(
        message_bytes=125, calls=9_800, ceiling_bit_per_s=ceiling, offered_bit_per_s=offered_rate
    )
    assert sample.sent_bit_per_s == 9_800_000
    assert sent_enough(sample) is enough
    assert sent_enough(changed(sample, calls=None)) is False


@pytest.mark.parametrize(
    ("sent_count", "lost_count", "limit"),
    [
        (8_120, 1, True),
        (8_120, 0, False),
        (4_000, 200, False),
        (4_000, 201, True),
        (4_000, None, False),
    ],
)
def test_any_loss_is_a_limit_if_the_sender_sent_enough_and_otherwise_only_loss_above_5_percent(
    sent_count: int, lost_count: int | None, limit: bool
) -> None:
    sample = udp(sent=sent_count, losses=losses_of(sent=sent_count, lost=lost_count))
    assert loses(sample) is limit
    assert loses(changed(sample, protocol="TCP")) is False
