"""Stops name the path only if both hosts ran, and pauses a host only if it had a CPU."""

from __future__ import annotations

from collections.abc import Mapping

import pytest
from made_findings import plan_of, run_of
from made_runs import made_cell, made_record

from netlab.findings.analysis import Analysis
from netlab.findings.finding import Finding, Kind
from netlab.findings.over_time import delayed_trials, stopped
from netlab.report.text.findings import statement
from netlab.trial.record import Value

MS, SECOND = 1_000_000, 1_000_000_000
PATH = "both hosts ran, so something on the path stopped them"


def run(*trials: Mapping[str, Value], **settings: Value) -> Analysis:
    cell = made_cell()
    cell = type(cell)(cell.key, cell.pairing, cell.test, {**cell.settings, **settings})
    plain: dict[str, Value] = {"throughput_bit_per_s": 9e7, "same_host": False}
    records = [
        made_record(cell, number, values={**plain, **values})
        for number, values in enumerate(trials, 1)
    ]
    return run_of(plan_of([cell], repeats=len(trials)), records)


# ---- data that stopped ---------------------------------------------------------------------------


def stop(sender_ms: float | None, receiver_ms: float | None, **more: Value) -> dict[str, Value]:
    """A window of two seconds without data for one; how long the processes did not run."""
    values: dict[str, Value] = {
        "elapsed_ns": 2 * SECOND,
        "receiver_gaps": [500 * MS, SECOND],
        "receiver_gap_count": 1,
        "receiver_gap_total_ns": SECOND,
        **more,
    }
    for end, stalled_ms in (("sender", sender_ms), ("receiver", receiver_ms)):
        if stalled_ms is not None:
            values[f"{end}_stalled_ns"] = round(stalled_ms * MS)
    return values


@pytest.mark.parametrize(
    ("sender_ms", "receiver_ms", "of_path"),
    [
        (0, 0, True),
        (30, 30, True),  # three hundredths of the stop
        (31, 0, False),
        (0, 31, False),
        (0, None, False),
        (None, None, False),
    ],
)
def test_data_that_stopped_while_both_processes_ran_were_stopped_on_the_path(
    sender_ms: float | None, receiver_ms: float | None, of_path: bool
) -> None:
    (finding,) = stopped(run(stop(sender_ms, receiver_ms)))
    assert finding.kind is Kind.INTERRUPTION_FINAL
    assert finding.evidence["paused_share"] == 0.5
    assert (PATH in statement(finding)) is of_path
    assert finding.words.get("cause_place", "") == ("path" if of_path else "")


def test_the_path_is_not_named_if_one_trial_has_another_cause_and_shares_are_the_median() -> None:
    short = stop(0, 0, elapsed_ns=4 * SECOND)
    (finding,) = stopped(run(stop(0, 0), short, short))
    assert finding.evidence["paused_share"] == 0.25
    assert PATH in statement(finding)
    carrier = stop(0, 0, receiver_interface_carrier_changes=2)
    (other,) = stopped(run(stop(0, 0), carrier))
    assert PATH not in statement(other)


@pytest.mark.parametrize(
    ("later_ms", "where"),
    [
        ((499,), "path-back"),
        ((500,), "path"),
        ((10, 499), "path-back"),
        ((10, 500), "path"),
        ((10, None), "path"),
        ((None,), "path"),
    ],
)
def test_answers_were_stopped_on_their_way_if_no_request_came_half_as_late(
    later_ms: tuple[int | None, ...], where: str
) -> None:
    """In each trial the data stopped for one second."""
    trials = [
        stop(0, 0, **({} if ms is None else {"server_later_max_ns": ms * MS})) for ms in later_ms
    ]
    (finding,) = stopped(run(*trials))
    assert PATH in statement(finding)
    assert finding.words["cause_place"] == where


# ---- processes that did not run ------------------------------------------------------------------


def delays(**values: Value) -> list[Finding]:
    plain: dict[str, Value] = {"elapsed_ns": SECOND, "sender_elapsed_ns": SECOND}
    return [*delayed_trials(run({**plain, **values}), None)]


@pytest.mark.parametrize("wait", ["run_queue_delay_ns", "quota_throttled_ns"])
def test_pauses_of_a_process_that_had_no_cpu_for_half_of_them_are_told_elsewhere(wait: str) -> None:
    (finding,) = delays(sender_stalled_ns=100 * MS, **{f"sender_{wait}": 49 * MS})
    assert finding.kind is Kind.HOST_DELAY_PROCESS
    assert finding.evidence["costs_share"] == pytest.approx(0.1)
    for end in ("sender", "receiver"):
        assert delays(sender_stalled_ns=100 * MS, **{f"{end}_{wait}": 50 * MS}) == []


@pytest.mark.parametrize(
    ("end", "place"),
    [
        ("sender", "sender"),
        ("receiver", "receiver"),
        ("client", "sender"),
        ("server", "receiver"),
    ],
)
def test_a_process_that_did_not_run_has_its_place(end: str, place: str) -> None:
    (finding,) = delays(**{f"{end}_stalled_ns": 100 * MS, f"{end}_elapsed_ns": SECOND})
    assert finding.words["cause_place"] == place


def test_claims_of_pauses_and_stops_have_the_place_that_the_finding_knows() -> None:
    """A stop whose cause is not known has none."""
    paused_end: dict[str, Value] = {"elapsed_ns": SECOND, "receiver_stalled_ns": 100 * MS}
    for values, kind, place, share in (
        (paused_end, Kind.HOST_DELAY_PROCESS, "receiver", 0.1),
        (stop(0, 0), Kind.INTERRUPTION_FINAL, "path", 0.5),
        (stop(None, None), Kind.INTERRUPTION_FINAL, "", 0.5),
    ):
        (finding,) = (each for each in run(values).findings if each.kind is kind)
        assert finding.claim is not None
        assert (finding.claim.where, finding.claim.what) == (place, "pause")
        assert finding.claim.share == pytest.approx(share)


# ---- senders that are held -----------------------------------------------------------------------


def test_a_sender_below_its_rate_is_not_told_in_cells_whose_limit_is_known() -> None:
    values: dict[str, Value] = {
        "sender_elapsed_ns": SECOND,
        "sender_sent_messages_window": 450,
        "sender_skipped_messages": 413,
        "throughput_bit_per_s": 5e6,
    }
    slow = run(values, message_bytes=1448, rate_bit_per_s=1e7)
    (finding,) = delayed_trials(slow, None)
    assert finding.kind is Kind.OFF_RATE_LESS
    assert [*delayed_trials(slow, None, held=finding.cells)] == []
    assert [*delayed_trials(slow, None, held=("another",))] == [finding]
