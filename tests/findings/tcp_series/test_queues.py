"""Findings report queues of a stream's own data with the right size."""

from __future__ import annotations

from random import Random
from statistics import median
from typing import Any

import draws
import pytest
from made_samples import ACCOUNT, IDLE, changed, tcp
from made_tcp_series import MadePath, chance, flow

from netlab.findings.derived import StreamSample
from netlab.findings.finding import Kind
from netlab.findings.tcp_series import (
    STANDING_US,
    _at,
    queue_of,
    queues,
)
from netlab.findings.traffic import OtherTraffic
from netlab.report.text.findings import statement
from netlab.results.tcp_series import TcpSeries

PATH = MadePath(rate=5.0, base_us=10_000, room=100_000)  # 40 Mbit/s, up to 20 ms


def queue_bytes(sample: StreamSample) -> float | None:
    queue = queue_of(sample)
    return None if queue is None else queue["queue_bytes"]


def sample_of(
    series: TcpSeries | None, base_us: float | None = None, **changes: Any
) -> StreamSample:
    rate = 0.0
    if series is not None and series.delivered_bytes:
        rate = series.delivered_bytes[-1] * 8e6 / (series.time_us[-1] - series.time_us[0])
    defaults = {
        "throughput_bit_per_s": rate or 40e6,
        "tcp": changed(ACCOUNT, min_rtt_us=None if base_us is None else int(base_us)),
        "tcp_series": series,
    }
    return tcp(**(defaults | changes))


def random_path(draw: Random) -> MadePath:
    """A random path: 0.1 Mbit/s to 10 Gbit/s, local to around the world, with any queue."""
    rate = 10 ** draw.uniform(-1.5, 3)
    base_us = 10 ** draw.uniform(2, 5)
    return MadePath(rate=rate, base_us=base_us, room=rate * 10 ** draw.uniform(2, 5.5))


def test_in_random_flows_standing_queues_are_reported_with_their_size_within_15_percent() -> None:
    draw, number = draws.chance(20100117), draws.drawn(40, 400)
    reported = missed = wrong = 0
    for _ in range(number):
        path = random_path(draw)
        series = flow(path, draw)
        standing_us = median(series.rtt_us) - path.base_us
        highest_us = sorted(series.rtt_us)[int(0.95 * len(series.rtt_us))] - path.base_us
        threshold_us = max(STANDING_US, path.base_us / 2)
        queue = queue_of(sample_of(series, path.base_us))
        large = highest_us * path.rate > 2 * 15_000
        if queue is not None:
            reported += 1
            wrong += standing_us < 0.9 * threshold_us
            assert queue["queue_bytes"] == pytest.approx(highest_us * path.rate, rel=0.15)
        elif standing_us > 1.1 * threshold_us and large:
            missed += 1
    assert wrong == 0
    assert reported > number / 7
    assert missed <= reported / 10, (missed, reported)


@pytest.mark.parametrize("seed", draws.seeds(5, 60))
def test_a_round_trip_time_that_varies_independently_of_the_window_is_no_queue(seed: int) -> None:
    """As on a radio link, the delay varies independently of the congestion window, which allows
    more data in flight than the delay needs.
    """
    draw = chance(seed)
    quiet = flow(changed(PATH, room=1_000), draw)
    waves = [round(rtt + draw.choice((0, 8_000, 40_000)) + 6_000) for rtt in quiet.rtt_us]
    wide = [4 * cwnd for cwnd in quiet.cwnd_bytes]
    varied = changed(quiet, rtt_us=waves, cwnd_bytes=wide)
    assert queue_bytes(sample_of(varied, PATH.base_us)) is None


def test_a_window_too_small_for_the_round_trip_gives_no_queue_finding() -> None:
    narrow = flow(changed(PATH, window=30_000), chance(1))
    assert queue_of(sample_of(narrow, PATH.base_us)) is None
    # The data in flight would exceed the window, so the round trip is not that of the data.
    longer = changed(narrow, rtt_us=[60_000] * len(narrow.rtt_us))
    assert queue_of(sample_of(longer, PATH.base_us)) is None


def test_a_queue_of_constant_length_and_one_that_overflows_are_reported() -> None:
    steady = flow(changed(PATH, window=130_000), chance(1))
    queue = queue_of(sample_of(steady, PATH.base_us))
    assert queue is not None
    assert queue["queue_bytes"] == pytest.approx(80_000, rel=0.1)
    full = queue_of(sample_of(flow(PATH, chance(1)), PATH.base_us))
    assert full is not None


