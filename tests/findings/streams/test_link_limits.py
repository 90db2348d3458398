"""A rate that several streams share is the rate of a slower link, or of a shaper."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import pytest
from drawn_causes import framing, stream
from made_samples import ACCOUNT, CEILING, IDLE, changed, losses_of

from netlab.findings.derived import StreamSample
from netlab.findings.finding import Group, Kind, finding
from netlab.findings.link_limits import LinkLimit, RateFit, fitted, link_limits
from netlab.findings.rates import Accounting
from netlab.findings.stream_end import StreamEnd
from netlab.findings.stream_limits import JudgedStream

PACKET = {128: 156, 512: 540, 1472: 1500}
"""Message size over UDP → its IP packet; a frame takes 38 bytes more on the wire."""

ENDS = {"sender": changed(IDLE, host="b"), "receiver": changed(IDLE, host="a")}


def unexplained(samples: Sequence[StreamSample]) -> tuple[LinkLimit, ...]:
    return link_limits([JudgedStream(sample, Kind.NOT_DETERMINED) for sample in samples])


def on_wire(trial: int, segments_per_s: float, **changes: Any) -> StreamSample:
    """TCP from b to a: 1448 bytes a segment, 1538 of them on the wire."""
    return stream("TCP", 1448, trial, 8.0 * 1448 * segments_per_s, **(ENDS | changes))


@pytest.mark.parametrize(
    ("kind", "extra", "shares", "counted"),
    [
        (Kind.RATE_LIMIT_LINK, 38, 0.6, {}),
        # The middle column's share of its wire ceiling.
        (Kind.RATE_LIMIT_SHAPER, 0, 0.6 * 578 / 540, {"counted": "IP packets"}),
    ],
)
def test_three_message_sizes_at_one_rate_are_one_finding_with_the_rate_and_the_counted_bytes(
    kind: Kind, extra: int, shares: float, counted: dict[str, str]
) -> None:
    samples = [
        stream("UDP", size, trial, 6e7 * size / (packet + extra), **ENDS)
        for size, packet in PACKET.items()
        for trial in (1, 2, 3)
    ]
    (limit,) = unexplained(samples)
    figures = {
        "rate_limit_bit_per_s": 6e7,
        "costs_share": 0.4,
        "link_rate_bit_per_s": 1e8,
        "ceiling_share": shares,
        "throughput_bit_per_s": 6e7 * 1472 / (1500 + extra),
        "spread_share": 0.0,
        "columns": 3,
        "trials": 9,
        "of_trials": 9,
    }
    assert limit.finding.evidence == pytest.approx(figures)
    assert limit.finding == finding(
        kind,
        Group("LL", "UDP"),
        ("UDP-128", "UDP-512", "UDP-1472"),
        limit.finding.evidence,
        {"direction": "from b to a"} | counted,
        tuple((sample.cell, sample.trial) for sample in samples),
    )


def test_both_directions_beside_other_traffic_are_one_finding_with_the_rate_of_all_traffic() -> (
    None
):
    """20 Mbit/s of others: each 1514 bytes that an interface counts are 1538 on the wire."""
    others = 20e6 * 1538 / 1514
    forth = [
        on_wire(trial, (70e6 - others) / (8 * 1538), likely_others_share=0.2) for trial in (1, 2, 3)
    ]
    back = [
        changed(
            on_wire(trial, (69.65e6 - others) / (8 * 1538), likely_others_share=0.2),
            cell="back",
            sender=ENDS["receiver"],
            receiver=ENDS["sender"],
        )
        for trial in (1, 2, 3)
    ]
    (limit,) = unexplained([*forth, *back])
    assert limit.members == limit.shared
    assert {member.sample for member in limit.members} == {*forth, *back}
    assert (limit.finding.kind, limit.finding.group) == (
        Kind.RATE_LIMIT_EITHER,
        Group("LL", "TCP", 1448),
    )
    assert limit.finding.words == {
        "direction": "both ways",
        "with_others": "including other traffic",
    }
    figures = {
        "rate_limit_bit_per_s": 69.825e6,
        "costs_share": 0.30175,
        "link_rate_bit_per_s": 1e8,
        "ceiling_share": 0.69825,
        "throughput_bit_per_s": (70e6 - others) * 1448 / 1538,
        "spread_share": 0.0,
        "columns": 1,
        "trials": 6,
        "of_trials": 6,
    }
    assert limit.finding.evidence == pytest.approx(figures)


def test_a_finding_about_two_protocols_between_hosts_without_names_states_neither() -> None:
    samples = [on_wire(trial, 5_000, sender=changed(IDLE, host="")) for trial in (1, 2)]
    of_udp = stream("UDP", 1472, 1, 8.0 * 1472 * 5_000, sender=changed(IDLE, host=""))
    (limit,) = unexplained([*samples, of_udp])
    assert (limit.finding.group, limit.finding.words) == (Group("LL"), {})


def test_a_slower_link_limits_all_streams_at_98_percent_of_its_rate_that_offer_enough() -> None:
    """Even if their own records show a wait."""
    samples = [
        *(on_wire(trial, 5_000) for trial in (1, 2, 3)),
        on_wire(4, 4_900),
        on_wire(5, 4_899),
        on_wire(6, 5_000, offered_bit_per_s=0.9 * CEILING),
        on_wire(7, 5_000, offered_bit_per_s=CEILING),
    ]
    kinds = [*[Kind.NOT_DETERMINED] * 3, *[Kind.CPU_WAIT_SENDER_PROGRAMS] * 4]
    (limit,) = link_limits(
        [JudgedStream(sample, kind) for sample, kind in zip(samples, kinds, strict=True)]
    )
    assert {member.sample for member in limit.members} == {*samples[:4], samples[6]}
    assert [limit.finding.evidence[name] for name in ("trials", "of_trials")] == [5, 6]


@pytest.mark.parametrize(
    ("waits_ms", "plateau", "judged", "found"),
    [
        ((250, 250, 375), {}, {}, False),
        ((250, 250, 376), {}, {}, True),
        ((249, 250, 250), {}, {}, True),
        ((250, 250, 250), {"plateau_bit_per_s": 8.0 * 1448 * 6_000}, {}, True),
        ((250, 250, 250), {}, {"kind": Kind.NOT_DETERMINED, "by_shares": False}, True),
    ],
)
def test_equal_waits_that_explain_a_common_rate_refute_a_slower_link(
    waits_ms: Sequence[int], plateau: dict[str, Any], judged: dict[str, Any], found: bool
) -> None:
    """At 6,000 of a link's 8,000 segments a second; the first stream may differ."""
    link = changed(framing("TCP", 1448), link_rate_bit_per_s=8.0 * 1538 * 8_000)
    streams = []
    for trial, wait_ms in enumerate(waits_ms, 1):
        waiting = changed(IDLE, host="b", run_queue_delay_ns=wait_ms * 1_000_000)
        sample = on_wire(trial, 6_000, framing=link, sender=waiting)
        streams.append(JudgedStream(sample, Kind.CPU_WAIT_SENDER_PROGRAMS, by_shares=True))
    streams[0] = changed(streams[0], sample=changed(streams[0].sample, **plateau), **judged)
    assert bool(link_limits(streams)) is found


