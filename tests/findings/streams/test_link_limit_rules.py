"""The rules that tell a slower link or a shaper from other causes of one rate."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

import pytest
from drawn_causes import stream
from made_samples import ACCOUNT, IDLE, changed, losses_of, tcp, udp

from netlab.findings import link_limits as module
from netlab.findings.derived import StreamSample
from netlab.findings.finding import Group, Kind, finding
from netlab.findings.link_limits import (
    RateFit,
    _alike,
    _finding,
    _fits,
    _is_of_rate,
    _is_robbed,
    _one_way,
    _resent_share,
    _StoppedWay,
    link_limits,
)
from netlab.findings.rates import Accounting, Framing
from netlab.findings.stream_limits import JudgedStream

ENDS = {"sender": changed(IDLE, host="b"), "receiver": changed(IDLE, host="a")}
Fit = tuple[Kind, Accounting, RateFit]


def fit_of(
    *samples: StreamSample, kind: Kind = Kind.NOT_DETERMINED, rate: float = 5e7, ceilings: int = 1
) -> RateFit:
    """Streams that are limited to one rate, all with one limit by their own records."""
    return RateFit(
        members=tuple(JudgedStream(sample, kind) for sample in samples),
        rate_bit_per_s=rate,
        ceilings=ceilings,
        columns=1,
        spread=0.0,
        other_spreads=(),
    )


def way_of(*samples: StreamSample, rate: float = 5e7, **changes: Any) -> _StoppedWay:
    way = _StoppedWay(
        Kind.RATE_LIMIT_EITHER,
        fit_of(*samples, rate=rate),
        Accounting.WIRE,
        1e8,
        None,
        len(samples),
    )
    return changed(way, **changes)


def lossy(lost: int | None, size: int = 1472, sent: int = 100) -> StreamSample:
    return udp(message_bytes=size, losses=losses_of(sent=sent, lost=lost, receive_queue=0, local=0))


@pytest.mark.parametrize(
    ("rate", "others", "fills"),
    [(98.0, 0.015, True), (97.9, 0.015, False), (98.0, 0.0149, False)],
)
def test_streams_fill_the_stated_link_from_98_percent_of_it_together_with_other_traffic(
    rate: float, others: float, *, fills: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Then the streams do not show a rate of their own."""
    frames = Framing(payload_bytes=1448, packets=(1500,), vlan=False, link_rate_bit_per_s=100.0)
    fit = fit_of(tcp(framing=frames, likely_others_share=others), rate=rate)
    either = (Kind.RATE_LIMIT_EITHER, Accounting.WIRE, fit)
    monkeypatch.setattr(module, "_fits", lambda _pool, _all: iter([either]))
    assert (_one_way([]) is None) is fills


def test_the_stated_rate_is_that_of_the_streams_framing(monkeypatch: pytest.MonkeyPatch) -> None:
    frames = Framing(payload_bytes=1448, packets=(1500,), vlan=False, link_rate_bit_per_s=1e9)
    either = (Kind.RATE_LIMIT_EITHER, Accounting.WIRE, fit_of(tcp(framing=frames)))
    monkeypatch.setattr(module, "_fits", lambda _pool, _all: iter([either]))
    way = _one_way([])
    assert way is not None
    assert way.stated_bit_per_s == 1e9


@pytest.mark.parametrize(
    ("stolen", "throughput", "robbed"),
    [
        (0.25, 4e7, True),
        (0.24, 4e7, False),
        (0.03, 4e7, False),
        (0.02, 7.9e7, False),
        (0.021, 7.9e7, True),
    ],
)
def test_a_hypervisor_slows_a_stream_if_it_took_over_2_percent_and_half_of_what_is_missing(
    stolen: float, throughput: float, *, robbed: bool
) -> None:
    receiver = changed(IDLE, steal_share=stolen)
    sample = tcp(ceiling_bit_per_s=8e7, throughput_bit_per_s=throughput, receiver=receiver)
    assert _is_robbed(sample) is robbed


