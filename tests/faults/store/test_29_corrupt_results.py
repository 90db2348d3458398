"""A journal that is cut, flipped, glued or false loses no whole record, and each damage has a line.

Records and notes of wrong types are damage as well: no command ends in a traceback for them.
"""

from __future__ import annotations

import json
import random
import shutil
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from commands import Commands, commands
from draws import chance, drawn
from folders import FIXTURES
from journals import decode
from made_runs import LL, made_cell, made_plan, made_record, open_folder

from netlab.errors import StoreError
from netlab.findings.analysis import load
from netlab.report import Report
from netlab.report.language import Wording
from netlab.results.export import export
from netlab.results.value_types import RUN_CHECK
from netlab.store.journal import encode_line
from netlab.store.plan import _checksum
from netlab.store.reader import status_of

__all__ = ["commands"]

SEED = 29
FALSE: tuple[Any, ...] = (
    *(None, True, "", "x", "12 34", "\ud800", 0, -1, 2**70, 10**400, 1e308, -0.5),
    *([], [1, 2], ["a"], [[1]], {}, {"a": {"b": []}}),
)
SOURCES = ("run-v1", "run-v1-until")


def file_of(count: int) -> bytes:
    lines = (
        {"kind": "made-up", "at": "now", "data": {"n": n, "f": "x" * 20}} for n in range(count)
    )
    return b"".join(encode_line(json.dumps(line)) for line in lines)


def numbers(data: bytes) -> list[int]:
    return [line.data["data"]["n"] for line in decode(data)[0]]


def test_a_journal_cut_at_any_byte_keeps_all_whole_records_and_reports_the_torn_record() -> None:
    data = file_of(40)
    ends = [index for index, byte in enumerate(data) if byte == 0x0A]
    for length in range(len(data) + 1):
        lines, damage = decode(data[:length])
        # A record that lacks only its line feed is whole.
        record_count = sum(end <= length for end in ends)
        assert [line.data["data"]["n"] for line in lines] == list(range(record_count))
        in_between = length > 0 and length not in ends and (length - 1) not in ends
        assert [place.line for place in damage] == ([record_count + 1] if in_between else []), (
            length
        )
        assert all(place.torn for place in damage)


def test_a_journal_of_1000_records_cut_anywhere_keeps_all_whole_records(
    record_property: Callable[[str, object], None],
) -> None:
    data = file_of(1000)
    lengths = chance(SEED).sample(range(len(data)), drawn(few=50, many=300))
    for length in lengths:
        assert numbers(data[:length]) == list(range(data.count(b"\n", 0, length + 1)))
    record_property("n", f"{len(lengths)} cuts of 1,000 records")
    record_property("seed", SEED)


