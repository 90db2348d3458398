"""The lines of the control protocol, for any input in any parts."""

from __future__ import annotations

import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from netlab.remote.answers import LINE_MOST_BYTES, RecordReader, decimal, request_line

RECORD: dict[str, Any] = {"type": "hello", "id": "1", "os": "linux"}
LINE = json.dumps(RECORD, separators=(",", ":")).encode()


@pytest.mark.parametrize(
    ("number", "text"), [(10.0, "10"), (0.5, "0.5"), (1e12, "1000000000000"), (1e-6, "0.000001")]
)
def test_numbers_of_a_request_are_written_without_exponents(number: float, text: str) -> None:
    assert decimal(number) == text


@given(st.text())
def test_a_request_is_one_line_of_ascii_for_any_value(value: str) -> None:
    line = request_line("7", "lock", {"owner": value})
    assert line.isascii()
    assert (line.count(b"\n"), line.count(b" ")) == (1, 2)
    assert all(byte >= 32 for byte in line[:-1])


@given(st.lists(st.integers(1, 200), max_size=20))
def test_records_are_read_whole_however_their_bytes_are_cut(cuts: list[int]) -> None:
    stream = b"Welcome\r\n" + (LINE + b"\r\n") * 5 + b"$ " + LINE + b"\n"
    reader, pieces, at = RecordReader(), [], 0
    for length in [*cuts, len(stream)]:
        pieces += list(reader.feed(stream[at : at + length]))
        at += length
    assert pieces == [b"Welcome\r", *[RECORD] * 6]


@given(st.binary(max_size=400))
def test_lines_that_are_no_records_are_returned_unchanged(noise: bytes) -> None:
    pieces = list(RecordReader().feed(noise + b"\n"))
    assert b"\n".join(piece for piece in pieces if isinstance(piece, bytes)) == noise


def test_an_endless_line_is_dropped_in_bounded_memory_until_the_next_record() -> None:
    reader = RecordReader()
    pieces = [piece for _ in range(100) for piece in reader.feed(b"x" * 4096)]
    assert all(
        isinstance(piece, bytes) and len(piece) <= LINE_MOST_BYTES + 4096 for piece in pieces
    )
    assert [
        record for record in reader.feed(b"x\n" + LINE + b"\n") if isinstance(record, dict)
    ] == [RECORD]
