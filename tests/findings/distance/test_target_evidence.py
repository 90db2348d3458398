"""Findings about a target have the figures, hosts and limits that samples and records show."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace
from typing import Any

import pytest
from made_samples import ACCOUNT, changed, end_of, tcp, udp

from netlab.ethernet import Link
from netlab.experiment.matrix import LongPath
from netlab.findings.derived import StreamSample
from netlab.findings.distance import (
    FORMULAS,
    BuffersInEffect,
    OneWay,
    PathLoss,
    at_a_distance,
    one_ways,
)
from netlab.findings.finding import Finding, Group, Kind, finding
from netlab.trial.record import FlowValues

ALPHA, BETA = end_of(host="alpha"), end_of(host="beta")
TARGET = LongPath(0.1, 8e7)
"""It needs 1,000,000 bytes in flight; in packets of 1000 bytes, one loss in 3,000,000."""

Trial = tuple[StreamSample, dict[str, Any]]
"""A sample, and the values of its record without the prefix of its flow."""


def recorded(trials: Iterable[Trial], buffer: int | str | None) -> list[StreamSample]:
    """The samples with a record of these values, and of this socket buffer."""
    settings = {} if buffer is None else {"socket_buffer_bytes": buffer}
    return [
        changed(
            sample,
            measured=FlowValues(values, ""),
            record=replace(sample.record, settings=settings),
        )
        for sample, values in trials
    ]


def judged(
    *trials: Trial,
    target: LongPath = TARGET,
    facts: dict[str, dict[str, str]],
    link: Link | None = None,
    buffer: int | None = None,
) -> list[Finding]:
    noted = {host: [known] for host, known in facts.items()}
    return [*at_a_distance(recorded(trials, buffer), noted, link, target)]


def stream(mbit_per_s: float, ceiling: float | None = None, **more: Any) -> StreamSample:
    """TCP from alpha to beta."""
    rates = {"throughput_bit_per_s": mbit_per_s * 1e6, "highest_ceiling_bit_per_s": ceiling}
    return tcp(**{**rates, "sender": ALPHA, "receiver": BETA, **more})


def counted(begin: int | None, end: int | None, mss: int | None = 1000) -> dict[str, Any]:
    return {
        "sender_tcp_begin_data_segs_out": begin,
        "sender_tcp_end_data_segs_out": end,
        "sender_tcp_end_snd_mss": mss,
    }


def test_the_streams_of_a_direction_have_its_loss_and_their_smallest_buffers() -> None:
    def of(cell: str, window: int | None, full: float, retransmitted: int, **more: Any) -> Any:
        account = changed(ACCOUNT, window_bytes=window, retransmissions=retransmitted)
        return stream(90, cell=cell, queue_full_share=full, tcp=account, **more)

    there = [
        of("there", 70_000, 0.0, 1, trial=1, send_buffer_bytes=5_000),
        of("there", 90_000, 0.1, 2, trial=2, send_buffer_bytes=4_000),
        of("there", None, 0.0, 4, trial=3, send_buffer_bytes=None),
    ]
    back = of("back", 60_000, 0.0, 8, sender=BETA, receiver=ALPHA, send_buffer_bytes=None)
    other = of("other", None, 0.0, 16, pairing="RR", send_buffer_bytes=3_000)
    received, options = "receiver_receive_buffer_bytes", "sender_tcp_end_options"
    trials: list[Trial] = [
        (there[0], counted(0, 0, 1448) | {received: 8_000, options: "sack,wscale"}),
        (there[1], counted(0, 100, 1400) | {received: 9_000, options: ""}),
        (there[2], counted(None, 50, None) | {options: "wscale"}),
        (back, counted(10, 30) | {options: ""}),
        (other, counted(5, 9) | {options: "sack"}),
    ]
    samples = recorded(trials, 2_000)
    # Not known: how many segments the third trial sent. A queue was full in the second one.
    assert [*one_ways(samples)] == [
        OneWay(
            samples=tuple(samples[:3]),
            asked_bytes=2_000,
            buffers=BuffersInEffect(
                auto_tuning=False,
                send_bytes=4_000,
                receive_bytes=8_000,
                announced_bytes=70_000,
                window_scaling=True,
            ),
            segment_bytes=1400,
            loss=PathLoss(packets=100, lost=3),
        ),
        OneWay(
            samples=(samples[3],),
            asked_bytes=2_000,
            buffers=BuffersInEffect(auto_tuning=False, announced_bytes=60_000),
            segment_bytes=1000,
            loss=PathLoss(packets=20, lost=8),
        ),
        OneWay(
            samples=(samples[4],),
            asked_bytes=2_000,
            buffers=BuffersInEffect(auto_tuning=False, send_bytes=3_000, window_scaling=False),
            segment_bytes=1000,
            loss=PathLoss(packets=4, lost=16),
        ),
    ]
    # A size that is not a number of bytes is none that was requested.
    assert next(one_ways(recorded(trials, "most"))).asked_bytes is None


def test_a_failed_target_has_all_limits_in_order_with_hosts_and_figures() -> None:
    way: dict[str, Any] = {"flow": "to client", "sender": BETA, "receiver": ALPHA}
    tcp_stream = {
        **way,
        "cell": "c",
        "send_buffer_bytes": 200_000,
        "tcp": changed(ACCOUNT, window_bytes=300_000),
    }
    values = {"receiver_receive_buffer_bytes": 400_000}
    lossy = udp(cell="u", sent=10_000, lost=1_000, offered_bit_per_s=1e7, **way)
    (found,) = judged(
        (stream(50, 6e7, **tcp_stream), counted(0, 5_000) | values),
        (stream(40, 6e7, trial=2, **tcp_stream), counted(1_000, 6_000) | values),
        (lossy, {}),
        facts={"beta": {"tcp_wmem": "1 2 3", "interface_offloads": "rx-checksum"}},
        buffer=100_000,
    )
    # A tenth is lost: a window of sqrt(10 / 3) packets. 45 % of the send buffer is in flight.
    bounds = (
        "the loss of 1,000 of 10,000 packets allows 146 kbit/s, by the model of RFC 8337; "
        "the send buffer of beta allows 7.20 Mbit/s, 90000 B per round trip; "
        "the receive buffer of alpha allows 24 Mbit/s, a window of 300000 B per round trip; "
        "the measured throughput is 50 Mbit/s; the link carries 60 Mbit/s"
    )
    by_loss = pytest.approx(8e3 * (10 / 3) ** 0.5 / 0.1)
    figures: dict[str, Any] = {
        "target_bit_per_s": 8e7,
        "target_rtt_ns": 1e8,
        "predicted_bit_per_s": by_loss,
        "needed_window_bytes": 1e6,
        "window_bytes": 300_000,
        "receive_buffer_bytes": 400_000,
        "send_buffer_bytes": 200_000,
        "receive_buffer_allows_bit_per_s": pytest.approx(24e6),
        "receive_buffer_allows_at_least_bit_per_s": pytest.approx(16e6),
        "receive_buffer_allows_at_most_bit_per_s": pytest.approx(32e6),
        "send_buffer_allows_bit_per_s": pytest.approx(7.2e6),
        "send_buffer_allows_at_least_bit_per_s": pytest.approx(6.4e6),
        "send_buffer_allows_at_most_bit_per_s": pytest.approx(10.08e6),
        "packets": 20_000,
        "lost_packets": 1_000,
        "most_lost_share": pytest.approx(0.053108, rel=1e-5),
        "run_length_packets": 3_000_000,
        "loss_allows_bit_per_s": by_loss,
        "ceiling_bit_per_s": 6e7,
        "best_bit_per_s": 5e7,
    }
    words = {"sender": "beta", "receiver": "alpha", **FORMULAS, "bounds": bounds}
    group = Group("LL", "TCP", None, "to client")
    trials = (("c", 1), ("c", 2))
    assert found == finding(Kind.TARGET_FAILS, group, ("c",), figures, words, trials)


def test_an_undecided_target_has_the_doubts_about_each_host_and_only_known_figures() -> None:
    limits = {
        "alpha": {"tcp_wmem": "4096 1000 2000000", "interface_offloads": "tso"},
        "beta": {"tcp_rmem": "4096 1000 1500000"},
    }
    between = {
        "receive_buffer_allows_bit_per_s": 120e6,
        "receive_buffer_allows_at_least_bit_per_s": 60e6,
        "receive_buffer_allows_at_most_bit_per_s": 120e6,
        "send_buffer_allows_bit_per_s": 160e6,
        "send_buffer_allows_at_least_bit_per_s": 64e6,
        "send_buffer_allows_at_most_bit_per_s": 160e6,
    }
    at_least = {
        "receive_buffer_allows_at_least_bit_per_s": 24e6,
        "send_buffer_allows_at_least_bit_per_s": 0.0,
    }
    sample = stream(90, tcp=changed(ACCOUNT, window_bytes=300_000))
    sizes = {"receiver_receive_buffer_bytes": 100_000, "sender_send_buffer_bytes": 100_000}
    for facts, by_buffers, doubts in (
        (
            limits,
            between,
            "the receive buffer of beta allows 60 Mbit/s to 120 Mbit/s; "
            "the send buffer of alpha allows 64 Mbit/s to 160 Mbit/s",
        ),
        (
            {},
            at_least,
            "the window that beta would announce is not recorded; "
            "how much data alpha keeps in flight is not recorded",
        ),
    ):
        (found,) = judged((sample, counted(0, 5_000, None) | sizes), facts=facts)
        assert found.kind is Kind.TARGET_UNDECIDED
        assert found.words["doubts"] == doubts + "; the number of lost packets is not recorded"
        assert found.evidence == pytest.approx(
            {
                "target_bit_per_s": 8e7,
                "target_rtt_ns": 1e8,
                "predicted_bit_per_s": 90e6,
                "needed_window_bytes": 1e6,
                "window_bytes": 300_000,
                "packets": 5_000,
                "lost_packets": 0,
                "most_lost_share": 3.8416 / 5_003.8416,
                "best_bit_per_s": 90e6,
                **by_buffers,
            }
        )


def test_a_target_passes_if_buffers_link_and_throughput_allow_exactly_what_it_needs() -> None:
    facts = {
        "alpha": {"tcp_wmem": "4096 1000 2500000", "interface_offloads": "gso"},
        "beta": {"tcp_rmem": "4096 1000 1000000"},
    }
    enough = counted(0, 3_000_000)
    exact = changed(ACCOUNT, window_bytes=1_000_000)
    (found,) = judged((stream(78.4, 8e7, tcp=exact), enough), facts=facts)
    assert found.kind is Kind.TARGET_PASSES and not {"bounds", "doubts"} & found.words.keys()
    # The link is the limit: the stream reached 98 % of its ceiling.
    (found,) = judged((stream(58.8, 6e7, tcp=exact), enough), facts=facts)
    assert found.words["bounds"] == "the link carries 60 Mbit/s"
    (found,) = judged((stream(58.7, 6e7, tcp=exact), enough), facts=facts)
    assert (
        found.words["bounds"]
        == "the measured throughput is 58.70 Mbit/s; the link carries 60 Mbit/s"
    )


def test_each_pairing_has_a_target_finding_with_its_own_packet_size_or_that_of_the_link() -> None:
    left, right = judged(
        (stream(90, cell="l"), counted(0, 5_000)),
        (stream(90, cell="r", pairing="RR"), counted(0, 5_000, None)),
        facts={},
        link=Link(1e10, 1500),
    )
    assert (left.group, right.group) == (Group("LL", "TCP"), Group("RR", "TCP"))
    # 1,000,000 bytes are 1000 packets of 1000 bytes, or 691 of 1448 bytes.
    assert left.evidence["run_length_packets"] == 3 * 1000**2
    assert right.evidence["run_length_packets"] == 3 * 691**2