def test_a_flipped_bit_of_a_record_loses_no_other_record_and_changes_no_record() -> None:
    head, victim, tail = file_of(3), file_of(78)[-90:].split(b"\n", 1)[1], file_of(2)
    originals = {json.dumps(line.data) for line in decode(head + victim + tail)[0]}
    for bit in range(len(victim) * 8):
        flipped = bytearray(victim)
        flipped[bit // 8] ^= 1 << (bit % 8)
        lines, damage = decode(head + bytes(flipped) + tail)
        assert {json.dumps(line.data) for line in lines} <= originals
        assert sum(line.data["data"]["n"] != 77 for line in lines) == 5, bit
        assert {place.line for place in damage} <= {4, 5}
        assert damage, bit


def test_a_hole_in_a_journal_is_one_damaged_line() -> None:
    data = file_of(10)
    middle = len(data) // 2
    lines, damage = decode(data[: middle - 150] + data[middle + 150 :])
    record_numbers = [line.data["data"]["n"] for line in lines]
    assert (record_numbers[:2], record_numbers[-2:]) == ([0, 1], [8, 9])
    assert [place.torn for place in damage] == [False]


@pytest.mark.parametrize("encoding", ["utf-16", "utf-16-le", "utf-32"])
def test_a_journal_in_another_encoding_is_reported_line_by_line(encoding: str) -> None:
    lines, damage = decode(file_of(3).decode("ascii").encode(encoding))
    assert lines == ()
    assert [place.line for place in damage] == [1, 2, 3, 4]


def test_the_journal_of_another_run_in_the_same_file_is_reported_as_damage(tmp_path: Path) -> None:
    strange = made_cell("WW")
    with open_folder(tmp_path / "one") as folder:
        folder.append(made_record(LL))
    with open_folder(tmp_path / "two", made_plan(cells=(strange, LL))) as folder:
        folder.append(made_record(strange))
    journal = tmp_path / "one" / "journal.jsonl"
    journal.write_bytes(journal.read_bytes() + (tmp_path / "two" / "journal.jsonl").read_bytes())
    status = status_of(tmp_path / "one")
    assert (status.ok, status.total) == (1, 8)
    assert [str(place) for place in status.damage] == [
        "line 3: the journal of another run begins here",
        f"line 4: a record of {strange.key}, trial 1, which is not in the plan",
    ]


# False types


def places(data: Any, above: tuple[Any, ...] = ()) -> Iterator[tuple[Any, ...]]:
    for key, value in data.items() if isinstance(data, dict) else enumerate(data):
        yield (*above, key)
        if isinstance(value, dict | list):
            yield from places(value, (*above, key))


def falsified(data: Any, draw: random.Random) -> Any:
    """The same with one value replaced or taken away."""
    false = json.loads(json.dumps(data))
    *above, last = draw.choice([*places(data)])
    inner = false
    for key in above:
        inner = inner[key]
    if draw.random() < 0.2 and isinstance(inner, dict):
        del inner[last]
    else:
        inner[last] = draw.choice(FALSE)
    return false


def read_by_all(folder: Path) -> None:
    """Whatever commands read of a run folder and draw nothing; StoreError is an answer."""
    status_of(folder, RUN_CHECK)
    export(folder, "csv")
    export(folder, "json")
    run = load(folder)
    assert run.findings is not None
    Report(run, Wording()).overview_text()


@pytest.mark.parametrize("source", SOURCES)
@pytest.mark.parametrize("part", ["journal", "header"])
def test_values_of_false_types_in_a_run_folder_are_damage_and_never_a_traceback(
    tmp_path: Path, source: str, part: str, record_property: Callable[[str, object], None]
) -> None:
    draw = chance(f"{SEED} {source} {part}")
    folder = shutil.copytree(FIXTURES / source, tmp_path / "run")
    header, journal = folder / "run.json", folder / "journal.jsonl"
    lines = [line.data for line in decode(journal.read_bytes())[0]]
    plan, refusal_count = json.loads(header.read_text()), 0
    for _ in range(tries := drawn(few=10, many=100)):
        if part == "journal":
            victim = draw.randrange(len(lines))
            false_lines = [*lines[:victim], falsified(lines[victim], draw), *lines[victim + 1 :]]
            journal.write_bytes(b"".join(encode_line(json.dumps(line)) for line in false_lines))
        else:
            false = falsified(plan, draw)
            false.pop("checksum", None)
            header.write_text(json.dumps(false | {"checksum": _checksum(false)}))
        try:
            read_by_all(folder)
        except StoreError as error:
            refusal_count += 1
            assert "\n" not in str(error)
    assert refusal_count == 0 or part == "header"
    record_property("n", f"{tries} falsified values of {source}'s {part}")


@pytest.mark.parametrize(
    ("name", "value", "words"),
    [
        ("throughput_bit_per_s", "fast", "'fast', and should be a number of 0 or more"),
        ("throughput_bit_per_s", -1, "-1, and should be a number of 0 or more"),
        ("lost_messages", [1], "[1], and should be a number"),
        ("same_host", "no", "'no', and should be a truth value"),
        ("connected_by", 7, "7, and should be a text"),
    ],
)
def test_the_report_of_a_damage_names_the_line_the_value_and_what_the_value_should_be(
    commands: Commands, name: str, value: Any, words: str
) -> None:
    folder = shutil.copytree(FIXTURES / "run-v1", commands.folder / "out")
    journal = folder / "journal.jsonl"
    lines = journal.read_bytes().splitlines(keepends=True)
    record = json.loads(lines[4][9:])
    record["values"][name] = value
    lines[4] = encode_line(json.dumps(record))
    journal.write_bytes(b"".join(lines))
    process = commands.run("status", "out")
    assert process.returncode == 0
    assert f"journal, line 5: not a record of this format: {name} is {words}\n" in process.stdout
