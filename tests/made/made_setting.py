"""A row more in the table of settings, put there before anything reads it: what becomes of it.

Run by itself, for the models of a process are built once; prints what was seen, as JSON.
"""

from __future__ import annotations

import importlib.util
import json
import sys
import tempfile
from pathlib import Path
from types import SimpleNamespace
from typing import Any, cast

from netlab import trial

ROW = """
    gap_bytes: int | None = setting(
        "gap", Whole(0, 999), default=None, label=_("made-up gap"), absent=_("none at all"),
        asks=(Ask("gap"),), need=Need("gaps"), about="Made up.", column="asked for, and made up")
"""
CLASS = '"""Settings of all tests."""\n'

MATRIX = """\
title: made up
pairings: [LL]
tests:
  - {test: stream, protocol: UDP, message_size: 64, gap: [7, 8]}
  - {test: round_trip, protocol: TCP, message_size: 64, gap: {from: 1, to: 3, step: 2}}
  - {test: connect, message_size: 64}
"""


def add_row() -> None:
    """Load the kinds of test with the row in them."""
    name = "netlab.kinds.groups"
    file = Path(trial.__path__[0]).parent / "kinds" / "groups.py"
    spec = importlib.util.spec_from_file_location(name, file)
    assert spec is not None and spec.origin is not None
    head, _, tail = file.read_text(encoding="utf-8").partition(CLASS)
    assert tail
    module = importlib.util.module_from_spec(spec)
    sys.modules[name] = module
    exec(compile(head + CLASS + ROW + tail, spec.origin, "exec"), module.__dict__)  # noqa: S102


def asked_by_searches() -> dict[str, object]:
    """What the four tests that searches make ask the probes for."""
    from scripted_agent import Fake

    from netlab.experiment.cells import Cell
    from netlab.experiment.schedule import Trial
    from netlab.kinds import PayloadSearch, ThroughputSearch
    from netlab.measurement import throughput_search
    from netlab.measurement.ends import Ends
    from netlab.measurement.payload_search import Direction, sweep
    from netlab.measurement.search_trial import OfferedLoad, flows_of

    requests: list[Any] = []
    ends = Ends(cast(Any, Fake("server", requests)), cast(Any, Fake("client", requests)), False)
    gap: Any = {"gap_bytes": 7}
    payload, rate = PayloadSearch(protocol="UDP", **gap), ThroughputSearch(frame_bytes=64, **gap)
    Direction(payload, ends).exchange(64)
    probe_gaps = {keys.get("gap") for _, verb, keys in requests if verb in ("ask", "mirror")}
    trial = Trial(Cell(pairing="LL", test="payload_search", setup=payload), 1)
    requests.clear()
    sweep(trial, payload, 64, ends, lambda _cell, _rate: None)
    sweep_gaps = {keys.get("gap") for _, verb, keys in requests if verb in ("send", "receive")}
    flows = flows_of(rate, ends, OfferedLoad(10, 10.0, 1.0))
    runner: Any = SimpleNamespace(setup=rate, ends=ends)
    exchange = throughput_search._exchange(runner, 10.0, 1.0)
    return {
        "probed": [*probe_gaps],
        "swept": [*sweep_gaps],
        "offered": [side.keys.get("gap") for flow in flows for side in flow.sides],
        "beside": [side.keys.get("gap") for side in exchange.sides],
    }


def seen(folder: Path) -> dict[str, object]:
    """The way of the setting from a matrix to a report."""
    from advanced_clock import passing
    from scripted_agent import run_with

    from netlab import load
    from netlab.config.matrix_file import load_matrix
    from netlab.config.schema import schema_text
    from netlab.experiment.cells import lacking
    from netlab.experiment.matrix import expand
    from netlab.experiment.schedule import Trial
    from netlab.measurement.engines import measure
    from netlab.results.columns import describe
    from netlab.results.labels import setting
    from netlab.store.plan import plan_of
    from netlab.store.run_folder import RunFolder

    (folder / "m.yaml").write_text(MATRIX, encoding="utf-8")
    matrix = load_matrix(folder / "m.yaml")
    cells = expand(matrix)
    requests: list[list[object]] = []
    with RunFolder.open_for_writing(folder / "run", plan_of(matrix, cells)) as run:
        for cell in cells:
            record, trial_requests, _ = run_with(measure, Trial(cell, 1))
            run.append(record)
            requests += [
                [verb, keys.get("gap")] for _, verb, keys in trial_requests if verb != "stop"
            ]
    column = load(folder / "run").frame["gap_bytes"]
    with passing():
        searches = asked_by_searches()
    return {
        "cells": [cell.settings.get("gap_bytes") for cell in cells],
        "requests": requests,
        "column": [str(column.dtype), column.fillna(-1).tolist()],
        "described": [describe("gap_bytes").unit, describe("gap_bytes").meaning],
        "labels": [setting("gap_bytes", 7), setting("gap_bytes", None)],
        "lacking": [demand.what for demand in lacking(cells[0], {"client": {"stream", "udp"}})],
        "in_schema": schema_text().count('"gap_axis": {'),
        "searches": searches,
    }


if __name__ == "__main__":
    add_row()
    with tempfile.TemporaryDirectory() as path:
        print(json.dumps(seen(Path(path))))
