"""A run with segments reads as without segments, and a bad segment is not used."""

from __future__ import annotations

import shutil
from dataclasses import replace
from pathlib import Path

import pytest
from folders import FIXTURES, REPORTS
from made_runs import made_plan, made_record, ticking

from netlab.errors import StoreError
from netlab.results.arrow import segment_writer
from netlab.results.arrow.segment_writer import compact
from netlab.results.run import read_checked
from netlab.results.value_types import RUN_CHECK
from netlab.store.journal import encode_line
from netlab.store.reader import StoredRun, status_of
from netlab.store.run_folder import RunFolder
from netlab.trial.record import Status

pytestmark = pytest.mark.needs("pyarrow")

LL, LL_LARGE, WL, WL_LARGE = made_plan().cells
RECORDED = sorted(
    path.parent
    for folder in (FIXTURES, REPORTS)
    for path in folder.glob("*/run.json")
    if (path.parent / "journal.jsonl").stat().st_size
)


def open_run(path: Path) -> RunFolder:
    return RunFolder.open_for_writing(path, made_plan(), clock=ticking(), check=RUN_CHECK)


def whole(path: Path) -> int:
    """Make segments of the whole journal."""
    return compact(path, least_bytes=1, least_lines=1)


def told(stored: StoredRun) -> object:
    """All that a run tells, except for the beginnings of attempts."""
    notes = [note for note in stored.notes if note.kind != "attempt"]
    unfinished = dict(stored.unfinished)
    return list(stored.records), dict(stored.latest), notes, stored.damage, unfinished


@pytest.fixture
def run(tmp_path: Path) -> Path:
    """A run of two sessions: with a failed and repeated trial, one that was begun, and damage."""
    path = tmp_path / "run"
    with open_run(path) as folder:
        folder.note("session", hosts={})
        folder.note("attempt", cell=LL.key, trial=1, attempt=1)
        folder.append(made_record(LL, 1, status=Status.FAILED, reason="no-peer"))
        folder.append(made_record(WL, 2))
    with (path / "journal.jsonl").open("ab") as journal:
        journal.write(b"00000000 {\n")
        unplanned = made_record(replace(LL, key="another"))
        journal.write(encode_line('{"kind":"record","at":"",' + text_of(unplanned)[1:]))
    with open_run(path) as folder:
        folder.note("session", hosts={})
        folder.note("attempt", cell=LL.key, trial=1, attempt=2)
        folder.append(made_record(LL, 1, attempt=2, values={"sender_host_steal_share": 0.5}))
        folder.note("attempt", cell=WL.key, trial=1, attempt=4)
    return path


def text_of(record: object) -> str:
    from netlab.trial.record import Record, to_json

    assert isinstance(record, Record)
    return to_json(record)


