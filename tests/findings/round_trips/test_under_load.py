"""Findings report the effects of a full path on round trips."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from made_findings import run_of
from made_readings import failure, plan_of, planned, result

from netlab.ethernet import Link
from netlab.findings.finding import Finding, Kind
from netlab.report.text.findings import RunIndex, sentence
from netlab.trial.record import Value

MS = 1_000_000
LINK = Link(1e8, 1500)
CEILING = 1e8 * 1448 / 1538
"""TCP with timestamps: payload of a full segment in a frame of 1538 bytes on the wire."""
KINDS = {
    *(Kind.QUEUE_UNDER_LOAD_NOT_FULL, Kind.QUEUE_UNDER_LOAD_STANDING, Kind.QUEUE_UNDER_LOAD_NONE),
    Kind.REQUESTS_LOST_UNDER_LOAD,
}


def trial(
    idle_ms: float | None = 10.0,
    loaded_ms: float | None = 10.0,
    share: float = 0.97,
    loaded_losses: int = 0,
    idle_losses: int = 0,
    **more: Value,
) -> dict[str, Value]:
    """A trial with 500 idle and 2500 loaded requests; ``None``: this median is missing."""
    values: dict[str, Value] = {
        "same_host": False,
        "tcp_timestamps": True,
        "throughput_bit_per_s": share * CEILING,
        **{"idle_rtt_count": 500, "idle_lost_messages": idle_losses},
        **{"loaded_rtt_count": 2500, "loaded_lost_messages": loaded_losses},
    }
    if idle_ms is not None:
        values["idle_rtt_p50_ns"] = round(idle_ms * MS)
    if loaded_ms is not None:
        values |= {
            "loaded_rtt_p50_ns": round(loaded_ms * MS),
            "loaded_rtt_p99_ns": round(1.5 * loaded_ms * MS),
        }
    if idle_ms is not None and loaded_ms is not None:
        values["increase_ns"] = round(loaded_ms * MS) - round(idle_ms * MS)
    return values | more


def findings_of(
    *trials: Mapping[str, Value], link: Link | None = LINK, **settings: Any
) -> dict[Kind, tuple[Finding, str]]:
    """The findings of one cell: kind → finding (at most one) and its sentence."""
    cell = planned("latency_under_load", protocol="TCP", message_bytes=1448, **settings)
    records = [result(cell, number, values) for number, values in enumerate(trials, 1)]
    run = run_of(plan_of([cell], len(trials), link=link), records)
    of_kinds = [finding for finding in run.findings if finding.kind in KINDS]
    assert len({finding.kind for finding in of_kinds}) == len(of_kinds)
    return {finding.kind: (finding, str(sentence(finding, RunIndex(run)))) for finding in of_kinds}


# ---- one example each ----


def test_a_load_below_the_capacity_of_the_path_is_reported_with_its_share() -> None:
    ((kind, (finding, text)),) = findings_of(trial(share=0.5)).items()
    assert (kind, finding.severity, finding.group.flow) == (
        Kind.QUEUE_UNDER_LOAD_NOT_FULL,
        "warning",
        "",
    )
    assert finding.evidence["load_share"] == pytest.approx(0.5)
    assert finding.evidence["throughput_bit_per_s"] == pytest.approx(CEILING / 2)
    assert "the load was 47.07 Mbit/s, only 50 % of what the path carries" in text


def test_a_standing_queue_under_load_is_reported_in_time_and_in_bytes() -> None:
    """123 ms at 20 Mbit/s are 200 frames of 1538 bytes; their payload is 200 segments of 1448."""
    rate = 2e7 * 1448 / 1538
    values = trial(2.0, 125.0, throughput_bit_per_s=rate)
    ((kind, (finding, text)),) = findings_of(values, link=Link(2e7, 1500)).items()
    assert (kind, finding.severity) == (Kind.QUEUE_UNDER_LOAD_STANDING, "note")
    assert finding.evidence["queue_bytes"] == pytest.approx(200 * 1448, rel=0.004)
    assert "round trip grew from 2 ms to 120 ms (99th percentile 190 ms)" in text
    assert "283 KiB of payload wait on the path" in text


def test_with_load_in_both_directions_a_standing_queue_is_reported_without_its_bytes() -> None:
    rates: dict[str, Value] = {
        "to_server_throughput_bit_per_s": 0.95 * CEILING,
        "to_client_throughput_bit_per_s": 0.90 * CEILING,
        "to_server_tcp_timestamps": True,
        "to_client_tcp_timestamps": True,
    }
    values = {n: v for n, v in trial(2.0, 125.0).items() if n != "throughput_bit_per_s"} | rates
    ((kind, (finding, text)),) = findings_of(values, direction="both").items()
    assert kind is Kind.QUEUE_UNDER_LOAD_STANDING
    assert "queue_bytes" not in finding.evidence
    assert text.endswith("round trip grew from 2 ms to 120 ms.")


def test_with_load_in_both_directions_the_faster_direction_decides_if_the_path_was_full() -> None:
    def of(to_server: float, to_client: float) -> set[Kind]:
        values = {n: v for n, v in trial().items() if n != "throughput_bit_per_s"}
        values |= {
            "to_server_throughput_bit_per_s": to_server * CEILING,
            "to_client_throughput_bit_per_s": to_client * CEILING,
        }
        return {*findings_of(values, direction="both")}

    assert of(0.95, 0.2) == of(0.2, 0.95) == {Kind.QUEUE_UNDER_LOAD_NONE}
    assert of(0.6, 0.7) == {Kind.QUEUE_UNDER_LOAD_NOT_FULL}


def test_a_full_path_without_a_standing_queue_is_reported_as_a_note() -> None:
    ((kind, (finding, text)),) = findings_of(trial(10.0, 11.0)).items()
    assert (kind, finding.severity) == (Kind.QUEUE_UNDER_LOAD_NONE, "note")
    assert "the median round trip is 11 ms under load, 10 ms before the load" in text


def test_requests_lost_under_load_are_reported_with_the_requests_lost_before_the_load() -> None:
    findings = findings_of(trial(2.0, 60.0, loaded_losses=250, idle_losses=1))
    assert findings.keys() == {Kind.QUEUE_UNDER_LOAD_STANDING, Kind.REQUESTS_LOST_UNDER_LOAD}
    finding, text = findings[Kind.REQUESTS_LOST_UNDER_LOAD]
    assert finding.evidence["lost_requests_share"] == pytest.approx(0.1)
    assert "250 of 2500 requests were lost under load (10 %), and 1 of 500 before the load" in text


# ---- thresholds ----


@pytest.mark.parametrize(
    ("idle_ms", "loaded_ms", "stands"),
    [
        (1.0, 5.999999, False),
        (1.0, 6.0, True),
        (10.0, 14.999999, False),  # both lines at once: half of 10 ms
        (10.0, 15.0, True),
        (100.0, 149.999999, False),
        (100.0, 150.0, True),
        (100.0, 106.0, False),
        (10.0, 9.0, False),
    ],
)
def test_a_standing_queue_adds_at_least_5_ms_and_half_of_the_idle_round_trip(
    idle_ms: float, loaded_ms: float, *, stands: bool
) -> None:
    full, below = (findings_of(trial(idle_ms, loaded_ms, share)) for share in (0.97, 0.6))
    assert full.keys() == {Kind.QUEUE_UNDER_LOAD_STANDING if stands else Kind.QUEUE_UNDER_LOAD_NONE}
    assert below.keys() == {
        Kind.QUEUE_UNDER_LOAD_STANDING if stands else Kind.QUEUE_UNDER_LOAD_NOT_FULL
    }


def test_a_load_of_nine_tenths_of_the_ceiling_fills_the_path() -> None:
    """144.8 Mbit/s are the ceiling of a link of 153.8 Mbit/s; nine tenths are 130.32 Mbit/s."""
    link = Link(153_800_000, 1500)
    rates = (130_320_000, 130_319_999)
    kinds = [{*findings_of(trial(throughput_bit_per_s=rate), link=link)} for rate in rates]
    assert kinds == [{Kind.QUEUE_UNDER_LOAD_NONE}, {Kind.QUEUE_UNDER_LOAD_NOT_FULL}]


@pytest.mark.parametrize(
    ("loaded_losses", "idle_losses", "presence"),
    [
        (4, 0, False),
        (5, 0, True),
        (49, 1, False),  # 1 of 500 is 0.2 %: ten times that are 50 of 2500
        (50, 1, True),
        (500, 10, True),
        (499, 10, False),
        (2500, 50, True),
        (2500, 51, False),
    ],
)
def test_losses_under_load_are_reported_from_5_losses_and_10_times_the_share_before_the_load(
    loaded_losses: int, idle_losses: int, *, presence: bool
) -> None:
    findings = findings_of(trial(loaded_losses=loaded_losses, idle_losses=idle_losses))
    assert (Kind.REQUESTS_LOST_UNDER_LOAD in findings) is presence


@given(
    idle_us=st.integers(100, 300_000),
    increase_us=st.integers(-50_000, 400_000) | st.integers(4_900, 5_100),
    share=st.floats(0.05, 0.999) | st.floats(0.89, 0.91),
    loaded_losses=st.integers(0, 2500) | st.integers(0, 10),
    idle_losses=st.integers(0, 500) | st.integers(0, 3),
    link=st.booleans(),
)
def test_random_trials_under_load_have_each_finding_exactly_if_its_rule_holds(
    *,
    idle_us: int,
    increase_us: int,
    share: float,
    loaded_losses: int,
    idle_losses: int,
    link: bool,
) -> None:
    loaded_us = max(1, idle_us + increase_us)
    values = trial(idle_us / 1000, loaded_us / 1000, share, loaded_losses, idle_losses)
    stands = loaded_us - idle_us >= 5000 and 2 * (loaded_us - idle_us) >= idle_us
    kinds = set()
    if stands:
        kinds.add(Kind.QUEUE_UNDER_LOAD_STANDING)
    elif link:
        kinds.add(Kind.QUEUE_UNDER_LOAD_NONE if share >= 0.9 else Kind.QUEUE_UNDER_LOAD_NOT_FULL)
    if loaded_losses >= 5 and loaded_losses * 500 >= 10 * idle_losses * 2500:
        kinds.add(Kind.REQUESTS_LOST_UNDER_LOAD)
    # Exactly at the threshold, the ceiling's last digit decides.
    if abs(share - 0.9) > 1e-9:
        assert findings_of(values, link=LINK if link else None).keys() == kinds


# ---- missing values ----


def test_without_a_link_or_on_one_host_no_finding_states_if_the_path_was_full() -> None:
    assert findings_of(trial(share=0.5), link=None) == {}
    assert findings_of(trial(share=0.99), link=None) == {}
    assert findings_of(trial(share=0.5, same_host=True)) == {}
    assert findings_of(trial(2.0, 60.0), link=None).keys() == {Kind.QUEUE_UNDER_LOAD_STANDING}


@pytest.mark.parametrize("share", [0.5, 0.97])
@pytest.mark.parametrize(("idle_ms", "loaded_ms"), [(10.0, None), (None, 10.0), (None, None)])
def test_a_missing_median_round_trip_gives_no_queue_finding(
    share: float, idle_ms: float | None, loaded_ms: float | None
) -> None:
    """A path that loses more than half of the requests has no room left."""
    findings = findings_of(trial(idle_ms, loaded_ms, share, loaded_losses=1400))
    assert findings.keys() == {Kind.REQUESTS_LOST_UNDER_LOAD}


@pytest.mark.parametrize("name", ["idle_rtt_count", "loaded_rtt_count"])
def test_without_requests_before_the_load_or_under_it_losses_are_not_reported(name: str) -> None:
    values = trial(loaded_losses=100) | {name: 0}
    assert Kind.REQUESTS_LOST_UNDER_LOAD not in findings_of(values)


# ---- several trials ----


def test_a_cell_has_a_queue_finding_only_if_more_than_half_of_its_trials_show_a_queue() -> None:
    queue_trial, flat_trial = trial(2.0, 60.0), trial(2.0, 2.5)
    findings = findings_of(queue_trial, queue_trial, flat_trial)
    assert findings.keys() == {Kind.QUEUE_UNDER_LOAD_STANDING}
    finding, text = findings[Kind.QUEUE_UNDER_LOAD_STANDING]
    assert [number for _, number in finding.trials] == [1, 2]
    assert "in 2 of 3 trials: under load the median round trip grew from 2 ms to 60 ms" in text
    assert findings_of(queue_trial, flat_trial) == {}


def test_the_figures_of_a_queue_finding_are_medians_of_the_trials_that_show_the_queue() -> None:
    findings = findings_of(*(trial(2.0, loaded_ms) for loaded_ms in (40.0, 60.0, 90.0, 2.1)))
    finding, _ = findings[Kind.QUEUE_UNDER_LOAD_STANDING]
    assert finding.evidence["loaded_rtt_ns"] == 60 * MS
    assert (finding.evidence["trials"], finding.evidence["of_trials"]) == (3, 4)


def test_failed_trials_under_load_do_not_count_for_a_finding() -> None:
    cell = planned("latency_under_load", protocol="TCP", message_bytes=1448)
    records = [result(cell, 1, trial(2.0, 60.0)), failure(cell, 2), failure(cell, 3)]
    run = run_of(plan_of([cell], 3, link=LINK), records)
    (only,) = [finding for finding in run.findings if finding.kind in KINDS]
    assert (only.evidence["trials"], only.evidence["of_trials"]) == (1, 1)
    run = run_of(plan_of([cell], 3, link=LINK), [failure(cell, 1)])
    assert not [finding for finding in run.findings if finding.kind in KINDS]


def test_findings_under_load_are_named_by_the_setting_that_differs_between_cells() -> None:
    cells = [
        planned("latency_under_load", protocol="TCP", message_bytes=1448, congestion=word)
        for word in ("bbr", "cubic")
    ]
    records = [result(cells[0], 1, trial(2.0, 3.0)), result(cells[1], 1, trial(2.0, 90.0))]
    run = run_of(plan_of(cells, 1, link=LINK), records)
    findings = [finding for finding in run.findings if finding.kind in KINDS]
    assert {(finding.kind, finding.cells, finding.group.conditions) for finding in findings} == {
        (Kind.QUEUE_UNDER_LOAD_STANDING, (cells[1].key,), (("congestion", "cubic"),)),
        (Kind.QUEUE_UNDER_LOAD_NONE, (cells[0].key,), (("congestion", "bbr"),)),
    }


def test_streams_and_round_trip_tests_have_no_findings_about_latency_under_load() -> None:
    for test in ("stream", "round_trip"):
        cell = planned(test, protocol="TCP", message_bytes=1448)
        run = run_of(
            plan_of([cell], 1, link=LINK), [result(cell, 1, trial(2.0, 90.0, loaded_losses=99))]
        )
        assert not [finding for finding in run.findings if finding.kind in KINDS]


def test_the_bytes_of_a_standing_queue_are_rounded_to_the_nearest_kib() -> None:
    """At 12,288 bit/s, 1000 ms are 1.5 KiB, 333 ms are 511 bytes and 341.34 ms are 524 bytes."""
    queues = [
        findings_of(trial(10, loaded_ms, throughput_bit_per_s=12_288), link=None)[
            Kind.QUEUE_UNDER_LOAD_STANDING
        ][0].evidence
        for loaded_ms in (1010, 1009.99999, 343, 351.34)
    ]
    assert [queue.get("queue_bytes") for queue in queues] == [2048, 1024, None, 1024]


# ---- round trips that other traffic delays ----


def test_round_trips_that_others_delay_before_the_load_are_told_if_a_shorter_one_is_known() -> None:
    """In a queue of others: 41 ms before the load, 42 ms under it, but once 1.2 ms."""
    trips: dict[str, Value] = {"trip_ns": [41 * MS, 1_200_000, 42 * MS]}
    ((kind, (finding, text)),) = findings_of(trial(41.0, 42.0) | trips).items()
    assert kind is Kind.QUEUE_UNDER_LOAD_NONE
    assert (finding.evidence["unloaded_rtt_ns"], finding.evidence["shortest_rtt_ns"]) == (
        41 * MS,
        1_200_000,
    )
    assert "something else delays round trips: they took 41 ms without the load" in text
    assert "and at least 1.2 ms" in text
    # 41 ms of distance and a queue of 41 ms look alike: only what the load adds is stated.
    ((kind, (finding, text)),) = findings_of(trial(41.0, 42.0)).items()
    assert kind is Kind.QUEUE_UNDER_LOAD_NONE
    assert "the load fills the path and adds no significant queue" in text
    assert "nothing to do" not in finding.advice
    ((_, (_, text)),) = findings_of(trial(41.0, 42.0, share=0.5) | trips).items()
    assert "only 50 % of what the path carries, but something else delays round trips" in text
    ((_, (_, text)),) = findings_of(trial(41.0, 90.0) | trips).items()
    assert "was 90 ms under load, but something else delays it, too: 41 ms without the load" in text


def test_round_trips_that_stay_long_after_the_load_are_not_attributed_to_it() -> None:
    after: dict[str, Value] = {"after_rtt_p50_ns": 39 * MS, "trip_ns": [2 * MS]}
    ((kind, (finding, text)),) = findings_of(trial(2.0, 41.0) | after).items()
    assert kind is Kind.QUEUE_UNDER_LOAD_NONE
    assert "something else delays round trips: they took 39 ms without the load" in text
    after = {"after_rtt_p50_ns": 2 * MS}
    ((kind, (finding, _)),) = findings_of(trial(2.0, 41.0) | after).items()
    assert kind is Kind.QUEUE_UNDER_LOAD_STANDING
    assert finding.evidence["idle_rtt_ns"] == 2 * MS


def test_the_shortest_round_trip_may_be_of_another_test_with_messages_of_the_same_length() -> None:
    loaded = planned("latency_under_load", protocol="TCP", message_bytes=1448, request_bytes=64)
    for size, response, known in (
        (64, None, True),
        (64, 64, True),
        (64, 9000, False),
        (32, None, False),
    ):
        trip = planned("round_trip", protocol="UDP", message_bytes=size, response_bytes=response)
        records = [result(loaded, 1, trial(41.0, 42.0)), result(trip, 1, {"rtt_min_ns": MS})]
        run = run_of(plan_of([loaded, trip], 1, link=LINK), records)
        (finding,) = (finding for finding in run.findings if finding.kind in KINDS)
        assert ("shortest_rtt_ns" in finding.evidence) is known, (size, response)


@pytest.mark.parametrize(
    ("protocol", "share", "bytes_known"),
    [("TCP", 0.97, True), ("TCP", 0.5, False), ("UDP", 0.5, True)],
)
def test_over_tcp_only_a_load_that_fills_the_path_has_a_queue_of_so_many_bytes(
    protocol: str, share: float, *, bytes_known: bool
) -> None:
    """Otherwise its acknowledgements may wait, on a slow or full way back."""
    cell = planned("latency_under_load", protocol=protocol, message_bytes=1448)
    run = run_of(plan_of([cell], 1, link=LINK), [result(cell, 1, trial(2.0, 60.0, share))])
    (finding,) = (finding for finding in run.findings if finding.kind in KINDS)
    assert finding.kind is Kind.QUEUE_UNDER_LOAD_STANDING
    assert ("queue_bytes" in finding.evidence) is bytes_known


@given(
    distance_us=st.integers(50, 200_000),
    others_us=st.just(0) | st.integers(5_000, 400_000),
    own_us=st.just(0) | st.integers(5_000, 400_000),
    share=st.floats(0.2, 0.999),
    seen=st.booleans(),
)
def test_in_drawn_queues_no_queue_of_others_is_called_none_and_no_growth_is_made_up(
    *, distance_us: int, others_us: int, own_us: int, share: float, seen: bool
) -> None:
    """``seen``: one round trip found the queue of others empty."""
    calm_us, trips = distance_us + others_us, [distance_us + (0 if seen else others_us)]
    values: dict[str, Value] = {"trip_ns": [1000 * us for us in trips]}
    values["after_rtt_p50_ns"] = 1000 * calm_us
    found = findings_of(trial(calm_us / 1000, (calm_us + own_us) / 1000, share) | values)
    ((kind, (finding, text)),) = found.items()
    stands = own_us >= max(5000, calm_us / 2)
    assert (kind is Kind.QUEUE_UNDER_LOAD_STANDING) is stands
    delayed = seen and others_us >= max(5000, distance_us / 2)
    assert ("something else delays" in text) is delayed
    assert "has no significant queue" not in text
    if "queue_bytes" in finding.evidence:
        own_bytes = own_us / 1e6 * share * CEILING / 8
        assert finding.evidence["queue_bytes"] == pytest.approx(own_bytes, abs=512)
