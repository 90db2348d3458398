"""Runs of streams made up for the report, recorded runs, and the report's page as a test reads it.

Drawing takes most of the time of a report: where no picture is looked at, none is drawn.
"""

from __future__ import annotations

import re
import shutil
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from functools import partial
from html.parser import HTMLParser
from itertools import product
from pathlib import Path
from typing import Any
from urllib.parse import quote

import pytest
from folders import REPORTS

from netlab.ethernet import Link
from netlab.findings.analysis import Analysis, load
from netlab.report import Report, write_report
from netlab.report.draw.parallel import Drawers, Pictures
from netlab.report.draw.plot import Job, Picture
from netlab.report.language import Wording
from netlab.store.plan import Plan, PlannedCell
from netlab.store.run_folder import RunFolder
from netlab.trial.record import Record, Status, Value

RECORDED = sorted(path.parent for path in REPORTS.glob("*/run.json"))
"""The folders of all recorded runs."""


def copied(recorded: Path, into: Path) -> Path:
    """A recorded run in a folder of its own in ``into``, without its report."""
    folder = into / recorded.name
    folder.mkdir()
    for name in ("run.json", "matrix.yaml", "journal.jsonl"):
        if (recorded / name).exists():
            shutil.copy(recorded / name, folder)
    return folder


EMPTY = "data:image/svg+xml,%3Csvg xmlns='http://www.w3.org/2000/svg' id='{name}'/%3E"
"""The address of the empty picture of a chart."""


@contextmanager
def drawn_here() -> Iterator[None]:
    """This process draws the charts: it starts no other."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(Drawers, "start", lambda _self: None)
        yield


@contextmanager
def undrawn() -> Iterator[None]:
    """Each chart becomes an empty picture that names the chart and its width."""

    def hand_over(_self: Drawers, jobs: Sequence[Job]) -> Pictures:
        pictures = tuple(
            Picture(
                chart=chart,
                svg=f"svg {chart.name} {form.width_inches:.2f}".encode(),
                address=EMPTY.format(name=quote(chart.name)),
                png=f"png {chart.name} {form.width_inches:.2f}".encode(),
                pdf=f"pdf {chart.name} {form.width_inches:.2f}".encode(),
                width_px=642,
                height_px=300,
            )
            for chart, form in jobs
        )
        return lambda: pictures

    with drawn_here(), pytest.MonkeyPatch.context() as patch:
        patch.setattr(Drawers, "hand_over", hand_over)
        yield


def write_undrawn(run: Analysis, wording: Wording | None = None, *, narrow: bool = False) -> Path:
    """The report of a run with empty pictures."""
    with undrawn():
        return write_report(run, wording, narrow=narrow)


def overview_text(run: Analysis, *, width: int | None = None) -> str:
    """The means of a run for a terminal."""
    return Report(run, Wording()).overview_text(width)


def planned(pairing: str = "LL", **settings: Value) -> PlannedCell:
    cell_settings: dict[str, Value] = {
        "protocol": "UDP",
        "message_bytes": 64,
        "socket_buffer_bytes": 16384,
        "duration_s": 1.0,
        **settings,
    }
    key = "-".join([pairing, *(re.sub(r"\W+", "", str(value)) for value in cell_settings.values())])
    return PlannedCell(key, pairing, "stream", cell_settings)


def result(cell: PlannedCell, trial: int = 1, **keys: Any) -> Record:
    values = {"throughput_bit_per_s": 48e6, "sent_messages": 1000, "lost_messages": 0}
    return Record(
        **{
            "cell": cell.key,
            "trial": trial,
            "attempt": 1,
            "status": Status.OK,
            "pairing": cell.pairing,
            "server": "alpha",
            "client": "beta",
            "test": cell.test,
            "started_at": "2026-01-31T12:00:00.000000Z",
            "settings": cell.settings,
            "values": values,
            **keys,
        }
    )


def failure(cell: PlannedCell, reason: str = "no-traffic", **keys: Any) -> Record:
    return result(cell, **{"status": Status.FAILED, "reason": reason, "values": {}, **keys})


def make_run(
    beneath: Path,
    cells: list[PlannedCell],
    records: list[Record] | None = None,
    notes: list[tuple[str, dict[str, Any]]] | None = None,
    **plan: Any,
) -> Analysis:
    """Make a run folder out of cells, records and notes, and read it."""
    fields: dict[str, Any] = {
        "title": "made up",
        "content": {},
        "content_hash": "0" * 64,
        "matrix_text": "title: made up\n",
        "link": Link(1e8, 1500),
        "repeats": 1,
        **plan,
    }
    path = beneath / f"run-{len(list(beneath.iterdir()))}"
    with RunFolder.open_for_writing(path, Plan(cells=tuple(cells), **fields)) as folder:
        for kind, data in notes or []:
            folder.note(kind, **data)
        for record in [result(cell) for cell in cells] if records is None else records:
            folder.append(record)
    return load(path)


@pytest.fixture
def make(tmp_path: Path) -> Callable[..., Analysis]:
    """Make runs in a folder of the test's own."""
    return partial(make_run, tmp_path)


@pytest.fixture(scope="module")
def several(tmp_path_factory: pytest.TempPathFactory) -> Analysis:
    """A run of several cells whose report is written, with empty pictures."""
    run = make_run(tmp_path_factory.mktemp("several"), several_cells())
    write_undrawn(run)
    return run


def files_of(run: Analysis) -> dict[str, bytes]:
    """Each file of a run folder, by its name in it."""
    return {
        str(path.relative_to(run.path)): path.read_bytes()
        for path in run.path.rglob("*")
        if path.is_file()
    }


SCRIPTS: list[dict[str, str | None]] = [{"type": "application/json", "id": "cells"}, {}]
"""The records as data, and the one script that shows them."""


class Page(HTMLParser):
    """A page's elements, and whether they are nested as HTML wants it."""

    VOID = frozenset({"meta", "img", "br", "link"})

    def __init__(self, text: str) -> None:
        super().__init__()
        self.open: list[str] = []
        self.elements: list[tuple[str, dict[str, str | None]]] = []
        self.text = ""
        self.feed(text)
        self.close()
        assert not self.open

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.elements.append((tag, dict(attrs)))
        if tag not in self.VOID:
            self.open.append(tag)

    def handle_endtag(self, tag: str) -> None:
        assert self.open.pop() == tag

    def handle_data(self, data: str) -> None:
        self.text += data

    def all(self, tag: str) -> list[dict[str, str | None]]:
        return [attributes for name, attributes in self.elements if name == tag]


def read_page(run: Analysis) -> Page:
    """The page of a report that is written now, with empty pictures."""
    return Page(write_undrawn(run).read_text(encoding="utf-8"))


def page_of(run: Analysis) -> Page:
    """The page that is written already."""
    return Page((run.path / "index.html").read_text(encoding="utf-8"))


def several_cells() -> list[PlannedCell]:
    return [
        planned(pairing, protocol=protocol, message_bytes=size, socket_buffer_bytes=buffer)
        for pairing, protocol, size, buffer in product(
            ("LL", "WL"), ("TCP", "UDP"), (64, 1500), (16384, 32768)
        )
    ]
