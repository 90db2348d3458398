"""After a power cut at any moment, each acknowledged record is read, and no other record."""

from __future__ import annotations

import os
from pathlib import Path

import pytest
from crash_disk import Files, Recorder, ends
from draws import drawn
from journals import decode
from made_runs import made_cell, made_plan, made_record, ticking

from netlab.store.files import make_folder, write_inside
from netlab.store.plan import Plan
from netlab.store.reader import read
from netlab.store.run_folder import RunFolder

RECORDS = drawn(few=50, many=1000)
RECORDS_OF_SHORT_RUN = drawn(few=3, many=6)
WINDOW, WINDOW_RECORDS = 4096, 5
"""Bytes at the journal's end that are read at every end of the run (the whole file now and then),
and the records that are in them at least."""


def plan_of(records: int) -> Plan:
    cells = tuple(made_cell("LL", size) for size in range(1, records + 1))
    return made_plan(cells=cells, repeats=1)


def recorded(
    root: Path, plan: Plan, patch: pytest.MonkeyPatch, *, overlap: bool = False
) -> Recorder:
    """A run of so many records into ``root/run``, with every operation on the disk; ``overlap``:
    each record is synced while the next one is written.
    """
    recorder = Recorder(root)
    (root / "run").mkdir()
    with patch.context() as hooks:
        recorder.install(hooks)
        with RunFolder.open_for_writing(root / "run", plan, clock=ticking()) as folder:
            for cell in plan.cells:
                folder.note("attempt", durable=False, cell=cell.key, trial=1, attempt=1)
                folder.append(made_record(cell), durable=not overlap)
                if overlap:
                    folder.sync_soon().add_done_callback(recorder.acknowledge)
                else:
                    recorder.acknowledge()
            folder.note("session-end")
            write_inside(folder.path, "averages.csv", b"a,b\n")
    return recorder


def laid_out(path: Path, files: Files) -> Path:
    """The files in a folder of their own."""
    for name, data in files.items():
        place = path / name
        place.parent.mkdir(parents=True, exist_ok=True)
        place.write_bytes(data)
    return path / "run"


@pytest.mark.parametrize("overlap", [False, True], ids=["one by one", "synced beside"])
def test_after_a_power_cut_at_any_write_a_short_run_can_be_read_and_resumed(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, overlap: bool
) -> None:
    plan = plan_of(RECORDS_OF_SHORT_RUN)
    recorder = recorded(tmp_path, plan, monkeypatch, overlap=overlap)
    records = {record.cell: record for record in read(tmp_path / "run").records}
    assert len(records) == RECORDS_OF_SHORT_RUN
    states: set[tuple[tuple[str, bytes], ...]] = set()
    for operation_count, disk in ends(recorder.operations):
        files = disk.files()
        if (same := tuple(sorted(files.items()))) in states:
            continue
        states.add(same)
        acknowledged = sum(count <= operation_count for count in recorder.acknowledged)
        if "run/run.json" not in files:
            assert acknowledged == 0
            continue
        folder = laid_out(tmp_path / f"end-{len(states)}", files)
        stored = read(folder)
        assert stored.plan == plan
        assert (
            acknowledged <= len(stored.records) <= (len(records) if overlap else acknowledged + 1)
        )
        assert all(record == records[record.cell] for record in stored.records)
        with RunFolder.open_for_writing(folder, plan) as run_folder:
            assert len(run_folder.outstanding()) == len(records) - len(stored.records)
    assert len(states) > 5 * RECORDS_OF_SHORT_RUN


def test_after_a_power_cut_the_journal_has_every_acknowledged_record(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    recorder = recorded(tmp_path, plan_of(RECORDS), monkeypatch)
    keys = [cell.key for cell in plan_of(RECORDS).cells]
    end_count = acknowledged = 0
    for operation_count, disk in ends(recorder.operations):
        while acknowledged < RECORDS and recorder.acknowledged[acknowledged] <= operation_count:
            acknowledged += 1
        end_count += 1
        data = disk.content.get(disk.names.get("run/journal.jsonl", 0), bytearray())
        # Lines stand by themselves: most times the last ones tell.
        start = data.rfind(b"\n", 0, max(0, len(data) - WINDOW)) + 1 if end_count % 100 else 0
        lines, _ = decode(bytes(data[start:]))
        cells = [line.data["cell"] for line in lines if line.data["kind"] == "record"]
        few = min(acknowledged, WINDOW_RECORDS if start else acknowledged)
        assert len(cells) >= few
        assert not cells or cells in (
            keys[acknowledged - len(cells) : acknowledged],
            keys[acknowledged + 1 - len(cells) : acknowledged + 1],
        )
    assert acknowledged == RECORDS
    assert end_count > len(recorder.operations)


def test_every_new_folder_is_synced_to_disk_at_once(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    calls: list[Path] = []
    mkdir, fsync = os.mkdir, os.fsync

    def made(path: Path, mode: int) -> None:
        mkdir(path, mode)
        calls.append(path)

    def synced(descriptor: int) -> None:
        fsync(descriptor)
        calls.append(Path(f"/proc/self/fd/{descriptor}").readlink())

    monkeypatch.setattr(os, "mkdir", made)
    monkeypatch.setattr(os, "fsync", synced)
    make_folder(tmp_path / "runs" / "may" / "one")
    made_ones = [tmp_path / "runs", tmp_path / "runs/may", tmp_path / "runs/may/one"]
    assert calls == [place for path in made_ones for place in (path, path.parent)]
