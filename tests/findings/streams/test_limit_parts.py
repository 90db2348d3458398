"""The parts of a stream's missing throughput, and the rules that judge a stream by shares."""

from __future__ import annotations

from typing import Any

import pytest
from made_samples import ACCOUNT, IDLE, NONE_DROPPED, changed, losses_of, tcp, udp

from netlab.findings.derived import StreamSample
from netlab.findings.finding import Kind
from netlab.findings.stream_end import StreamEnd
from netlab.findings.stream_limits import (
    _by_shares,
    _never_idle,
    _of,
    cost_of,
    largest_beside_others,
    lost_to_stops,
    parts_of,
    wait_for_cpu,
)
from netlab.findings.stream_rules import is_shared, lost_at, placed, receive_queue_drops


def waiting(waited: float, on_cpu: float = 0.0) -> StreamEnd:
    """An end that waited for a CPU for this share of its second."""
    waited_ns, on_cpu_ns = round(waited * 1e9), round(on_cpu * 1e9)
    return changed(IDLE, run_queue_delay_ns=waited_ns, thread_ns=on_cpu_ns)


def half(others: float = 0.0, **changes: Any) -> StreamSample:
    """TCP at half of its wire ceiling, beside others that use this share of the link."""
    fields: dict[str, Any] = {
        "ceiling_bit_per_s": 8e7,
        "throughput_bit_per_s": 4e7,
        "likely_others_share": others,
    }
    return tcp(**(fields | changes))


def test_the_part_of_two_ends_that_wait_for_one_reason_is_the_longer_wait() -> None:
    robbed = [changed(IDLE, steal_share=share) for share in (0.3, 0.2)]
    expected = {Kind.CPU_WAIT_STEAL: 0.3}
    assert parts_of(half(sender=robbed[0], receiver=robbed[1])) == expected
    assert parts_of(half(sender=robbed[1], receiver=robbed[0])) == expected


@pytest.mark.parametrize(
    ("others", "doubt", "is_part"),
    [(0.03, 0.0, True), (0.029, 0.0, False), (0.04, 0.02, True), (0.04, 0.021, False)],
)
def test_other_traffic_is_a_part_from_3_percent_of_the_link_and_from_twice_its_doubt(
    others: float, doubt: float, *, is_part: bool
) -> None:
    parts = parts_of(half(others, others_doubt_share=doubt))
    assert parts == ({Kind.OTHER_TRAFFIC: others} if is_part else {})


@pytest.mark.parametrize(
    ("others", "waited", "kind"),
    [
        (0.375, 0.0, Kind.OTHER_TRAFFIC),
        (0.374, 0.0, None),
        (0.375, 0.4, Kind.OTHER_TRAFFIC),
        (0.374, 0.4, Kind.CPU_WAIT_SENDER_PROGRAMS),
        (0.1, 0.4, Kind.CPU_WAIT_SENDER_PROGRAMS),
        (0.3, 0.2, Kind.OTHER_TRAFFIC),
        (0.0, 0.4, None),
    ],
)
def test_others_are_told_before_a_longer_wait_if_they_explain_three_quarters_of_what_is_missing(
    others: float, waited: float, kind: Kind | None
) -> None:
    assert largest_beside_others(half(others, sender=waiting(waited))) is kind


def test_a_cost_is_the_part_of_its_kind_and_otherwise_all_that_is_missing() -> None:
    sample = half(0.25, sender=waiting(0.125))
    assert cost_of(Kind.OTHER_TRAFFIC, sample) == 0.25
    assert cost_of(Kind.CPU_WAIT_SENDER_PROGRAMS, sample) == 0.125
    assert cost_of(Kind.CONGESTION, sample) == 0.5


@pytest.mark.parametrize(
    ("plateau", "waited", "busy_us", "kind"),
    [
        (6e7, (0.35, 0.4), None, Kind.CPU_WAIT_RECEIVER_PROGRAMS),
        (6e7, (0.4, 0.35), None, Kind.CPU_WAIT_SENDER_PROGRAMS),
        (6e7, (0.4, 0.35), 850_000, Kind.CPU_WAIT_RECEIVER_PROGRAMS),
        (6e7, (0.4, 0.29), 850_000, None),
        (6e7, (0.35, 0.4), 830_000, Kind.CPU_WAIT_SENDER_PROGRAMS),
        (6e7, (0.29, 0.4), 830_000, None),
        (5.9e7, (0.35, 0.4), None, None),
        (8e7, (0.15, 0.2), None, None),
        (None, (0.35, 0.4), None, None),
    ],
)
def test_the_wait_of_the_end_that_stopped_tcp_is_the_limit_if_it_costs_as_much_as_the_plateaus_own(
    plateau: float | None, waited: tuple[float, float], busy_us: int | None, kind: Kind | None
) -> None:
    """A plateau at three quarters of the ceiling: a quarter is lost to stops, and a quarter not.

    The sender stopped TCP if it left TCP without data for half of that time, a sixth of the window.
    """
    sender, receiver = map(waiting, waited)
    account = changed(ACCOUNT, busy_us=busy_us)
    sample = half(plateau_bit_per_s=plateau, sender=sender, receiver=receiver, tcp=account)
    assert wait_for_cpu(sample) is kind
    assert wait_for_cpu(changed(sample, ceiling_bit_per_s=None)) is None


