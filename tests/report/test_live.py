"""`netlab report --watch` writes the page again while the run goes on, and stops at its end."""

from __future__ import annotations

import contextlib
import os
import re
import signal
import subprocess
import sys
import threading
import time
from collections import Counter
from collections.abc import Callable, Iterator
from itertools import pairwise
from pathlib import Path

import pytest
from made_runs import made_plan, made_record

from netlab.errors import UsageError
from netlab.findings.analysis import Analysis
from netlab.report import reloading
from netlab.report.live import LEAST_PAUSE_S, LOOKS_S, SHARE, watch
from netlab.results.run import read_checked
from netlab.store.files import write_inside
from netlab.store.reader import StoredRun, machine_id
from netlab.store.run_folder import RunFolder
from netlab.trial.record import Status

RELOADS = re.compile(r'<meta http-equiv="refresh" content="(\d+)">')
TRIALS = [(cell, trial) for trial in (1, 2) for cell in made_plan().cells]


class Clock:
    """A clock that advances only while the watcher sleeps, and runs events that are due."""

    def __init__(self, happens: Callable[[int], None], limit: int = 400) -> None:
        self.now_s = 0.0
        self.naps = 0
        self._happens = happens
        self._limit = limit

    def __call__(self) -> float:
        return self.now_s

    def sleep(self, seconds: float) -> None:
        self.now_s += seconds
        self.naps += 1
        assert self.naps < self._limit, "the watcher does not end"
        self._happens(self.naps)


def made_light(
    run: Analysis, _wording: object, *, narrow: bool, reload_s: int | None = None
) -> Path:
    """A page with the parts of a report that the watcher needs."""
    assert not narrow
    counts = Counter(str(record.status) for record in run.latest.values())
    body = ", ".join(f"{number} {status}" for status, number in counts.items())
    body += "".join(f"; {damage}" for damage in run.damage)
    html = f'<html><head>\n<meta charset="utf-8">\n</head>{body}</html>\n'
    write_inside(run.path, "index.html", reloading(html, reload_s).encode("utf-8"), mode=0o644)
    return run.path / "index.html"


@pytest.fixture
def light(monkeypatch: pytest.MonkeyPatch) -> None:
    """Drawing a hundred real reports would take a minute."""
    monkeypatch.setattr("netlab.report.live.write_report", made_light)


@pytest.fixture
def folder(tmp_path: Path) -> Iterator[RunFolder]:
    with RunFolder.open_for_writing(tmp_path / "run", made_plan()) as run_folder:
        run_folder.note("session", hosts={"far": {"local": False, "machine_id": "another"}})
        yield run_folder


def page_of(folder: Path) -> str:
    return (folder / "index.html").read_text("utf-8")


@pytest.mark.usefixtures("light")
def test_a_watched_page_follows_the_journal_and_stops_reloading_when_the_run_is_complete(
    folder: RunFolder,
) -> None:
    messages: list[str] = []
    looks: list[tuple[int, bool]] = []
    trials = iter(TRIALS)

    def happens(nap: int) -> None:
        page = page_of(folder.path)
        match = re.search(r"(\d+) ok", page)
        looks.append((int(match.group(1)) if match else 0, bool(RELOADS.search(page))))
        if nap % 10 == 0:
            cell, trial = next(trials)
            folder.append(made_record(cell, trial))

    clock = Clock(happens)
    watch(folder.path, "en", messages.append, clock=clock, sleep=clock.sleep)
    counts = [count for count, _ in looks]
    assert counts == sorted(counts)
    assert set(counts) == set(range(len(TRIALS)))
    assert all(reloads for _, reloads in looks)
    assert not RELOADS.search(page_of(folder.path))
    assert f"{len(TRIALS)} ok" in page_of(folder.path)
    assert messages[-1].endswith("the run is complete")