@pytest.mark.parametrize(
    ("lost", "lost_of_other", "is_of_rate"),
    [(50, 5, True), (50, 6, False), (None, 5, False), (None, 0, True)],
)
def test_loss_is_of_a_rate_if_another_stream_at_it_lost_at_most_a_tenth(
    lost: int | None, lost_of_other: int, *, is_of_rate: bool
) -> None:
    fit = fit_of(lossy(lost), kind=Kind.LOSS_LIMIT_PATH)
    other = JudgedStream(lossy(lost_of_other), Kind.NOT_DETERMINED)
    assert _is_of_rate(changed(fit, members=(*fit.members, other))) is is_of_rate


@pytest.mark.parametrize(
    ("lost", "ceilings", "is_of_rate"),
    [
        ((0, 0, 1, 1), 3, True),
        ((0, 0, 1, 1), 2, False),
        ((1, 1, 1, 1), 3, False),
        ((None, None, 1, 1), 3, True),
        ((1, 0, 3, 3), 3, False),
        ((1, 0, 4, 4), 3, True),
    ],
)
def test_loss_is_of_a_rate_if_sizes_differ_by_1_percent_and_thrice_as_much_as_their_trials(
    lost: Sequence[int | None], ceilings: int, *, is_of_rate: bool
) -> None:
    samples = [lossy(count, size) for count, size in zip(lost, (128, 128, 1472, 1472), strict=True)]
    assert _is_of_rate(fit_of(*samples, kind=Kind.LOSS_LIMIT_PATH, ceilings=ceilings)) is is_of_rate


def test_the_resent_share_of_tcp_is_of_its_segments_and_1_if_it_is_not_known() -> None:
    frames = Framing(payload_bytes=1448, packets=(1500,), vlan=False, link_rate_bit_per_s=1e9)

    def share(segments: float, **changes: Any) -> float:
        account = changed(ACCOUNT, retransmissions=1)
        fields: dict[str, Any] = {"framing": frames, "tcp": account}
        return _resent_share(tcp(throughput_bit_per_s=segments * 8 * 1448, **(fields | changes)))

    assert share(100) == pytest.approx(0.01)
    assert share(1.5) == pytest.approx(2 / 3)
    assert share(0.5) == 1.0
    assert share(100, sender=changed(IDLE, window_ns=None)) == 1.0
    assert share(100, framing=None) == 1.0
    assert share(100, tcp=changed(ACCOUNT, retransmissions=None)) == 1.0
    assert _resent_share(lossy(None)) == 1.0


def test_two_directions_are_one_finding_if_their_rates_differ_by_at_most_1_percent() -> None:
    first = way_of(tcp(), rate=100.0)
    near, far = way_of(tcp(), rate=99.0), way_of(tcp(), rate=98.9)
    assert [*_alike([first, near])] == [(first, near)]
    assert [*_alike([first, far])] == [(first,), (far,)]
    other = changed(near, accounting=Accounting.FRAME)
    assert [*_alike([first, other])] == [(first,), (other,)]


def test_a_finding_about_one_stream_states_its_rate_its_direction_and_its_group() -> None:
    fields: dict[str, Any] = {"throughput_bit_per_s": 4.5e7, "ceiling_bit_per_s": 9e7}
    found = _finding([way_of(tcp(**fields, **ENDS), of_trials=4)])
    figures = {
        "rate_limit_bit_per_s": 5e7,
        "costs_share": 0.5,
        "step_rate_bit_per_s": None,
        "link_rate_bit_per_s": 1e8,
        "ceiling_share": 0.5,
        "throughput_bit_per_s": 4.5e7,
        "spread_share": 0.0,
        "columns": 1,
        "trials": 1,
        "of_trials": 4,
    }
    words = {"direction": "from b to a"}
    group = Group("LL", "TCP", 1472)
    expected = finding(Kind.RATE_LIMIT_EITHER, group, ("a",), figures, words, (("a", 1),))
    assert found == expected