def test_a_rule_without_other_trials_judges_the_sample_that_it_is_given() -> None:
    rule = _of(lambda sample: sample.streams == 2)
    assert rule(half(streams=2), None)
    assert not rule(half(), 8e7)


def test_waits_of_a_sender_that_is_never_idle_are_compared_with_other_trials() -> None:
    """A quarter is missing to 80 Mbit/s, two fifths to the ceiling."""
    sender = changed(waiting(0.15, 0.8), spins=True)
    sample = tcp(ceiling_bit_per_s=1e8, throughput_bit_per_s=6e7, sender=sender)
    assert _never_idle(sample, 8e7)
    assert not _never_idle(sample, None)
    assert not _never_idle(changed(sample, sender=waiting(0.15, 0.7)), 8e7)


@pytest.mark.parametrize(
    ("changes", "best", "kind"),
    [
        ({}, None, Kind.CPU_WAIT_SENDER_PROGRAMS),
        ({"plateau_bit_per_s": 4e7}, None, Kind.NOT_DETERMINED),
        ({"likely_others_share": 0.25, "others_doubt_share": 0.25}, None, Kind.NOT_DETERMINED),
        ({"sender": waiting(0.2)}, None, Kind.NOT_DETERMINED),
        ({"sender": waiting(0.2)}, 6e7, Kind.CPU_WAIT_SENDER_PROGRAMS),
        ({"tcp": changed(ACCOUNT, busy_us=760_000)}, None, Kind.NOT_DETERMINED),
    ],
)
def test_half_of_what_is_missing_is_a_wait_unless_tcp_has_a_plateau_or_others_may_use_as_much(
    changes: dict[str, Any], best: float | None, kind: Kind
) -> None:
    account = changed(ACCOUNT, busy_us=750_000)
    sample = changed(half(sender=waiting(0.25), tcp=account), **changes)
    assert _by_shares(sample, best).kind is kind


@pytest.mark.parametrize(
    ("share", "throughput", "expected"),
    [
        (0.25, 4e7, True),
        (0.24, 4e7, False),
        (0.0, 4e7, False),
        (0.0, 8e7, False),
        (0.01, 8e7, True),
    ],
)
def test_stops_and_other_traffic_are_causes_from_half_of_what_is_missing(
    share: float, throughput: float, *, expected: bool
) -> None:
    assert lost_to_stops(half(stopped_share=share, throughput_bit_per_s=throughput)) is expected
    assert is_shared(half(share, throughput_bit_per_s=throughput)) is expected


def losing(**changes: Any) -> StreamSample:
    """UDP that lost 1,000 of 4,000 messages."""
    return udp(lost=1_000, **changes)


def test_a_receiving_socket_that_dropped_half_of_the_lost_messages_is_a_cause_beside_others() -> (
    None
):
    losses = losses_of(sent=4_000, lost=1_000, receive_queue=500, local=0)
    drops = changed(NONE_DROPPED, receiver_backlog=510)
    assert receive_queue_drops(losing(losses=losses, drops=drops))
    fewer = changed(losses, receive_queue=499)
    assert not receive_queue_drops(losing(losses=fewer, drops=drops))


def test_loss_is_of_an_unknown_place_if_it_is_the_limit_and_a_counter_is_missing() -> None:
    unknown = changed(NONE_DROPPED, receiver_backlog=None)
    assert lost_at(losing(drops=unknown), Kind.LOSS_LIMIT_UNKNOWN)
    assert not lost_at(losing(), Kind.LOSS_LIMIT_UNKNOWN), "the path lost the messages"
    one = udp(lost=1, drops=unknown)
    assert not lost_at(one, Kind.LOSS_LIMIT_UNKNOWN), "one of 4,000 messages"


def test_dropped_frames_may_be_of_the_other_direction_or_of_protocols_without_a_handler() -> None:
    """The drops, in excess of half of the 1,000 messages, that are still in doubt."""

    def is_placed(kind: Kind, drops: int, other_way: int | None, packets: int | None) -> bool:
        place = "receiver_backlog" if kind is Kind.LOSS_BACKLOG else "receiver_interface"
        own_drops = changed(NONE_DROPPED, between_s=3.0, **{place: drops})
        losses = losses_of(sent=4_000, lost=1_000, receive_queue=0, local=0, other_way=other_way)
        (loss,) = placed(udp(losses=losses, drops=own_drops, packets_a_message=packets))
        return loss.kind is kind

    for drops, expected in ((512, True), (511, False)):
        assert is_placed(Kind.LOSS_BACKLOG, drops, 4, 3) is expected
    for drops, expected in ((518, True), (517, False)):  # 2 frames a second of other protocols
        assert is_placed(Kind.LOSS_INTERFACE, drops, 4, 3) is expected
    for drops, expected in ((504, True), (503, False)):
        assert is_placed(Kind.LOSS_BACKLOG, drops, 4, None) is expected
    assert not is_placed(Kind.LOSS_BACKLOG, 9_000, None, 3)
