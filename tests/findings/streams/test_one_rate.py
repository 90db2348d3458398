"""Which streams of a direction are limited to one rate, and how others are told apart from them."""

from __future__ import annotations

from typing import Any

import pytest
from made_samples import IDLE, changed, tcp, udp

from netlab.findings.derived import StreamSample
from netlab.findings.link_limits import RateFit, _ceilings, _of_cells, fitted
from netlab.findings.rates import Accounting, Framing
from netlab.findings.stream_limits import JudgedStream

WIRE_BYTES = 1538
"""A packet of 1500 bytes, with everything around it on the wire."""


def at(units: int, cell: str = "a", waited: float = 0.0, **changes: Any) -> StreamSample:
    """A stream with this rate on the wire, in units of 1538 bit/s.

    Its wire ceiling is the share ``payload_bytes`` / 1538 of the link.
    """
    payload_bytes = changes.pop("payload_bytes", 769)
    make = udp if changes.pop("protocol", "TCP") == "UDP" else tcp
    frames = Framing(
        payload_bytes=payload_bytes, packets=(1500,), vlan=False, link_rate_bit_per_s=1e8
    )
    sender = changed(IDLE, run_queue_delay_ns=round(waited * 1e9))
    receiver = changed(IDLE, run_queue_delay_ns=0)
    fields: dict[str, Any] = {
        "cell": cell,
        "message_bytes": payload_bytes,
        "throughput_bit_per_s": float(units * payload_bytes),
        "framing": frames,
        "sender": sender,
        "receiver": receiver,
    }
    return make(**(fields | changes))


def fit_of(*pool: StreamSample, beside: tuple[StreamSample, ...] = ()) -> RateFit | None:
    """The rate of a pool, beside other streams of its direction."""
    streams = [JudgedStream(sample, None) for sample in (*pool, *beside)]
    return fitted(streams[: len(pool)], streams, Accounting.WIRE)


def members(*pool: StreamSample, beside: tuple[StreamSample, ...] = ()) -> list[int] | None:
    """The places of the streams at a rate, or of those below it for a known reason."""
    streams = [JudgedStream(sample, None) for sample in (*pool, *beside)]
    fit = fitted(streams[: len(pool)], streams, Accounting.WIRE)
    return None if fit is None else [streams.index(member) for member in fit.members]


def test_other_traffic_is_added_to_a_rate_in_bytes_on_the_wire_from_1_5_percent_of_the_link() -> (
    None
):
    def rate(others_share: float) -> float:
        stream = JudgedStream(at(1_000, likely_others_share=others_share), None)
        return stream.rate_bit_per_s(Accounting.WIRE)

    assert rate(0.0149) == 1_538_000.0
    assert rate(0.015) == pytest.approx(1_538_000 + 1_500_000 * 1538 / 1514)
    assert JudgedStream(at(1_000, framing=None), None).rate_bit_per_s(Accounting.WIRE) == 0.0


def test_a_rate_is_the_median_of_its_streams_with_its_spread_by_every_other_accounting() -> None:
    fit = fit_of(at(2_000), at(2_004), at(2_002))
    assert fit is not None
    assert (fit.rate_bit_per_s, fit.ceilings, fit.columns) == (2_002 * 1538.0, 1, 1)
    others = (Accounting.FRAME, Accounting.HEADED, Accounting.PACKET)
    assert (fit.spread, fit.other_spreads) == (0.0, tuple((option, 0.0) for option in others))


def test_trials_at_one_rate_differ_by_at_most_half_a_percent() -> None:
    assert members(at(199), at(200), at(200)) == [0, 1, 2]
    assert members(at(1_989), at(2_000), at(2_000)) is None


def test_a_trial_half_a_percent_above_the_others_of_its_cell_is_at_their_rate() -> None:
    beside = (at(900, "b"), at(900, "b"), at(1_430, "b"))
    same = [at(1_400)] * 2
    assert members(*same, at(1_407), beside=beside) == [0, 1, 2], "1,430 is 1.6 % above 1,407"
    assert members(*same, at(1_406), at(1_400), beside=beside) == [0, 1, 2, 3]
    assert members(*same, at(1_400), beside=beside) is None, "1,430 is 2.1 % above 1,400"
    fit = fit_of(at(361_000), at(361_000), at(361_800), at(363_609))
    assert fit is not None, "the last is 0.5 % above the one before"
    assert fit.rate_bit_per_s == 361_400 * 1538.0