@pytest.mark.parametrize("recorded", RECORDED, ids=lambda path: path.name)
def test_a_recorded_run_with_journal_segments_reads_the_same_as_without_segments(
    recorded: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = tmp_path / "run"
    path.mkdir()
    for name in ("run.json", "journal.jsonl"):
        shutil.copy(recorded / name, path)
    before, status = told(read_checked(path)), status_of(path, RUN_CHECK).as_dict()
    lines = (path / "journal.jsonl").read_bytes().count(b"\n")
    monkeypatch.setattr(segment_writer, "SEGMENT_LINES", max(1, lines // 3))
    assert whole(path) > 2
    assert status_of(path, RUN_CHECK).as_dict() == status
    assert told(read_checked(path)) == before


def test_journal_segments_do_not_change_what_is_read_of_a_run_with_retries_and_damage(
    run: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    stored, status = read_checked(run), status_of(run, RUN_CHECK).as_dict()
    before = told(stored)
    with open_run(run) as folder:
        asked = folder.outstanding(), dict(folder.latest), list(folder.doubtful(0.25))
        attempts = [folder.next_attempt(cell.key, 1) for cell in folder.plan.cells]
    monkeypatch.setattr(segment_writer, "SEGMENT_LINES", 3)
    assert whole(run) > 2
    again = read_checked(run)
    assert len(again.records) == len(stored.records)
    assert again.latest[LL.key, 1] == stored.latest[LL.key, 1]
    assert told(again) == before
    assert status_of(run, RUN_CHECK).as_dict() == status
    with open_run(run) as folder:
        assert (folder.outstanding(), dict(folder.latest)) == asked[:2]
        redo = frozenset({LL.key})
        assert {(LL.key, trial) for trial in (1, 2)} <= {*folder.outstanding(redo)}
        assert list(folder.doubtful(0.25)) == [(LL.key, 1)]
        assert list(folder.doubtful(0.5)) == list(folder.doubtful(None)) == []
        assert set(folder.doubtful(0.25)) <= set(asked[2])
        assert [folder.next_attempt(cell.key, 1) for cell in folder.plan.cells] == attempts
        assert attempts == [3, 1, 5, 1]


def test_records_after_the_last_journal_segment_are_read_from_the_journal(run: Path) -> None:
    whole(run)
    with open_run(run) as folder:
        folder.append(made_record(WL, 1, attempt=5))
        folder.append(made_record(LL, 1, attempt=3, status=Status.FAILED, reason="no-peer"))
        assert folder.counts({WL.key}) == {Status.OK: 2}
        assert folder.counts({LL.key}) == {Status.FAILED: 1, Status.PENDING: 1}
        assert folder.next_attempt(WL.key, 1) == 6
        assert (LL.key, 1) in folder.outstanding()
    state = status_of(run, RUN_CHECK)
    assert (state.ok, state.failed, state.pending, state.total) == (2, 1, 5, 8)
    assert read_checked(run).latest[WL.key, 1].attempt == 5
    assert whole(run) == 1
    assert status_of(run, RUN_CHECK).as_dict() == state.as_dict()


def test_journal_segments_are_private_to_their_owner_and_leave_the_journal_unchanged(
    run: Path,
) -> None:
    journal = (run / "journal.jsonl").read_bytes()
    assert whole(run) == 1
    (segment,) = (run / "segments").iterdir()
    assert segment.stat().st_mode & 0o077 == 0
    assert (run / "segments").stat().st_mode & 0o777 == 0o700
    assert (run / "journal.jsonl").read_bytes() == journal
    assert whole(run) == 0


def test_no_journal_segment_is_made_of_a_short_journal(run: Path) -> None:
    assert compact(run) == 0
    assert not (run / "segments").exists()


def cut(segment: Path) -> None:
    segment.write_bytes(segment.read_bytes()[:-20])


def other_format(segment: Path) -> None:
    import pyarrow.parquet as pq

    with pq.ParquetWriter(segment, (table := pq.read_table(segment)).schema) as writer:
        writer.write_table(table)
        writer.add_key_value_metadata({"netlab": '{"schema":2}'})


def no_segment(segment: Path) -> None:
    import pyarrow.parquet as pq

    pq.write_table(pq.read_table(segment), segment, store_schema=False)


def damaged_page(segment: Path) -> None:
    data = bytearray(segment.read_bytes())
    for place in range(4, len(data) // 4):
        data[place] ^= 0xFF
    segment.write_bytes(data)


@pytest.mark.parametrize(
    ("damage", "clause"),
    [
        (cut, "it is cut or damaged"),
        (damaged_page, "it is cut or damaged"),
        (other_format, "its format has the version 2"),
        (no_segment, "it is not a segment of netlab"),
    ],
)
def test_a_bad_journal_segment_is_reported_and_its_records_are_read_from_the_journal(
    run: Path, damage: object, clause: str
) -> None:
    assert callable(damage)
    records = list(read_checked(run).records)
    whole(run)
    (segment,) = (run / "segments").iterdir()
    damage(segment)
    stored = read_checked(run)
    assert list(stored.records) == records
    assert str(stored.damage[0]) == (
        f"line 1: the segment {segment.name} is not used, and the journal is read from here: "
        f"{clause}"
    )
    assert whole(run) == 1  # it is made again
    assert [str(place) for place in read_checked(run).damage if "segment" in str(place)] == []


def test_a_journal_segment_is_not_used_after_the_journal_was_cut_or_changed(run: Path) -> None:
    whole(run)
    journal = run / "journal.jsonl"
    data = journal.read_bytes()
    journal.write_bytes(data[: data.rindex(b"\n", 0, -1) + 1])
    assert "shorter than the part that it covers" in str(read_checked(run).damage[0])
    journal.write_bytes(data[:-10] + b"#" + data[-9:])
    assert "the journal was changed since" in str(read_checked(run).damage[0])
    assert len(read_checked(run).damage) == 4


def test_a_record_changed_in_the_journal_after_its_segment_was_made_is_an_error(run: Path) -> None:
    whole(run)
    journal = run / "journal.jsonl"
    journal.write_bytes(
        journal.read_bytes().replace(b'"attempt":2,"status"', b'"attempt":7,"status"')
    )
    with pytest.raises(StoreError, match=r"trial 1, was changed or damaged .* remove the folder"):
        _ = read_checked(run).latest[LL.key, 1]


def test_a_link_in_place_of_the_folder_of_journal_segments_is_refused(
    run: Path, tmp_path: Path
) -> None:
    whole(run)
    (run / "segments").rename(tmp_path / "elsewhere")
    (run / "segments").symlink_to(tmp_path / "elsewhere")
    with pytest.raises(StoreError, match="netlab follows no link"):
        read_checked(run)


def test_without_pyarrow_netlab_reads_the_journal_and_makes_no_journal_segments(
    run: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    before = told(read_checked(run))
    whole(run)
    for module in ("netlab.store.segments", "netlab.results.arrow.segment_writer"):
        monkeypatch.setattr(f"{module}.find_spec", lambda _name: None)
    assert told(read_checked(run)) == before
    assert isinstance(read_checked(run).records, tuple)
    assert whole(run) == 0
