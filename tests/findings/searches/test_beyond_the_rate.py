"""Findings about rate searches report the overload and the bursts of a device."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace

import pytest
from made_findings import plan_of, run_of
from made_searches import Truth, cell_of, searched, seeded

from netlab.findings.finding import Finding, Kind
from netlab.report.text.findings import RunIndex, sentence
from netlab.trial.record import Value

KINDS = {
    *(Kind.FRAME_LOSS_OVERLOAD, Kind.FRAME_LOSS_STEADY, Kind.FRAME_LOSS_OWN_HOSTS),
    *(Kind.BACK_TO_BACK_DEVICE, Kind.BACK_TO_BACK_OWN_HOSTS),
}


def findings_of(
    more: Mapping[str, Value], ways: str = "client-sends", trials: int = 1
) -> list[tuple[Finding, str]]:
    """The findings of searches that found about 148,800 frames/s at 64 bytes."""
    cell = cell_of(64, direction=ways)
    random, truth = seeded(2), Truth(device_frames=148_800)
    records = [searched(truth, cell, trial, random) for trial in range(1, trials + 1)]
    altered_records = [replace(record, values={**record.values, **more}) for record in records]
    run = run_of(plan_of([cell], repeats=trials), altered_records)
    return [
        (finding, str(sentence(finding, RunIndex(run))))
        for finding in run.findings
        if finding.kind in KINDS
    ]


def losses(received_per_s: int, verdict: int = 1, ways: int = 1) -> dict[str, Value]:
    """The loss values of two rates: the line rate and a tenth of it."""
    return {
        "loss_line_share": [1.0, 0.1],
        "loss_duration_s": [2.0, 2.0],
        "loss_sent_frames": [2 * ways * 1_488_095, 2 * ways * 148_000],
        "loss_received_frames": [2 * ways * received_per_s, 2 * ways * 148_000],
        "loss_own_drops": [0, 0],
        "loss_queue_ns": [0, 0],
        "loss_verdict": [verdict, 0],
    }


@pytest.mark.parametrize("ways", ["client-sends", "both"])
def test_a_device_that_forwards_less_under_overload_has_an_overload_finding(ways: str) -> None:
    ((finding, text),) = findings_of(losses(60_000, ways=2 if ways == "both" else 1), ways)
    assert finding.kind is Kind.FRAME_LOSS_OVERLOAD
    assert (
        "at a higher offered rate it forwards 60,000/s of 1,488,095/s at 64 bytes (141,369/s"
        in text
    )


def test_a_device_that_forwards_a_constant_rate_under_overload_has_a_loss_finding() -> None:
    ((finding, text),) = findings_of(losses(148_000))
    assert finding.kind is Kind.FRAME_LOSS_STEADY
    assert "keeps forwarding at that rate: 90.1 % of 1,488,095/s at 64 bytes" in text


@pytest.mark.parametrize("verdict", [3, 4])
def test_loss_in_the_measuring_hosts_is_not_attributed_to_the_device(verdict: int) -> None:
    ((finding, text),) = findings_of(losses(60_000, verdict))
    assert (finding.kind, finding.severity) == (Kind.FRAME_LOSS_OWN_HOSTS, "warning")
    assert "at 100 % of the line rate" in text


def test_the_longest_burst_is_reported_with_its_queued_frames() -> None:
    more: dict[str, Value] = {
        "back_to_back_limit": "device",
        "back_to_back_frames": 222.5,
        "back_to_back_waiting_frames": 200.1,
    }
    ((finding, text),) = findings_of(more, trials=2)
    assert finding.kind is Kind.BACK_TO_BACK_DEVICE
    assert (
        "a burst of 222 frames of 64 bytes (200 of them queued in the device) at line rate" in text
    )


def test_a_device_that_loses_frames_of_the_shortest_burst_forwards_bursts_of_0_frames() -> None:
    more: dict[str, Value] = {
        "back_to_back_limit": "device",
        "back_to_back_frames": 0.0,
        "back_to_back_waiting_frames": 0.0,
    }
    ((finding, text),) = findings_of(more)
    assert (finding.kind, finding.evidence) == (Kind.BACK_TO_BACK_DEVICE, {"burst_frames": 0.0})
    assert "a burst of 0 frames of 64 bytes (0 of them queued in the device)" in text


@pytest.mark.parametrize("limit", ["generator-bound", "receiver-bound", "failed"])
def test_a_burst_limited_by_the_measuring_hosts_is_a_warning_about_these_hosts(limit: str) -> None:
    ((finding, _),) = findings_of({"back_to_back_limit": limit})
    assert (finding.kind, finding.severity) == (Kind.BACK_TO_BACK_OWN_HOSTS, "warning")


def test_a_device_that_forwards_bursts_at_line_rate_has_no_finding() -> None:
    assert findings_of({"back_to_back_limit": "line rate"}) == []
