"""CRLF, UTF-16 and names in a code page are read as what they are: no result is lost or changed."""

from __future__ import annotations

import json

import pytest
from fault_runs import Bench, bench, wrong_ok
from hypothesis import given
from hypothesis import strategies as st
from liars import COUNTED, PACED, LiedTo, lied_to
from outcomes import OutcomeOf, Seen, injects, outcome_of

from netlab.remote.answers import RecordReader
from netlab.trial.record import Status

__all__ = ["bench", "lied_to", "outcome_of"]

RECORD = {"type": "result", "id": "7", "sent_messages": 12, "interface": "Ethernet 2"}
LINE = json.dumps(RECORD, separators=(",", ":"))


def print_otherwise(bench: Bench, lied_to: LiedTo, lie: str) -> Seen:
    matrix = bench.matrix(PACED, repeats="3", defaults=COUNTED)
    bench.run("run", str(matrix), "--into", "clean", "--no-report")
    lied_to.run(matrix, lie)
    return {}


@pytest.mark.parametrize("lie", ["utf-16", "code-page"])
@injects()
def test_a_run_with_records_in_another_encoding_has_every_result_of_a_clean_run(
    outcome_of: OutcomeOf, lie: str
) -> None:
    outcome = outcome_of(print_otherwise, lie=lie)
    faulty = outcome.load()
    assert [record.status for record in faulty.latest.values()] == [Status.OK] * 3
    assert wrong_ok(outcome.load("clean"), faulty) == []
    outcome.figure(lie)


@given(st.sampled_from(["utf-8", "utf-8-sig", "utf-16", "utf-16-le", "cp437"]), st.integers(1, 99))
def test_records_are_read_in_utf_8_utf_16_and_cp437_however_the_bytes_are_divided(
    encoding: str, part: int
) -> None:
    data = f"C:\\Users\\Ada> {LINE}\r\n".encode(encoding) * 3 + b"\0\n"
    reader = RecordReader()
    entries = [
        entry for at in range(0, len(data), part) for entry in reader.feed(data[at : at + part])
    ]
    assert [entry for entry in entries if isinstance(entry, dict)] == [RECORD] * 3


def test_a_record_in_a_code_page_loses_only_its_characters_beyond_ascii() -> None:
    line = LINE.replace("Ethernet", "Büro").encode("cp437") + b"\r\n"
    (record,) = RecordReader().feed(line)
    assert isinstance(record, dict)
    assert (record["sent_messages"], record["interface"]) == (12, "B�ro 2")
