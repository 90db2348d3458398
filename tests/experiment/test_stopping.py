"""The records of a cell alone decide how often the cell is measured."""

from __future__ import annotations

from collections.abc import Sequence

import pytest
from folders import FIXTURES
from hypothesis import given
from hypothesis import strategies as st
from made_runs import made_record

from netlab.ethernet import Link
from netlab.experiment.matrix import CellProgress, StealRule, StopRule, progress_of
from netlab.stats import precise
from netlab.store.reader import read
from netlab.trial.record import Record, Status, Value

UNTIL = StopRule(within=0.025, confidence=0.95, at_least=5, at_most=8)
STEADY = [100.0, 100.1, 99.9, 100.0, 100.1, 99.9, 100.0, 100.1]
FAILED: float | Status = Status.FAILED
WILD = [100.0, 150.0, 80.0, 120.0, 60.0, 140.0, 90.0, 110.0]


def records(
    values: Sequence[float | Status], name: str = "throughput_bit_per_s"
) -> dict[int, Record]:
    """A record a value, in the order of the trials; a status stands for a trial without one."""
    reasons = {
        Status.FAILED: "no-peer",
        Status.PENDING: "host-away",
        Status.IMPOSSIBLE: "no-buffers",
    }
    return {
        number: made_record(trial=number, status=value, reason=reasons[value])
        if isinstance(value, Status)
        else made_record(trial=number, values={name: value})
        for number, value in enumerate(values, start=1)
    }


def test_a_fixed_number_of_trials_is_never_judged_for_precision() -> None:
    assert progress_of(3, {}) == CellProgress(3, ended=True, precise=None)
    assert progress_of(3, records(WILD)) == CellProgress(3, ended=True, precise=None)


def test_a_cell_gets_its_smallest_number_of_trials_before_its_precision_is_judged() -> None:
    for count in range(5):
        assert progress_of(UNTIL, records(STEADY[:count])) == CellProgress(5, ended=False)


def test_a_precise_cell_ends_early_and_an_imprecise_cell_at_the_largest_number_of_trials() -> None:
    assert progress_of(UNTIL, records(STEADY[:5])) == CellProgress(5, ended=True, precise=True)
    for count in range(5, 8):
        assert progress_of(UNTIL, records(WILD[:count])) == CellProgress(count + 1, ended=False)
    assert progress_of(UNTIL, records(WILD)) == CellProgress(8, ended=True, precise=False)


def test_a_cell_ends_only_if_it_is_precise_after_two_trials_in_a_row() -> None:
    # Over four it is not tight, over five it is, over six as well.
    values = [94.2, 100.0, 100.0, 100.0, 100.0, 100.0]
    until = StopRule(within=0.035, confidence=0.95, at_least=5, at_most=8)
    assert not precise(values[:5], 0.035)
    assert progress_of(until, records(values[:5])) == CellProgress(6, ended=False)
    assert progress_of(until, records(values)) == CellProgress(6, ended=True, precise=True)


def test_trials_recorded_beyond_the_end_of_a_cell_are_counted() -> None:
    assert progress_of(UNTIL, records(STEADY)) == CellProgress(8, ended=True, precise=True)


def test_an_impossible_cell_ends_after_its_first_trial() -> None:
    assert progress_of(UNTIL, records([Status.IMPOSSIBLE])) == CellProgress(1, ended=True)


def test_a_cell_with_a_pending_trial_requests_no_further_trials() -> None:
    values: list[float | Status] = [*WILD[:5], Status.PENDING]
    assert progress_of(UNTIL, records(values)) == CellProgress(6, ended=False)
    assert progress_of(UNTIL, records([Status.PENDING] * 5)) == CellProgress(5, ended=False)


def test_failed_trials_count_as_trials_but_not_towards_the_precision() -> None:
    assert progress_of(UNTIL, records([FAILED] * 5)) == CellProgress(5, ended=False)
    assert progress_of(UNTIL, records([FAILED, *STEADY[:4]])) == CellProgress(
        5, ended=True, precise=True
    )
    # Three values have no two looks.
    assert progress_of(UNTIL, records([FAILED, FAILED, *STEADY[:3]])) == CellProgress(
        6, ended=False
    )


