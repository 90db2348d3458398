"""The reader of CSV lines returns what Python's csv module reads, and each fault has its place."""

from __future__ import annotations

import csv
import io

import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from netlab.errors import Fault, MatrixError
from netlab.imports.common.csv_table import Form, parse

NAMES = ("a", "b", "c")
HEADER = ",".join(NAMES) + "\n"

values = st.text(st.characters(exclude_characters="\r\n", codec="utf-8"), max_size=20)
rows = st.tuples(values, values, values)
spaces = st.text(" \t\xa0", max_size=3)


def refused(text: str) -> str:
    raise ValueError(text)


def faults_of(line: str) -> list[Fault]:
    """Of a table's second line, each of whose values is a fault that shows it."""
    form = Form(dict.fromkeys(NAMES, refused), row=str)
    with pytest.raises(MatrixError) as caught:
        parse(HEADER + line + "\n", "t.csv", form)
    return caught.value.faults


def quoted(value: str) -> str:
    return '"' + value.replace('"', '""') + '"'


def bare(value: str) -> str:
    """Without quotes where it can be."""
    return quoted(value) if set(value) & set(',"') or value != value.strip() else value


@st.composite
def written(draw: st.DrawFn) -> tuple[str, str, int]:
    """A value, how it is written, and how many spaces are in front of it."""
    value, prefix, suffix = draw(values), draw(spaces), draw(spaces)
    text = draw(st.sampled_from([quoted, bare]))(value)
    return value, prefix + text + suffix, len(prefix + suffix if not text else prefix)


@given(st.tuples(written(), written(), written()))
def test_a_fault_in_a_csv_value_states_the_value_and_its_line_and_column(
    fields: tuple[tuple[str, str, int], ...],
) -> None:
    line = ",".join(text for _, text, _ in fields)
    assume(line.strip())
    faults, column = [], 1
    for name, (value, text, indent) in zip(NAMES, fields, strict=True):
        faults.append(Fault("t.csv", 2, column + indent, name, value))
        column += len(text) + 1
    assert faults_of(line) == faults


@given(
    st.lists(written(), max_size=4),
    spaces,
    st.sampled_from(['"', '"x', 'x"', 'x"y', '"x"y', '"x" "y"', 'x "y"', '""x', '"x"""y']),
    st.lists(st.text('",x '), max_size=2),
)
def test_a_fault_names_the_first_csv_field_whose_quotes_do_not_match(
    right: list[tuple[str, str, int]], prefix: str, wrong: str, other_fields: list[str]
) -> None:
    start = "".join(text + "," for _, text, _ in right)
    # What follows must not make a right field of it: after an open quote anything might.
    assume(wrong.count('"') % 2 == 0 or not any('"' in field for field in other_fields))
    (fault,) = faults_of(",".join([start + prefix + wrong, *other_fields]))
    assert fault == Fault("t.csv", 2, len(start) + 1, "", "the quotes do not match")


@given(rows)
def test_netlab_reads_back_the_values_that_pythons_csv_module_writes(row: tuple[str, ...]) -> None:
    text = io.StringIO()
    csv.writer(text, quoting=csv.QUOTE_ALL).writerow(row)
    assert [fault.message for fault in faults_of(text.getvalue().rstrip("\r\n"))] == list(row)


@pytest.mark.parametrize(
    ("line", "faults"),
    [
        ('"x\ny",1,2', ["2:1: the quotes do not match", "3:1: the quotes do not match"]),
        ("1,x\ry,2", ["2:3: a carriage return by itself; LF or CRLF ends a line"]),
        ("1,\r2\r,3\r", ["2:1: a: 1", "2:4: b: 2", "2:7: c: 3"]),
        ('1,"x\ry",3', ["2:1: a: 1", "2:3: b: x\ry", "2:9: c: 3"]),
        ("1,\0,3", ["2:1: a: 1", "2:3: b: \0", "2:5: c: 3"]),
        ("1,2,3,", ["2:7: 4 values for 3 columns"]),
        ('"' + "x" * 4094, ["2:1: the quotes do not match"]),
        ('"' + "x" * 4096, ["2:4097: longer than 4096 characters"]),
        (" " * 4095 + "x", ["2:4096: 1 values for 3 columns"]),
        ("," * 4096, ["2:4097: 4097 values for 3 columns"]),
    ],
)
def test_a_malformed_csv_line_gives_a_fault_with_its_line_and_column(
    line: str, faults: list[str]
) -> None:
    assert [str(fault) for fault in faults_of(line)] == [f"t.csv:{fault}" for fault in faults]


def test_a_csv_table_whose_lines_end_in_a_carriage_return_alone_is_refused() -> None:
    with pytest.raises(MatrixError, match=r"^t\.csv:1:5: a carriage return by itself"):
        parse("a,b,c\r1,2,3\r", "t.csv", Form({}, row=str))
