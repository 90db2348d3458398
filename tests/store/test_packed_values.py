"""The values of a record stay the same in memory, in little space and linear time."""

from __future__ import annotations

import json
import sys
import tracemalloc
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any

import pytest
from folders import REPORTS
from hypothesis import given
from hypothesis import strategies as st
from made_runs import made_plan, made_record

from netlab.results.value_types import RUN_CHECK
from netlab.store.journal import PackedValues, encode_line, packed_values
from netlab.store.plan import PlannedCell
from netlab.store.reader import read
from netlab.store.run_folder import RunFolder
from netlab.trial.record import Value, to_json

MEASURED = REPORTS / "lab-report-lab"
_WHOLE = st.integers(-(2**70), 2**70)
_FLOATS = st.floats(allow_nan=False, allow_infinity=False)
_VALUES = st.one_of(
    st.booleans(),
    _WHOLE,
    _FLOATS,
    st.text(max_size=80),
    st.lists(_WHOLE),
    st.lists(st.integers(0, 300)),
    st.lists(_FLOATS),
    st.lists(st.one_of(st.booleans(), st.integers(0, 3), _FLOATS)),
)


@given(st.dictionaries(st.text(max_size=80), _VALUES))
def test_packed_values_return_all_values_in_order_with_their_types(values: dict[str, Any]) -> None:
    small = packed_values(values)
    assert [*small.items()] == [*values.items()] and small == values
    assert json.dumps(dict(small)) == json.dumps(values)  # 1, 1.0 and true apart
    for name in (*values, "absent of all"):
        assert small.get(name) == values.get(name) and (name in small) is (name in values)


def test_changing_a_series_that_was_read_does_not_change_the_record() -> None:
    small = packed_values({"receiver_gaps": [1, 2, 3]})
    gaps = small["receiver_gaps"]
    assert isinstance(gaps, list)
    gaps.append(4)
    assert small["receiver_gaps"] == [1, 2, 3]


@pytest.mark.parametrize(
    ("series", "counts"), [([0, 2**64 - 1], True), ([-1], False), ([0.5], False), ([True], False)]
)
def test_counts_are_returned_only_for_series_of_whole_numbers_from_0_upwards(
    series: list[Any], counts: bool
) -> None:
    counts_of_x = packed_values({"x": series}).counts("x")
    assert (counts_of_x is not None) is counts and packed_values({}).counts("x") is None
    assert counts_of_x is None or [*counts_of_x] == series


def test_records_in_memory_share_the_names_of_their_values() -> None:
    first, second = _two_alike()
    assert all(
        first_name is second_name for first_name, second_name in zip(first, second, strict=True)
    )


def _two_alike() -> tuple[PackedValues, PackedValues]:
    values_by_names: dict[tuple[str, ...], PackedValues] = {}
    for record in read(MEASURED).records:
        values = record.values
        assert isinstance(values, PackedValues)
        if tuple(values) in values_by_names:
            return values_by_names[tuple(values)], values
        values_by_names[tuple(values)] = values
    raise AssertionError("no two records of the measured run have the same names")


def run_of(folder: Path, copies: int) -> Path:
    """So many copies of some measured records, each of a cell of its own."""
    records = [record for record in read(MEASURED).records if len(record.values) > 300][:10]
    cells = tuple(
        PlannedCell(f"cell-{number}", record.pairing, record.test, record.settings)
        for number, record in enumerate(records * copies)
    )
    with RunFolder.open_for_writing(folder, made_plan(cells=cells, repeats=1)) as run_folder:
        for cell, record in zip(cells, records * copies, strict=True):
            copy = made_record(cell, values=dict(record.values))
            run_folder.append(copy, durable=False)
    return folder


def allocated(ask: Callable[[], object]) -> int:
    """Bytes that what was asked for keeps."""
    tracemalloc.start()
    try:
        answer = ask()
        return tracemalloc.get_traced_memory()[0] if answer is not None else 0
    finally:
        tracemalloc.stop()


def test_a_record_in_memory_takes_less_than_a_third_of_its_json_objects(tmp_path: Path) -> None:
    folder = run_of(tmp_path / "run", 6)
    lines = (folder / "journal.jsonl").read_bytes().splitlines()
    as_objects = allocated(lambda: [json.loads(line[9:]) for line in lines])
    assert allocated(lambda: read(folder, RUN_CHECK)) < as_objects / 3


def test_the_work_and_memory_of_reading_a_run_grow_linearly_with_its_records(
    tmp_path: Path,
) -> None:
    """And as many bytes."""

    def calls(folder: Path) -> int:
        number = 0

        def count(_frame: object, event: str, _arg: object) -> None:
            nonlocal number
            number += event in ("call", "c_call")

        sys.setprofile(count)
        try:
            read(folder, RUN_CHECK)
        finally:
            sys.setprofile(None)
        return number

    small, large = (run_of(tmp_path / str(copies), copies) for copies in (3, 12))
    read(small, RUN_CHECK)  # what is found out once a shape
    assert calls(large) < 4.2 * calls(small)
    # Each plan is read after the other one, so that neither finds its cells read already.
    many, few = (allocated(partial(read, folder, RUN_CHECK)) for folder in (large, small))
    assert many < 4.2 * few


def test_a_number_too_large_for_64_bits_is_read_unchanged(tmp_path: Path) -> None:
    values: dict[str, Value] = {"sender_unheard_of": [2**64, 1], "sender_unheard_of_too": 2**70}
    with RunFolder.open_for_writing(tmp_path / "run", made_plan()):
        pass
    line = encode_line('{"kind":"record","at":"",' + to_json(made_record(values=values))[1:])
    with (tmp_path / "run" / "journal.jsonl").open("ab") as journal:
        journal.write(line)
    (record,) = read(tmp_path / "run").records
    assert dict(record.values) == values
