"""The packets that a direction lost, and those of them that were certainly lost on the path."""

from __future__ import annotations

from typing import Any

from made_samples import ACCOUNT, CEILING, NONE_DROPPED, account_of, changed, losses_of, tcp, udp

from netlab.findings.derived import StreamSample
from netlab.findings.distance import PathLoss, is_gentle, path_loss
from netlab.trial.record import FlowValues


def sent(segments: int, **figures: Any) -> StreamSample:
    edges = {"begin": 10, "end": 10 + segments}
    values = {f"sender_tcp_{edge}_data_segs_out": count for edge, count in edges.items()}
    return tcp(measured=FlowValues(values, ""), **figures)


def test_the_loss_of_a_direction_is_that_of_all_streams_with_known_counts() -> None:
    again = changed(ACCOUNT, retransmissions=3)
    gentle = 0.5 * CEILING
    samples = [
        sent(70, streams=4, tcp=again),
        sent(70, tcp=account_of()),
        tcp(tcp=again),
        udp(losses=losses_of(sent=None, lost=70)),
        udp(losses=losses_of(sent=70, lost=None)),
        udp(sent=70, lost=7, packets_a_message=2),
        sent(5_000, tcp=again),
        udp(sent=1_000, lost=7),
        udp(sent=2_000, lost=2, offered_bit_per_s=gentle),
        udp(sent=4_000, lost=0, offered_bit_per_s=gentle),
        udp(
            sent=8_000,
            lost=8,
            offered_bit_per_s=gentle,
            drops=changed(NONE_DROPPED, receiver_backlog=8),
        ),
    ]
    # The first six are left out. The last one lost its messages in the receiving host, and none on
    # the path.
    assert path_loss(samples) == PathLoss(
        packets=5_000 + 1_000 + 2_000 + 4_000 + 8_000,
        lost=3 + 7 + 2 + 0 + 8,
        gentle_packets=2_000 + 4_000 + 8_000,
        gentle_lost=2,
    )


def test_segments_that_arrived_twice_are_not_lost_and_copies_of_the_path_lose_nothing() -> None:
    again = changed(ACCOUNT, retransmissions=3)
    for twice, lost in ((0, 3), (2, 1), (3, 0), (500, 0)):
        loss = path_loss([sent(5_000, tcp=again, duplicate_packets=twice)])
        assert (loss.packets, loss.lost) == (5_000, lost)


def test_a_stream_offered_at_most_90_percent_of_the_ceiling_does_not_fill_the_path() -> None:
    assert is_gentle(udp(ceiling_bit_per_s=100.0, offered_bit_per_s=90.0))
    assert not is_gentle(udp(ceiling_bit_per_s=100.0, offered_bit_per_s=90.1))
    assert not is_gentle(udp(ceiling_bit_per_s=100.0, offered_bit_per_s=None))
    assert not is_gentle(udp(ceiling_bit_per_s=None, offered_bit_per_s=90.0))
