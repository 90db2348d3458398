"""Streams that a socket's memory holds back show the path's times: no queue of their own does."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import replace
from typing import Any

import pytest
from draws import chance, drawn
from made_samples import ACCOUNT, CEILING, IDLE, changed, tcp

from netlab.findings.derived import StreamSample
from netlab.findings.finding import Finding, Kind
from netlab.findings.path_times import path_times
from netlab.results.tcp_series import TcpSeries

HELD = changed(ACCOUNT, rwnd_limited_us=900_000)
WINDOW_BYTES = 65_535
STEP_US = 10_000


def series(rtts_us: Sequence[float], *, follows: bool = True) -> TcpSeries:
    """One window per round trip; or one rate whatever the round trip is."""
    delivered, each = 0.0, []
    for rtt_us in rtts_us:
        delivered += WINDOW_BYTES * STEP_US / (rtt_us if follows else 20_000)
        each.append(round(delivered))
    return TcpSeries(
        time_us=[STEP_US * at for at in range(len(each))],
        rtt_us=[round(rtt_us) for rtt_us in rtts_us],
        delivered_bytes=each,
    )


def at(rtts_us: Sequence[float], trial: int = 1, **changes: Any) -> StreamSample:
    follows = changes.pop("follows", True)
    settings = changes.pop("settings", {"protocol": "TCP"})
    sample = tcp(**({"tcp": HELD, "trial": trial} | changes))
    record = replace(sample.record, trial=trial, cell=sample.cell, settings=settings)
    return changed(sample, record=record, tcp_series=series(rtts_us, follows=follows))


def found(*samples: StreamSample) -> list[Finding]:
    return [*path_times((), samples, None)]


def kinds(samples: Iterable[StreamSample]) -> list[Kind]:
    return [finding.kind for finding in found(*samples)]


STEADY = [20_000.0] * 100
TWO = [30_000.0 if at % 20 < 10 else 20_000.0 for at in range(100)]


def test_a_path_that_is_longer_at_times_is_told_with_its_mean_and_its_shortest_time() -> None:
    (finding,) = found(at(TWO))
    assert (finding.kind, finding.severity) == (Kind.LONGER_PATH_TIMES, "note")
    mean = finding.evidence["longer_trip_ns"]
    assert mean == pytest.approx(24.7e6, rel=0.02)
    assert finding.evidence["other_trip_ns"] == 20e6
    assert finding.evidence["change_share"] == pytest.approx(1 - 20e6 / (mean or 1))


def test_drawn_jitter_of_a_path_is_told_as_it_and_a_steady_path_not_at_all() -> None:
    random = chance("paths")
    for _ in range(drawn(30, 300)):
        base_us, share = random.choice((5e3, 2e4, 8e4)), random.choice((0.2, 0.6))
        parts = (0.0, 0.3, 0.5, 0.7, 1.0)
        varying = [base_us * (1 + share * random.choice(parts)) for _ in range(100)]
        (finding,) = found(at(varying))
        assert finding.kind is Kind.PATH_JITTER
        beats = [base_us * (1 + 0.02 * random.random()) for _ in range(100)]
        assert found(at(beats)) == []


@pytest.mark.parametrize(
    ("changes", "told"),
    [
        ({"tcp": changed(HELD, busy_us=10**6, rwnd_limited_us=450_000)}, True),
        ({"tcp": changed(HELD, busy_us=10**6, rwnd_limited_us=449_000)}, False),
        ({"tcp": changed(ACCOUNT, busy_us=10**6, sndbuf_limited_us=450_000)}, True),
        ({"tcp": changed(ACCOUNT, rwnd_limited_us=250_000, sndbuf_limited_us=200_000)}, True),
        ({"flow": "to server"}, False),
        ({"sender": changed(IDLE, run_queue_delay_ns=20_000_000)}, True),
        ({"receiver": changed(IDLE, run_queue_delay_ns=21_000_000)}, False),
        ({"follows": False}, False),
        # Far below the ceiling: the times differ by 0.404 of their mean, more than the share.
        ({"follows": False, "throughput_bit_per_s": 0.40 * CEILING}, True),
        ({"follows": False, "throughput_bit_per_s": 0.41 * CEILING}, False),
    ],
)
def test_only_streams_that_a_socket_held_and_whose_rate_follows_the_round_trip_show_the_path(
    changes: dict[str, Any], told: bool
) -> None:
    assert kinds([at(TWO, **changes)]) == [Kind.LONGER_PATH_TIMES] * told


def test_a_window_of_its_own_data_that_waits_at_once_is_no_jitter() -> None:
    """Its rate is one whatever the round trips are, and they differ by no more than its data take
    on the wire.
    """
    random = chance("own bursts")
    for _ in range(drawn(30, 300)):
        filled, part = random.choice((0.1, 0.2, 0.4, 0.8)), random.choice((0.5, 0.9, 1.2, 2.0))
        base_us = random.choice((5e3, 2e4, 8e4))
        # Evenly spread, so that the range is a part of ``filled`` of the mean.
        spread = filled * part
        range_us = base_us * spread / (1 - spread / 2)
        steps = [base_us + range_us * at / 94 for at in range(95)]
        longest = [base_us + range_us] * 5  # not among the usual ones
        values = random.sample(steps, 95) + longest
        sample = at(values, follows=False, throughput_bit_per_s=filled * CEILING)
        assert kinds([sample]) == [Kind.PATH_JITTER] * (filled <= 0.5 and part > 1), (filled, part)


def test_streams_without_a_series_show_nothing() -> None:
    assert found(changed(at(TWO), tcp_series=None)) == []
    assert found(changed(at(TWO), tcp_series=TcpSeries(time_us=[0, 1], cwnd_bytes=[1, 2]))) == []


def test_a_path_that_is_longer_in_some_trials_or_for_some_packets_is_told_with_these() -> None:
    longer = [30_000.0] * 100
    (finding,) = found(at(STEADY, 1), at(STEADY, 2), at(longer, 3))
    assert (finding.kind, finding.trials) == (Kind.LONGER_PATH_TRIALS, (("a", 3),))
    assert finding.evidence["change_share"] == pytest.approx(1 / 3)
    both: dict[int, dict[str, Any]] = {
        version: {"settings": {"protocol": "TCP", "ip_version": version}, "cell": str(version)}
        for version in (4, 6)
    }
    (packets,) = found(at(STEADY, **both[4]), at(longer, **both[6]))
    assert (packets.kind, packets.trials) == (Kind.LONGER_PATH_PACKETS, (("6", 1),))


def test_trials_that_are_longer_by_far_more_than_they_vary_are_longer_as_a_whole() -> None:
    """Beside trials as short, which vary as much."""
    for step_us, kind in ((10_000.0, Kind.LONGER_PATH_TRIALS), (5_000.0, Kind.PATH_JITTER)):
        varying = [20_000.0 + 900 * (at % 5) for at in range(100)]
        longer = [rtt_us + step_us for rtt_us in varying]
        (finding,) = found(at(varying, 1), at(longer, 2), at(longer, 3))
        assert finding.kind is kind
    waits = {"receiver": changed(IDLE, run_queue_delay_ns=50_000_000)}
    (whole,) = found(at(STEADY, 1, **waits), at([30_000.0] * 100, 2))
    assert whole.kind is Kind.LONGER_PATH_TRIALS, "waits make no shortest time longer"


def test_the_shortest_time_of_all_trials_is_the_base_of_a_path_that_varies_in_one() -> None:
    """That of a path that is longer at times is the mean of its own short ones."""
    shorter = [16_000.0] * 100
    varying = [20_000.0 + 2_500 * (at % 5) for at in range(100)]
    for rtts_us, kind, base_ns in (
        (varying, Kind.PATH_JITTER, 16e6),
        (TWO, Kind.LONGER_PATH_TIMES, 20e6),
    ):
        (finding,) = found(at(rtts_us, 1), at(shorter, 2))
        assert (finding.kind, finding.trials) == (kind, (("a", 1),))
        assert finding.evidence["other_trip_ns"] == base_ns


def test_a_path_that_is_longer_for_a_few_of_the_samples_only_is_told_from_its_usual_time() -> None:
    """Of 95 usual samples, nine in ten take the shortest time."""
    (finding,) = found(at([20_000.0] * 89 + [50_000.0] * 11))
    assert finding.evidence["other_trip_ns"] == pytest.approx(20e6)
