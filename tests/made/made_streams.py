"""Runs of streams made up for the tests of comparing and checking, and netlab's command."""

from __future__ import annotations

import sys
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any
from unittest.mock import patch

import pytest
from made_readings import failure, plan_of, planned, result

from netlab import cli
from netlab.compare.align import Judged
from netlab.compare.runs import Compared
from netlab.ethernet import Link
from netlab.findings.analysis import Analysis, load
from netlab.store.plan import PlannedCell
from netlab.store.run_folder import RunFolder
from netlab.trial.record import Record, Value

LINK = Link(1e8, 1500)
Mbit = float | None
"""Of one trial; ``None``: it failed."""
STEADY = (94.10, 94.12, 94.11, 94.09, 94.13)
LESS = tuple(0.97 * figure for figure in STEADY)


def stream(
    pairing: str = "LL", protocol: str = "TCP", size: int = 1448, **more: Any
) -> PlannedCell:
    return planned("stream", pairing, protocol=protocol, message_bytes=size, **more)


def stream_run(path: Path, *cells: tuple[PlannedCell, Sequence[Mbit]], **plan: Any) -> Analysis:
    """A run folder with a trial a figure."""
    trials = [(cell, [stream_values(figure) for figure in figures]) for cell, figures in cells]
    return run_of(path, *trials, **plan)


def run_of(
    path: Path,
    *cells: tuple[PlannedCell, Sequence[Mapping[str, Value] | None]],
    **plan: Any,
) -> Analysis:
    """A run folder with a trial for each set of values; ``None`` failed."""
    most = max(len(trials) for _, trials in cells)
    own = [
        PlannedCell(c.key, c.pairing, c.test, c.settings, len(v) if len(v) < most else None)
        for c, v in cells
    ]
    run_plan = plan_of(own, most, **{"link": LINK, "matrix_text": "title: made up\n", **plan})
    with RunFolder.open_for_writing(path, run_plan) as folder:
        for cell, trials in cells:
            for number, values in enumerate(trials, start=1):
                folder.append(_record(cell, number, values), durable=False)
    return load(path)


def _record(cell: PlannedCell, trial: int, values: Mapping[str, Value] | None) -> Record:
    if values is None:
        return failure(cell, trial, "peer-vanished")
    return result(cell, trial, values)


def stream_values(mbit_per_s: Mbit, **more: Value) -> dict[str, Value] | None:
    if mbit_per_s is None:
        return None
    return {
        "throughput_bit_per_s": mbit_per_s * 1e6,
        "mss_bytes": 1448,
        "tcp_timestamps": True,
        "same_host": False,
        **more,
    }


def two(tmp_path: Path, old: Sequence[Mbit], new: Sequence[Mbit]) -> tuple[Analysis, Analysis]:
    return (
        stream_run(tmp_path / "old", (stream(), old)),
        stream_run(tmp_path / "new", (stream(), new)),
    )


def only_row(compared: Compared) -> Judged:
    (row,) = compared.rows
    return row


def netlab(capfdbinary: pytest.CaptureFixture[bytes], *words: str) -> tuple[int, str, str]:
    """Exit code, standard output and standard error of netlab's command, within this process."""
    with patch.object(sys, "argv", ["netlab", *words]), pytest.raises(SystemExit) as excinfo:
        cli.main()
    out, err = capfdbinary.readouterr()
    code = excinfo.value.code
    return code if isinstance(code, int) else 1, out.decode(), err.decode()