@pytest.mark.parametrize(
    "name",
    ["transactions_per_s", "rtt_mean_ns", "to_client_throughput_bit_per_s", "payload_bytes"],
)
def test_each_kind_of_test_is_judged_for_precision_by_its_own_figure(name: str) -> None:
    assert progress_of(UNTIL, records(STEADY[:5], name)).precise is True
    assert progress_of(UNTIL, records(WILD, name)).precise is False


def test_both_directions_must_be_precise_and_records_without_a_figure_never_are_precise() -> None:
    two_way_records = {
        number: made_record(
            trial=number,
            values={
                "to_server_throughput_bit_per_s": steady,
                "to_client_throughput_bit_per_s": wild,
            },
        )
        for number, (steady, wild) in enumerate(zip(STEADY, WILD, strict=True), start=1)
    }
    assert progress_of(UNTIL, two_way_records) == CellProgress(8, ended=True, precise=False)
    assert progress_of(UNTIL, records(STEADY, "lost_messages")).precise is False


trials = st.one_of(st.floats(90, 110), st.sampled_from(list(Status)[1:]))


@given(st.lists(trials, max_size=8), st.sampled_from([0.001, 0.01, 0.05]), st.integers(3, 5))
def test_an_ended_cell_stays_ended_when_further_trials_are_recorded(
    values: list[float | Status], within: float, at_least: int
) -> None:
    until = StopRule(within=within, confidence=0.95, at_least=at_least, at_most=8)
    progress = progress_of(until, records(values))
    assert max(1, len(values)) <= progress.trials <= 8 or progress.trials == at_least
    for count in range(len(values)):
        earlier = progress_of(until, records(values[:count]))
        if earlier.ended:
            assert (progress.ended, progress.precise) == (True, earlier.precise)
            assert progress.trials == len(values)
            return
        assert earlier.trials > count or Status.PENDING in values or Status.FAILED in values


def test_a_stored_run_with_the_rule_until_is_read_with_its_decisions() -> None:
    stored = read(FIXTURES / "run-v1-until")
    assert stored.damage == ()
    assert stored.plan.until == StopRule(within=0.025, confidence=0.95, at_least=4, at_most=6)
    assert stored.plan.link == Link(1e8, 1500, hops=1)
    assert [stored.progress(cell) for cell in stored.plan.cells] == [
        CellProgress(4, ended=True, precise=True),
        CellProgress(6, ended=True, precise=False),
        CellProgress(2, ended=True, precise=None),
        CellProgress(6, ended=False, precise=None),
    ]
    assert [note.data["cell"] for note in stored.notes if note.kind == "not-tight"] == [
        stored.plan.cells[1].key
    ]


@pytest.mark.parametrize(
    "name",
    [
        "receiver_host_steal_share",
        "sender_host_steal_share",
        "to_client_receiver_host_steal_share",
        "client_host_steal_share",
    ],
)
def test_a_trial_is_repeated_if_the_steal_of_either_host_exceeds_the_limit(
    name: str,
) -> None:
    quiet = StealRule(steal=0.005, tries=3)
    for stolen, attempt, again in [(0.005, 1, False), (0.006, 1, True), (0.006, 3, False)]:
        values: dict[str, Value] = {"throughput_bit_per_s": 1e8, name: stolen}
        assert quiet.asks_again(made_record(attempt=attempt, values=values)) is again
        assert quiet.is_disturbed(made_record(attempt=3, values=values)) is (stolen > 0.005)


@given(throughput=st.floats(0, 1e12), steal=st.floats(0, 1))
def test_the_measured_figure_does_not_influence_the_repeat_of_a_disturbed_trial(
    throughput: float, steal: float
) -> None:
    quiet, name = StealRule(steal=0.01, tries=2), "sender_host_steal_share"
    record = made_record(values={"throughput_bit_per_s": throughput, name: steal})
    assert quiet.asks_again(record) is (steal > 0.01)


def test_trials_without_a_result_or_without_known_steal_are_not_repeated() -> None:
    quiet = StealRule(steal=0.0, tries=2)
    assert not quiet.asks_again(made_record(values={"throughput_bit_per_s": 1e8}))
    for record in records([Status.FAILED, Status.PENDING, Status.IMPOSSIBLE]).values():
        assert not quiet.asks_again(record)


def test_a_steal_share_recorded_as_true_does_not_repeat_the_trial() -> None:
    quiet = StealRule(steal=0.01, tries=3)
    assert not quiet.asks_again(made_record(values={"client_host_steal_share": True}))