SERIES = flow(PATH, chance(7))


@pytest.mark.parametrize(
    "changes",
    [
        {"same_host": True},
        {"offered_bit_per_s": 30e6},
        {"imported": True},
        {"sender": changed(IDLE, steal_share=0.2)},
        {"receiver": changed(IDLE, steal_share=0.2)},
        {"tcp_series": None},
        {"tcp_series": changed(SERIES, cwnd_bytes=())},
        {"tcp_series": changed(SERIES, rtt_us=())},
        {"tcp_series": changed(SERIES, delivered_bytes=()), "streams": 2},
        {"tcp_series": flow(PATH, chance(7), 450_000)},
    ],
)
def test_a_stream_without_the_needed_tcp_series_has_no_queue_finding(
    changes: dict[str, Any],
) -> None:
    assert queue_bytes(sample_of(SERIES, PATH.base_us)) is not None
    assert queue_of(sample_of(SERIES, PATH.base_us, **changes)) is None


def test_without_delivered_bytes_the_queue_is_computed_from_the_throughput() -> None:
    """Windows, which has no shortest round trip of the window either; FreeBSD has none at all."""
    bare = changed(SERIES, delivered_bytes=(), retransmissions=(), rtt_us=(10_000, *SERIES.rtt_us))
    bare = changed(bare, time_us=(0, *(time + 1 for time in SERIES.time_us)))
    bare = changed(bare, cwnd_bytes=(MOST, *SERIES.cwnd_bytes))
    queue = queue_of(sample_of(bare, None, throughput_bit_per_s=40e6))
    assert queue is not None
    assert queue["queue_bytes"] == pytest.approx(100_000, rel=0.1)


MOST = max(SERIES.cwnd_bytes)


def test_a_queue_finding_counts_its_trials_and_reports_the_longest_queue() -> None:
    short = flow(changed(PATH, room=1_000), chance(3))
    longer = flow(changed(PATH, room=150_000), chance(3))
    trials = [
        sample_of(series, PATH.base_us, trial=number)
        for number, series in enumerate((SERIES, short, longer), start=1)
    ]
    small_sample = sample_of(short, PATH.base_us, cell="b", message_bytes=64)
    without = sample_of(None, cell="c", trial=9)
    (finding,) = queues([*trials, small_sample, without])
    assert finding.kind is Kind.QUEUE_ON_PATH
    assert finding.severity == "note"
    assert finding.trials == (("a", 1), ("a", 3))
    assert (finding.evidence["trials"], finding.evidence["of_trials"]) == (2, 3)
    assert finding.words["in_trials"] == "in 2 of 3 trials"
    assert finding.evidence["queue_bytes"] == pytest.approx(150_000, rel=0.1)


def round_trips(most_us: int = 35_000) -> list[int]:
    """50 round trips: shortest 20 ms, 10th percentile 28 ms, median 30 ms, 95th ``most_us``."""
    longer = [25_000] * 4 + [28_000] * 15 + [30_000] * 20 + [most_us] * 8 + [60_000] * 2
    return [*longer, 20_000]


