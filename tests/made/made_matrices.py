"""Small matrix files, fixtures that read such a text or its faults, and the streams of it."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from netlab.config.matrix_file import load_matrix
from netlab.errors import MatrixError
from netlab.experiment.cells import Cell
from netlab.experiment.matrix import Matrix, expand
from netlab.kinds import Stream

SMALL = """\
title: small
pairings: [LL, WL]
defaults: {duration: 2s}
tests:
  - test: stream
    protocol: [TCP, UDP]
    message_size: [64, 1500]
"""

ROUND_TRIPS = """\
title: round trips
pairings: [LL]
tests:
  - test: round_trip
    protocol: UDP
    message_size: [18, 1472]
    count: 10000
    server_receive: [blocking, spinning]
    override: [{when: {message_size: 1472}, set: {count: 1000}}]
"""


@pytest.fixture
def load(tmp_path: Path) -> Any:
    def from_text(text: str, **overrides: str) -> Matrix:
        path = tmp_path / "m.yaml"
        path.write_text(text, encoding="utf-8")
        return load_matrix(path, overrides)

    return from_text


@pytest.fixture
def faults(load: Any) -> Any:
    def of_text(text: str) -> list[str]:
        with pytest.raises(MatrixError) as caught:
            load(text)
        return [line.partition("m.yaml:")[2] for line in str(caught.value).splitlines()]

    return of_text


def stream_of(cell: Cell) -> Stream:
    assert isinstance(cell.setup, Stream)
    return cell.setup


def streams(matrix: Matrix) -> list[Stream]:
    return [stream_of(cell) for cell in expand(matrix) if cell.pairing == matrix.pairings[0]]
