"""Values checked together get the same verdict as each of them alone."""

from __future__ import annotations

from contextlib import suppress
from typing import Any

from draws import NIGHT
from folders import REPORTS
from hypothesis import given
from hypothesis import strategies as st

from netlab.results.rows import rows_of
from netlab.results.run import load
from netlab.results.value_types import ValueKind, check_values, list_fits

_NAMES = (
    *("throughput_bit_per_s", "same_host", "connected_by", "rtt_histogram", "receiver_gaps"),
    *("sweep_message_bytes", "sender_unheard_of", "elapsed_ns", "rtt_mean_ns", "Not a name"),
)
_PLAIN = st.one_of(
    *(st.booleans(), st.integers(-2, 2), st.sampled_from([2**63, 2**64, 2**999, 2**1000])),
    *(st.floats(), st.sampled_from(["", "server"]), st.none()),
)
_VALUES = st.one_of(_PLAIN, st.lists(_PLAIN, max_size=4))


def is_refused(values: dict[str, Any]) -> bool:
    with suppress(ValueError):
        check_values(values)
        return False
    return True


@given(st.dictionaries(st.sampled_from(_NAMES), _VALUES))
def test_several_values_are_refused_exactly_if_one_of_them_alone_is_refused(
    values: dict[str, Any],
) -> None:
    is_refused_alone = any(is_refused({name: value}) for name, value in values.items())
    for _ in range(2):  # a shape that is seen again is as good as one that is new
        assert is_refused(values) is is_refused_alone


@given(st.lists(_PLAIN, max_size=5), st.sampled_from(["a list of numbers", "a list of sizes"]))
def test_a_list_fits_its_column_if_and_only_if_each_of_its_values_fits(
    values: list[Any], kind: ValueKind
) -> None:
    def fits(value: Any) -> bool:
        if type(value) is int:
            return (0 if kind == "a list of sizes" else -(2**64)) < value < 2**64
        if kind == "a list of sizes":
            return False
        return type(value) is bool or (type(value) is float and abs(value) <= 1e30)

    assert list_fits(values, kind) is all(map(fits, values))


def test_each_row_of_a_recorded_run_is_one_of_its_trials() -> None:
    for folder in sorted(file.parent for file in REPORTS.glob("*/run.json")):
        if NIGHT is None and folder.name in ("lab-report-lab", "udp-mirror-lab-pinned"):
            continue  # those with the most values
        run = load(folder)
        rows = rows_of(run.stored)
        assert [(row["cell"], row["trial"], row["status"]) for row in rows] == [
            (trial.cell, trial.trial, trial.status) for trial in run.trials
        ]
        for row, trial in zip(rows, run.trials, strict=True):
            assert row.items() >= trial.settings.items()
            shown = {name: value for name, value in trial.values.items() if name in row}
            assert shown.keys() == trial.values.keys()