def linear(last: int) -> list[int]:
    return [last * step // 49 for step in range(50)]


def at_thresholds(
    rtt_us: list[int] | None = None,
    cwnd_bytes: int = 24_000,
    length_us: int = 1_000_000,
    delivered_bytes: int | None = 1_000_000,
    **changes: Any,
) -> StreamSample:
    """50 samples over 1 s at 1 byte/µs: 15,000 bytes in the queue, and 1.25 windows in flight. The
    shortest round trip that the kernel recorded, 22 ms, is above the shortest of the series.
    """
    series = TcpSeries(
        time_us=[300_000 + time for time in linear(length_us)],
        cwnd_bytes=[cwnd_bytes] * 50,
        rtt_us=rtt_us or round_trips(),
        delivered_bytes=[] if delivered_bytes is None else linear(delivered_bytes),
    )
    stolen = {"sender": changed(IDLE, steal_share=0.05), "throughput_bit_per_s": 8e6}
    return sample_of(series, 22_000, **(stolen | changes))


def test_a_queue_exactly_at_every_threshold_is_reported_with_its_figures() -> None:
    rtts = {"least_rtt_us": 20_000, "half_rtt_us": 30_000, "most_rtt_us": 35_000}
    queue = {"queue_bytes": 15_000, **rtts}
    assert queue_of(at_thresholds()) == queue
    assert queue_of(at_thresholds(delivered_bytes=33)) == queue  # 0.99 bytes in flight
    many = at_thresholds(streams=100, throughput_bit_per_s=800e6)  # 1,500,000 bytes: 1,464.8 KiB
    (finding,) = queues([many])
    assert (finding.kind, finding.group, finding.cells) == (Kind.QUEUE_ON_PATH, many.group, ("a",))
    assert finding.trials == (("a", 1),)
    assert finding.evidence == {
        "queue_bytes": 1465 * 1024,
        "least_rtt_us": 20_000,
        "half_rtt_us": 30_000,
        "most_rtt_us": 35_000,
        "trials": 1,
        "of_trials": 1,
    }


@pytest.mark.parametrize(
    "changes",
    [
        {"length_us": 999_999, "cwnd_bytes": 24_001},
        {"cwnd_bytes": 23_999},
        {"delivered_bytes": 1_000_001},
        {"delivered_bytes": None, "throughput_bit_per_s": 80e9, "cwnd_bytes": 239_999_999},
        {"delivered_bytes": 0},
        {"rtt_us": round_trips(35_001)},  # neither steady nor with the window, which is constant
    ],
)
def test_a_queue_just_outside_one_threshold_is_not_reported(changes: dict[str, Any]) -> None:
    assert queue_of(at_thresholds(**changes)) is None


def test_a_round_trip_with_a_correlation_of_exactly_one_half_follows_the_window() -> None:
    """Deviations of (1, -1, 0) and (0, -1, 1) from the means: r = 1 / sqrt(2 x 2)."""
    series = TcpSeries(
        time_us=range(0, 51 * 20_000, 20_000),
        cwnd_bytes=[40_000, 20_000, 30_000] * 17,
        rtt_us=[30_000, 20_000, 40_000] * 17,
    )
    assert queue_bytes(sample_of(series, throughput_bit_per_s=8e6)) == 20_000
    apart = changed(series, cwnd_bytes=[40_000, 21_000, 29_000] * 17)  # r = 80 / sqrt(182 x 200)
    assert queue_bytes(sample_of(apart, throughput_bit_per_s=8e6)) is None


def test_a_percentile_of_few_round_trips_is_at_most_the_longest_of_them() -> None:
    trips = [10, 20, 30]
    assert [_at(trips, share) for share in (0, 0.1, 0.5, 0.95, 1)] == [10, 10, 20, 30, 30]


def against(host: str, *, receiving: bool) -> OtherTraffic:
    return OtherTraffic(host=host, receiving=receiving, bit_per_s=90e6, filled_share=0.99)


@pytest.mark.parametrize(
    ("changes", "words"),
    [
        ({"flow": "to client"}, "data went the other way, too"),
        (
            {"others": (against("b", receiving=False),)},
            "90 Mbit/s of other traffic went the other way at b",
        ),
        (
            {"others": (against("a", receiving=True),)},
            "90 Mbit/s of other traffic went the other way at a",
        ),
    ],
)
def test_with_data_the_other_way_the_growth_of_round_trips_is_not_called_its_own_data(
    changes: dict[str, Any], words: str
) -> None:
    """Then the acknowledgements may wait in the queue of the other direction."""
    ends = {"sender": changed(IDLE, host="a"), "receiver": changed(IDLE, host="b")}
    sample = sample_of(SERIES, PATH.base_us, **(ends | changes))
    (finding,) = queues(
        [sample_of(SERIES, PATH.base_us, trial=2, flow=sample.flow, **ends), sample]
    )
    assert "queue_bytes" not in finding.evidence
    text = statement(finding)
    assert f", and {words}: whose data waited is not known" in text
    assert "own data" not in text


def test_other_traffic_in_the_direction_of_the_data_leaves_own_data_in_the_queue() -> None:
    ends = {"sender": changed(IDLE, host="a"), "receiver": changed(IDLE, host="b")}
    others = (against("a", receiving=False), against("b", receiving=True))
    (finding,) = queues([sample_of(SERIES, PATH.base_us, others=others, **ends)])
    assert finding.evidence["queue_bytes"] == pytest.approx(100_000, rel=0.1)
    assert "of its own data waited in a queue on the path" in statement(finding)