@pytest.mark.usefixtures("light")
@pytest.mark.parametrize(
    "host",
    [
        {"local": True, "machine_id": None},
        {"local": False, "machine_id": machine_id() or "none"},
    ],
    ids=["local", "lab"],
)
def test_no_report_is_made_during_a_run_that_measures_with_this_machine(
    folder: RunFolder, host: dict[str, object], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("netlab.store.reader.machine_id", lambda: host["machine_id"])
    folder.note("session", hosts={"near": host, "far": {"local": False, "machine_id": "another"}})
    messages: list[str] = []
    read: list[Path] = []

    def reading(path: Path) -> StoredRun:
        read.append(path)
        return read_checked(path)

    monkeypatch.setattr("netlab.report.live.read_checked", reading)

    def happens(nap: int) -> None:
        assert not (folder.path / "index.html").exists()
        if nap < len(TRIALS):
            folder.append(made_record(*TRIALS[nap]))
        if nap == 60:
            folder.close()

    clock = Clock(happens)
    watch(folder.path, "en", messages.append, clock=clock, sleep=clock.sleep)
    assert len(read) == 2, "once to know where it measures, once for the page"
    assert messages[0].startswith("this machine is one of the run’s hosts")
    assert f"{len(TRIALS) - 1} ok" in page_of(folder.path)


@pytest.mark.usefixtures("light")
def test_no_page_is_written_before_the_run_has_recorded_its_hosts(tmp_path: Path) -> None:
    with RunFolder.open_for_writing(tmp_path / "run", made_plan()) as folder:

        def happens(nap: int) -> None:
            exists = (folder.path / "index.html").exists()
            if nap <= 10:
                assert not exists
            if nap == 10:
                folder.note("session", hosts={"far": {"local": False, "machine_id": "another"}})
            if nap == 20:
                assert exists
                folder.close()

        clock = Clock(happens)
        watch(folder.path, "en", lambda _: None, clock=clock, sleep=clock.sleep)


@pytest.mark.usefixtures("light")
def test_a_journal_that_does_not_grow_causes_no_new_report(folder: RunFolder) -> None:
    times_ns: list[int] = []

    def happens(nap: int) -> None:
        times_ns.append((folder.path / "index.html").stat().st_mtime_ns)
        if nap == 30:
            for cell, trial in TRIALS:
                folder.append(made_record(cell, trial))

    clock = Clock(happens)
    watch(folder.path, "en", lambda _: None, clock=clock, sleep=clock.sleep)
    assert len(set(times_ns[:30])) == 1


@pytest.mark.parametrize("cost_s", [0.0, 8.0])
def test_reports_of_a_watched_run_take_no_more_than_their_share_of_time(
    folder: RunFolder, cost_s: float, monkeypatch: pytest.MonkeyPatch
) -> None:
    starts: list[float] = []
    trials = iter(TRIALS * 100)

    def happens(nap: int) -> None:
        if nap < 300:
            folder.append(made_record(*next(trials)))
        else:
            folder.close()

    clock = Clock(happens)

    def costly(*_args: object, **_keys: object) -> Path:
        starts.append(clock.now_s)
        clock.now_s += cost_s
        return folder.path

    monkeypatch.setattr("netlab.report.live.write_report", costly)
    monkeypatch.setattr("netlab.report.live.remaining", lambda _stored: 1)
    watch(folder.path, "en", lambda _: None, clock=clock, sleep=clock.sleep)
    gaps = [later - earlier for earlier, later in pairwise(starts[:-1])]
    assert len(gaps) > 3
    assert min(gaps) >= max(LEAST_PAUSE_S, cost_s / SHARE)
    assert max(gaps) <= max(LEAST_PAUSE_S, cost_s / SHARE) + 2 * LOOKS_S


@pytest.mark.usefixtures("light")
def test_watching_ends_when_the_writer_has_ended_although_trials_remain(folder: RunFolder) -> None:
    messages: list[str] = []

    def happens(nap: int) -> None:
        if nap == 3:
            folder.append(made_record(status=Status.FAILED, reason="no-traffic"))
            folder.close()

    clock = Clock(happens)
    watch(folder.path, "en", messages.append, clock=clock, sleep=clock.sleep)
    assert "8 trials remain" in messages[-1]
    assert not RELOADS.search(page_of(folder.path))
    assert "1 failed" in page_of(folder.path)


@pytest.mark.usefixtures("light")
def test_watching_a_run_continues_until_a_writer_has_started_and_ended(tmp_path: Path) -> None:
    path = tmp_path / "run"
    with RunFolder.open_for_writing(path, made_plan()):
        pass
    folders: list[RunFolder] = []

    def happens(nap: int) -> None:
        if nap == 20:
            folders.append(RunFolder.open_for_writing(path, made_plan()))
        if nap == 30:
            folders[0].close()

    clock = Clock(happens)
    watch(path, "en", lambda _: None, clock=clock, sleep=clock.sleep)
    assert clock.naps == 30


@pytest.mark.usefixtures("light")
def test_a_journal_line_that_is_still_being_written_is_no_damage(folder: RunFolder) -> None:
    pages: list[str] = []

    def happens(nap: int) -> None:
        if nap == 1:
            with (folder.path / "journal.jsonl").open("ab") as journal:
                journal.write(b'00000000 {"kind":')
        if nap == 10:
            pages.append(page_of(folder.path))
            folder.close()

    clock = Clock(happens)
    watch(folder.path, "en", lambda _: None, clock=clock, sleep=clock.sleep)
    assert "torn" not in pages[0]
    assert "torn" in page_of(folder.path)


def test_watching_a_folder_without_a_run_is_refused(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match="not a run folder"):
        watch(tmp_path, "en", lambda _: None)


@pytest.mark.lab
def test_a_reader_never_sees_half_a_page_and_ctrl_c_ends_the_reloading(folder: RunFolder) -> None:
    path = folder.path
    command = [sys.executable, "-m", "netlab", "report", str(path), "--watch", "--lang", "de"]
    watcher = subprocess.Popen(command, stderr=subprocess.PIPE, text=True)
    halves: list[int] = []
    versions: set[str] = set()
    stop = threading.Event()

    def read() -> None:
        while not stop.is_set():
            with contextlib.suppress(FileNotFoundError):
                page = page_of(path)
                versions.add(page)
                if not page.endswith("</html>\n"):
                    halves.append(len(page))
            time.sleep(0.002)

    reader = threading.Thread(target=read)
    reader.start()
    try:
        deadline_s = time.monotonic() + 120
        while len(versions) < 2:
            assert time.monotonic() < deadline_s
            if versions and not folder.latest:
                folder.append(made_record(*TRIALS[0]))
            time.sleep(0.1)
        assert RELOADS.search(page_of(path))
        os.kill(watcher.pid, signal.SIGINT)
        assert watcher.wait(timeout=120) == 0
    finally:
        stop.set()
        reader.join()
        watcher.kill()
        watcher.wait()
        assert watcher.stderr is not None
        watcher.stderr.close()
    assert not halves
    assert not RELOADS.search(page_of(path))