def test_a_trial_of_the_judged_streams_that_is_faster_than_the_rate_refutes_it() -> None:
    same = [at(200)] * 3
    assert members(*same, at(203)) is None, "1.5 %"
    waiting = [at(200, waited=0.5)] * 4
    assert members(*waiting, *[at(300)] * 3) is None, "the median of the cell is the rate"


def test_a_trial_of_the_other_streams_refutes_a_rate_from_2_percent_and_its_uncertainty() -> None:
    def is_refuted(units: int, **changes: Any) -> bool:
        beside = (at(100, "b"), at(100, "b"), at(units, "b", **changes))
        return members(*[at(200)] * 3, beside=beside) is None

    assert [is_refuted(units) for units in (204, 205)] == [False, True]
    uncertain = {"resolution_share": 0.05}
    assert [is_refuted(units, **uncertain) for units in (213, 215)] == [False, True]


def test_tcp_may_be_3_percent_below_udp_but_udp_not_below_tcp_nor_tcp_below_tcp() -> None:
    def judged(at_rate: str, below: str, units: int = 195) -> list[int] | None:
        return members(*[at(200, protocol=at_rate)] * 3, at(units, "b", protocol=below))

    assert judged("UDP", "TCP") == [0, 1, 2, 3]
    assert judged("UDP", "UDP") is None
    assert judged("TCP", "TCP") is None
    assert judged("TCP", "UDP") is None
    assert judged("UDP", "TCP", 193) is None


def test_at_most_as_many_streams_are_below_a_rate_as_are_at_it() -> None:
    at_rate, below = [at(200, protocol="UDP")] * 3, at(195, "b")
    assert members(*at_rate, *[below] * 3) == [*range(6)]
    assert members(*at_rate, *[below] * 4) is None


def test_a_trial_far_below_its_cell_belongs_to_no_rate_and_refutes_it_unless_half_was_waiting() -> (
    None
):
    def judged(waited: float) -> list[int] | None:
        return members(*[at(200)] * 3, at(150, waited=waited))

    assert judged(0.125) == [0, 1, 2], "a quarter is missing"
    assert judged(0.124) is None
    assert judged(0.0) is None


def test_a_whole_cell_below_a_rate_needs_waits_as_long_as_what_is_missing_and_a_plateau() -> None:
    def judged(waited: float, **changes: Any) -> list[int] | None:
        return members(*[at(200, **changes)] * 3, at(150, "b", waited))

    plateau = {"plateau_bit_per_s": 200.0 * 769}
    assert judged(0.25, **plateau) == [0, 1, 2]
    assert judged(0.249, **plateau) is None
    assert judged(0.25) is None


def test_with_three_wire_ceilings_a_third_of_the_streams_may_be_below_without_a_reason() -> None:
    three = [at(200, str(size), payload_bytes=size, protocol="UDP") for size in (769, 1000, 1400)]
    slow = at(100, "slow", payload_bytes=1400, protocol="UDP")
    four = [*three, three[0]]
    assert members(*four, slow, slow) == [0, 1, 2, 3]
    assert members(*three, slow, slow) is None
    assert members(*three, at(195, "tcp"), slow, slow) == [0, 1, 2, 3], "one is just below"
    two = [three[0], three[0], three[1], three[1]]
    assert members(*two, slow) is None, "two wire ceilings"


def test_wire_ceilings_count_as_different_from_2_percent_apart() -> None:
    def count(*payloads: int) -> int:
        """The ceilings of payloads in packets that take 1600 bytes on the wire."""
        samples = [at(200, payload_bytes=payload) for payload in payloads]
        frames = [
            changed(sample.framing, packets=(1562,))
            for sample in samples
            if sample.framing is not None
        ]
        return _ceilings(
            JudgedStream(changed(sample, framing=framing), None)
            for sample, framing in zip(samples, frames, strict=True)
        )

    assert count(800, 816) == 2
    assert count(800, 815) == 1
    assert count(800, 810, 815, 833, 816) == 3, "800, 816 and 833"


def test_the_rate_of_each_cell_is_the_median_of_its_own_trials() -> None:
    cells = ["a", "b", "a", "b", "a"]
    streams = [JudgedStream(at(1, cell), None) for cell in cells]
    rates = dict(zip(streams, [1.0, 10.0, 2.0, 30.0, 9.0], strict=True))
    assert _of_cells(streams, rates) == (2.0, 20.0)