def of_udp(trial: int, lost: int | None, sent: int = 5_000) -> StreamSample:
    losses = losses_of(sent=sent, lost=lost, receive_queue=0, local=0)
    return stream("UDP", 1472, trial, 8.0 * 1472 * 5_000, losses=losses, **ENDS)


@pytest.mark.parametrize(
    ("other", "found"),
    [
        (on_wire(4, 5_000, tcp=changed(ACCOUNT, retransmissions=100)), True),
        (on_wire(4, 5_000, tcp=changed(ACCOUNT, retransmissions=101)), False),
        (on_wire(4, 5_000, tcp=changed(ACCOUNT, retransmissions=None)), False),
        (of_udp(4, 100), True),
        (of_udp(4, 101), False),
        (of_udp(4, None), False),
    ],
)
def test_loss_of_a_fifth_is_of_a_slower_link_if_another_stream_lost_at_most_a_tenth_of_that(
    other: StreamSample, found: bool
) -> None:
    busy = changed(ENDS["sender"], thread_ns=950_000_000)  # else a limit would hold it back
    trials = [changed(of_udp(n, 1_250, sent=6_250), sender=busy) for n in (1, 2, 3)]
    lossy = [JudgedStream(trial, Kind.LOSS_LIMIT_PATH) for trial in trials]
    assert bool(link_limits([*lossy, JudgedStream(other, Kind.NOT_DETERMINED)])) is found


@pytest.mark.parametrize(
    ("segments_per_s", "wait_ns", "found"),
    [
        # A 128th below the rate: the wait must be a 64th.
        (6_350, 15_625_000, True),
        (6_350, 15_624_999, False),
        (6_335, 500_000_000, False),
    ],
)
def test_one_of_three_trials_may_be_1_percent_below_the_rate_if_its_wait_is_twice_the_difference(
    segments_per_s: float, wait_ns: int, found: bool
) -> None:
    waiting: StreamEnd = changed(IDLE, host="b", run_queue_delay_ns=wait_ns)
    samples = [on_wire(1, 6_400), on_wire(2, 6_400), on_wire(3, segments_per_s, sender=waiting)]
    streams = [JudgedStream(sample, None) for sample in samples]
    assert (fitted(streams, streams, Accounting.WIRE) is not None) is found


def test_an_accounting_stands_out_if_the_spread_on_the_wire_is_three_times_as_large() -> None:
    others = ((Accounting.WIRE, 0.75), (Accounting.FRAME, 0.0))
    fit = RateFit(
        members=(), rate_bit_per_s=1e7, ceilings=3, columns=3, spread=0.25, other_spreads=others
    )
    assert fit.stands_out(Accounting.PACKET)
    assert not changed(fit, spread=0.26).stands_out(Accounting.PACKET)
    assert not fit.stands_out(Accounting.WIRE)


@pytest.mark.parametrize(
    ("acknowledgements_per_segment", "share", "kind"),
    [
        # 90 bytes on the wire for each 1538: together they fill the link.
        (1.0, 1538 / (1538 + 90), Kind.RATE_LIMIT_HALF_DUPLEX),
        (0.5, 1538 / (1538 + 45), Kind.RATE_LIMIT_HALF_DUPLEX),
        (0.5, 0.9, Kind.RATE_LIMIT_EITHER),
        (1.0, 0.96, Kind.RATE_LIMIT_EITHER),
        (None, 1538 / (1538 + 90), Kind.RATE_LIMIT_EITHER),
    ],
)
def test_data_and_acknowledgements_that_fill_the_link_are_told_as_half_duplex_or_a_limit(
    acknowledgements_per_segment: float | None, share: float, kind: Kind
) -> None:
    segments_per_s = share * 1e8 / 8 / 1538
    number = acknowledgements_per_segment
    samples = [
        changed(
            stream("TCP", 1448, trial, segments_per_s * 8 * 1448),
            acknowledgements=None if number is None else round(segments_per_s * number),
        )
        for trial in (1, 2, 3)
    ]
    (limit,) = unexplained(samples)
    assert limit.finding.kind is kind
    assert limit.finding.evidence["rate_limit_bit_per_s"] == pytest.approx(share * 1e8, rel=1e-3)
