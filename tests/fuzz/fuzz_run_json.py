"""A run's header: a plan, or a sentence; the plan's frame can be made."""

from __future__ import annotations

import json
import shutil
import tempfile
from pathlib import Path

from folders import FIXTURES

from netlab.errors import NetlabError
from netlab.results.run import load
from netlab.store.plan import _checksum

FOLDER = Path(tempfile.mkdtemp(prefix="netlab-fuzz-", dir="/dev/shm"))
shutil.copytree(FIXTURES / "run-v1", FOLDER / "run")


def one_input(data: bytes) -> None:
    _try(data)
    try:
        plan = json.loads(data)
        if isinstance(plan, dict):
            plan["checksum"] = _checksum({k: v for k, v in plan.items() if k != "checksum"})
            _try(json.dumps(plan).encode())
    except (ValueError, RecursionError, TypeError):
        return


def _try(data: bytes) -> None:
    (FOLDER / "run" / "run.json").write_bytes(data)
    try:
        _ = load(FOLDER / "run").frame
    except NetlabError:
        return
