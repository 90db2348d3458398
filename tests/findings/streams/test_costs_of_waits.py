"""What a wait for a CPU costs: the missing throughput that it explains."""

from __future__ import annotations

from typing import Any

import pytest
from made_samples import ACCOUNT, CEILING, IDLE, changed, tcp, udp

from netlab.findings.finding import Kind
from netlab.findings.stream_end import StreamEnd
from netlab.findings.stream_rules import (
    costs,
    lost_at,
    receiver_held_up,
    receiver_on_cpu,
    receiver_shut,
    takes,
)

SIXTY = tcp(ceiling_bit_per_s=1e8, throughput_bit_per_s=6e7)
"""40 % is missing to the ceiling, and a quarter to trials with 80 Mbit/s."""


def waiting(waited: float, on_cpu: float | None = 0.0) -> StreamEnd:
    """An end that waited for a CPU for this share of its second, and was on one for that share."""
    thread_ns = None if on_cpu is None else round(on_cpu * 1e9)
    return changed(IDLE, thread_ns=thread_ns, run_queue_delay_ns=round(waited * 1e9))


def test_a_wait_costs_throughput_from_half_of_what_is_missing_to_the_ceiling_or_other_trials() -> (
    None
):
    assert costs(SIXTY, waiting(0.2))
    assert not costs(SIXTY, waiting(0.15))
    assert costs(SIXTY, waiting(0.15), 8e7)
    assert not costs(SIXTY, waiting(0.12), 8e7)
    assert costs(changed(SIXTY, throughput_bit_per_s=9.8e7), waiting(0.15), 1e8), "2 % faster"
    assert not costs(changed(SIXTY, throughput_bit_per_s=9.81e7), waiting(0.15), 1e8)


def test_a_stream_without_throughput_lacks_everything_even_if_other_trials_had_none() -> None:
    silent = changed(SIXTY, throughput_bit_per_s=0.0)
    assert costs(silent, waiting(0.5), 0.0)
    assert not costs(silent, waiting(0.49), 0.0)


def test_an_end_that_is_on_a_cpu_or_waits_for_one_lacks_it_unless_other_trials_were_as_fast() -> (
    None
):
    forty = changed(SIXTY, throughput_bit_per_s=4e7)
    assert takes(forty, waiting(0.1, 0.85)), "95 % together"
    assert not takes(forty, waiting(0.1, 0.84))
    assert not takes(forty, waiting(0.1, 0.85), 4e7)
    assert not takes(SIXTY, waiting(0.15, None)), "its time on a CPU is not known"
    assert takes(SIXTY, waiting(0.15), 8e7)


def test_a_shut_receiver_is_a_limit_if_waits_and_closed_time_are_half_of_what_is_missing() -> None:
    def is_shut(shut_us: int, waited: float, best: float | None = None, **changes: Any) -> bool:
        account = changed(ACCOUNT, rwnd_limited_us=shut_us)
        sample = changed(SIXTY, tcp=account, receiver=waiting(waited), **changes)
        return receiver_shut(sample, best)

    assert is_shut(200_000, 0.2)
    assert not is_shut(199_000, 0.2)
    assert not is_shut(200_000, 0.19)
    assert is_shut(130_000, 0.13, 8e7)
    assert not is_shut(200_000, 0.2, streams=2)
    assert is_shut(0, 0.2, queue_full_share=0.3)


def test_a_receiver_with_a_closed_window_was_held_up_if_its_waits_explain_the_slower_trial() -> (
    None
):
    sample = changed(
        SIXTY, tcp=changed(ACCOUNT, rwnd_limited_us=500_000), receiver=waiting(0.15, 0.3)
    )
    assert receiver_held_up(sample, 8e7)
    assert not receiver_held_up(sample)


def test_a_receiver_that_always_finds_data_needs_80_percent_of_a_cpu_to_be_the_limit() -> None:
    def is_limit(on_cpu: float | None) -> bool:
        calls = {"receive_calls": 900, "empty_receives": 9}
        return receiver_on_cpu(tcp(receiver=waiting(0.0, on_cpu), **calls))

    assert [is_limit(on_cpu) for on_cpu in (None, 0.79, 0.8)] == [False, False, True]


@pytest.mark.parametrize(
    ("share_of_ceiling", "lost", "expected"),
    [(0.4, 1_000, True), (0.4, 999, False), (0.8, 750, True), (0.8, 490, False)],
)
def test_loss_is_most_of_what_is_missing_from_a_fifth_of_all_or_half_of_the_gap(
    share_of_ceiling: float, lost: int, *, expected: bool
) -> None:
    throughput = share_of_ceiling * CEILING
    sample = udp(sent=5_000, lost=lost, throughput_bit_per_s=throughput)
    assert lost_at(sample, Kind.LOSS_LIMIT_PATH) is expected


def test_a_sender_that_sent_all_messages_that_it_could_is_no_limit_however_long_it_waited() -> None:
    """What is missing was lost behind it."""
    for sent, is_limit in ((0.981, False), (0.979, True)):
        sample = udp(ceiling_bit_per_s=1e8, throughput_bit_per_s=5e7, sender=waiting(0.45, 0.52))
        sample = changed(sample, calls=round(sent * 1e8 / 8 / sample.message_bytes))
        assert takes(sample, sample.sender) is is_limit
        assert costs(sample, sample.sender) is is_limit
