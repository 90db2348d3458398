"""A matrix: cells, or every fault with its place."""

from __future__ import annotations

import tempfile
from pathlib import Path

from netlab.config.matrix_file import load_matrix
from netlab.errors import NetlabError
from netlab.experiment.matrix import expand

FILE = Path(tempfile.mkdtemp(prefix="netlab-fuzz-", dir="/dev/shm")) / "matrix.yaml"


def one_input(data: bytes) -> None:
    FILE.write_bytes(data)
    try:
        expand(load_matrix(FILE))
    except NetlabError as error:
        str(error).encode()
