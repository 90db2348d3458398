"""CRLF, UTF-16 and names in a code page are read as what they are: no result is lost or changed."""

from __future__ import annotations

import json
from collections.abc import Callable

import pytest
from fault_runs import Bench, bench, wrong_ok
from hypothesis import given
from hypothesis import strategies as st
from liars import COUNTED, PACED, LiedTo, lied_to

from netlab.experiment.records import Status
from netlab.remote.protocol import RecordReader

__all__ = ["bench", "lied_to"]

pytestmark = pytest.mark.alone

RECORD = {"type": "result", "id": "7", "sent_messages": 12, "interface": "Ethernet 2"}
LINE = json.dumps(RECORD, separators=(",", ":"))


@pytest.mark.parametrize("lie", ["utf-16", "code-page"])
def test_a_run_has_every_result_of_a_clean_one(
    bench: Bench, lied_to: LiedTo, record_property: Callable[[str, object], None], lie: str
) -> None:
    matrix = bench.matrix(PACED, repeats="3", defaults=COUNTED)
    bench.run("run", str(matrix), "--into", "clean", "--no-report")
    lied_to.run(matrix, lie)
    assert {record.status for record in lied_to.load().latest.values()} == {Status.OK}
    assert wrong_ok(bench.load("clean"), lied_to.load()) == []
    record_property("figure", lie)


@given(st.sampled_from(["utf-8", "utf-8-sig", "utf-16", "utf-16-le", "cp437"]), st.integers(1, 99))
def test_records_come_out_whole_in_whatever_parts(encoding: str, part: int) -> None:
    data = f"C:\\Users\\Ada> {LINE}\r\n".encode(encoding) * 3 + b"\0\n"
    reader = RecordReader()
    entries = [
        entry for at in range(0, len(data), part) for entry in reader.feed(data[at : at + part])
    ]
    assert [entry for entry in entries if isinstance(entry, dict)] == [RECORD] * 3


def test_a_name_in_a_code_page_keeps_its_ascii() -> None:
    line = LINE.replace("Ethernet", "Büro").encode("cp437") + b"\r\n"
    (record,) = RecordReader().feed(line)
    assert isinstance(record, dict)
    assert (record["sent_messages"], record["interface"]) == (12, "B�ro 2")
