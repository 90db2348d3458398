"""The plateau of a TCP stream is its rate while data flows."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from itertools import accumulate
from random import Random

import pytest
from drawn_causes import stream
from draws import seeds
from made_samples import ACCOUNT, IDLE, changed

from netlab.findings.derived import StreamSample
from netlab.findings.finding import Kind
from netlab.findings.limits import limits
from netlab.findings.rates import plateau_bit_per_s
from netlab.findings.stream_end import StreamEnd
from netlab.findings.stream_limits import stood_for_cpu
from netlab.results.tcp_series import TcpSeries

CEILING = 94.148e6


def series(rates: Sequence[float]) -> TcpSeries:
    """A point every 10 ms; Mbit/s between them."""
    delivered = accumulate((round(rate * 1e6 * 0.01 / 8) for rate in rates), initial=0)
    return TcpSeries(
        time_us=range(0, 10_000 * len(rates) + 1, 10_000), delivered_bytes=[*delivered]
    )


def paused(random: Random, rate: float, share: float) -> list[float]:
    """Data stands still for so much of each tenth of a second, at some point in it."""
    rates = []
    for _ in range(10):
        still = round(10 * share)
        at = random.randint(0, 10 - still)
        rates += [0.0 if at <= step < at + still else rate for step in range(10)]
    return rates


@pytest.mark.parametrize("share", [0.0, 0.2, 0.4])
def test_pauses_of_a_tcp_stream_do_not_lower_its_plateau(share: float) -> None:
    for seed in seeds(10, 200):
        random = Random(seed)  # noqa: S311  (can be repeated)
        rates = [rate * random.uniform(0.995, 1.005) for rate in paused(random, 60.0, share)]
        assert plateau_bit_per_s(series(rates)) == pytest.approx(60e6, rel=0.01)


def test_a_tcp_series_without_a_prevailing_rate_has_no_plateau() -> None:
    for seed in seeds(10, 200):
        random = Random(seed)  # noqa: S311  (can be repeated)
        assert plateau_bit_per_s(series([random.uniform(20, 90) for _ in range(100)])) is None
    assert plateau_bit_per_s(series([60.0] * 12)) is None
    assert plateau_bit_per_s(series([0.0] * 100)) is None
    assert plateau_bit_per_s(None) is None
    assert plateau_bit_per_s(TcpSeries(time_us=range(100))) is None


def test_the_rate_of_a_plateau_is_computed_over_steps_of_15_ms() -> None:
    times = range(0, 150_001, 15_000)
    ten_steps = TcpSeries(time_us=times, delivered_bytes=[time * 75 // 10 for time in times])
    assert plateau_bit_per_s(ten_steps) == pytest.approx(60e6, rel=1e-9)


def waiting(share: float, host: str = "b") -> StreamEnd:
    return changed(IDLE, host=host, run_queue_delay_ns=round(share * 1e9))


def trials(plateau: float, throughputs: Iterable[float], **more: StreamEnd) -> list[StreamSample]:
    """TCP at these shares of its ceiling, with this plateau; it has data while its sender has a
    CPU."""
    waited_us = (more.get("sender", IDLE).run_queue_delay_ns or 0) // 1000
    account = changed(ACCOUNT, busy_us=1_000_000 - waited_us)
    return [
        changed(
            stream("TCP", 1448, number, share * CEILING, tcp=account, **more),
            plateau_bit_per_s=plateau * CEILING,
        )
        for number, share in enumerate(throughputs, 1)
    ]


def test_the_gap_to_the_plateau_is_the_share_of_time_without_data() -> None:
    (sample,) = trials(0.9, [0.72], receiver=waiting(0.18))
    assert sample.plateau_gap_share == pytest.approx(0.2)
    assert sample.flowing_bit_per_s == pytest.approx(0.9 * CEILING)
    assert stood_for_cpu(sample)
    assert not stood_for_cpu(changed(sample, receiver=waiting(0.17)))
    quarter = changed(sample, throughput_bit_per_s=6e7, plateau_bit_per_s=8e7)
    assert stood_for_cpu(changed(quarter, receiver=waiting(0.225)))
    (steady,) = trials(0.9, [0.89], receiver=waiting(0.15))
    assert (steady.plateau_gap_share, stood_for_cpu(steady)) == (0.0, False)
    assert steady.flowing_bit_per_s == steady.throughput_bit_per_s


@pytest.mark.parametrize(
    ("end", "kind"),
    [("sender", Kind.CPU_WAIT_SENDER_PROGRAMS), ("receiver", Kind.CPU_WAIT_RECEIVER_PROGRAMS)],
)
def test_pauses_with_cpu_waits_in_a_stream_at_full_rate_are_reported_as_a_starved_host(
    end: str, kind: Kind
) -> None:
    """All trials at one rate, as behind a link of 90 %."""
    (finding,) = limits(trials(1.0, [0.9, 0.9, 0.9], **{end: waiting(0.14)}))
    assert (finding.kind, len(finding.trials)) == (kind, 3)


def test_if_a_slower_link_and_cpu_waits_both_cost_throughput_the_larger_cost_is_named() -> None:
    (link,) = limits(trials(0.6, [0.56, 0.55, 0.54], receiver=waiting(0.14)))
    assert link.kind is Kind.RATE_LIMIT_EITHER
    assert link.evidence["rate_limit_bit_per_s"] == pytest.approx(60e6, rel=0.002)
    (cpu,) = limits(trials(0.9, [0.56, 0.55, 0.54], receiver=waiting(0.44)))
    assert cpu.kind is Kind.CPU_WAIT_RECEIVER_PROGRAMS


def test_pauses_without_a_known_reason_give_no_slower_link_finding() -> None:
    kinds = {finding.kind for finding in limits(trials(0.9, [0.7, 0.7, 0.7]))}
    assert kinds == {Kind.NOT_DETERMINED}


def test_equal_cpu_waits_of_all_udp_trials_are_a_starved_sender_and_no_slower_link() -> None:
    def made(*waits: float) -> set[Kind]:
        samples = [
            stream("UDP", 1472, number, 0.907 * 95.7e6, sender=waiting(wait))
            for number, wait in enumerate(waits, 1)
        ]
        return {finding.kind for finding in limits(samples)}

    assert made(0.126, 0.130, 0.134) == {Kind.CPU_WAIT_SENDER_PROGRAMS}
    assert made(0.05, 0.02, 0.134) == {Kind.RATE_LIMIT_EITHER}