def columns(*wire_rates: float) -> list[JudgedStream]:
    """Three trials of each of three message sizes, with these rates on the wire.

    Their packets have 1500, 1400 and 1300 bytes, and their wire ceilings are far apart.
    """
    streams: list[JudgedStream] = []
    for rate, packet, payload in zip(
        wire_rates, (1500, 1400, 1300), (1400, 1200, 900), strict=True
    ):
        frames = Framing(
            payload_bytes=payload, packets=(packet,), vlan=False, link_rate_bit_per_s=1e8
        )
        for trial in (1, 2, 3):
            sample = udp(
                cell=str(payload),
                trial=trial,
                message_bytes=payload,
                throughput_bit_per_s=rate * payload / (packet + 38),
                framing=frames,
            )
            streams.append(JudgedStream(sample, Kind.NOT_DETERMINED))
    return streams


def kinds_of(streams: Sequence[JudgedStream]) -> list[tuple[Kind, Accounting]]:
    return [(kind, accounting) for kind, accounting, _fit in _fits(streams, streams)]


def test_the_accounting_by_which_the_rates_of_message_sizes_spread_least_comes_first() -> None:
    """Equal by packets, the rates on the wire differ by 0.4 %, less than other causes may."""
    equal_packets = columns(*(5e7 * (packet + 38) / packet for packet in (1500, 1400, 1300)))
    either = (Kind.RATE_LIMIT_EITHER, Accounting.WIRE)
    assert kinds_of(equal_packets) == [(Kind.RATE_LIMIT_SHAPER, Accounting.PACKET), either]
    assert kinds_of(columns(5e7, 5e7, 5e7)) == [(Kind.RATE_LIMIT_LINK, Accounting.WIRE), either]


def test_no_accounting_is_told_from_the_others_if_they_spread_less_than_three_times_as_much() -> (
    None
):
    """The last column is 0.2 % slower on the wire, and 0.4 % to 0.6 % by other accountings."""
    streams = columns(5e7, 5e7, 0.998 * 5e7)
    assert kinds_of(streams) == [(Kind.RATE_LIMIT_EITHER, Accounting.WIRE)]


def test_a_rate_in_bytes_of_packets_is_a_shaper_even_if_links_negotiate_this_rate() -> None:
    def kind(extra: int) -> tuple[Kind, float]:
        samples = [
            stream("UDP", size, trial, 1e7 * size / (size + 28 + extra), **ENDS)
            for size in (128, 512, 1472)
            for trial in (1, 2, 3)
        ]
        (limit,) = link_limits([JudgedStream(sample, Kind.NOT_DETERMINED) for sample in samples])
        evidence = limit.finding.evidence
        return limit.finding.kind, evidence.get("step_rate_bit_per_s", 0.0)

    assert kind(0) == (Kind.RATE_LIMIT_SHAPER, 0.0)
    assert kind(38) == (Kind.LINK_FAR_BELOW, 1e7)


def test_if_the_first_explanation_is_refuted_the_next_one_is_judged(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """The first fills the stated link together with other traffic."""
    frames = Framing(payload_bytes=1448, packets=(1500,), vlan=False, link_rate_bit_per_s=1e8)
    full = fit_of(tcp(framing=frames, likely_others_share=0.5), rate=9.9e7)
    slower = fit_of(tcp(framing=frames), rate=5e7)

    def fits(_pool: object, _all: object) -> Iterator[Fit]:
        yield Kind.RATE_LIMIT_SHAPER, Accounting.PACKET, full
        yield Kind.RATE_LIMIT_EITHER, Accounting.WIRE, slower

    monkeypatch.setattr(module, "_fits", fits)
    way = _one_way([])
    assert way is not None
    assert (way.kind, way.fit.rate_bit_per_s) == (Kind.RATE_LIMIT_EITHER, 5e7)
