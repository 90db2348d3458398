"""Several processes create one run folder at the same moment: `make benchmark-folder-creation`.

Each folder is created by 2 to 8 processes (a random number by the seed), all woken at once. The
process that gets the folder keeps it until all others have ended; those must end with exit code 6,
and the folder must be complete.
"""

from __future__ import annotations

import argparse
import os
import random
import sys
import tempfile
import time
from pathlib import Path
from typing import NoReturn

from benchmarks.stage import Verdict, finish
from netlab.errors import NetlabError
from netlab.store.plan import Plan, PlannedCell
from netlab.store.reader import read
from netlab.store.run_folder import RunFolder
from netlab.trial.record import Record, Status

CELL = PlannedCell("LL-stream-udp-64-auto-00000000", "LL", "stream", {"protocol": "UDP"})
PLAN = Plan(
    title="one of many",
    content={"pairings": ["LL"]},
    content_hash="0" * 64,
    matrix_text="title: one of many\n",
    link=None,
    cells=(CELL,),
    repeats=1,
)
RECORD = Record(
    cell=CELL.key,
    trial=1,
    attempt=1,
    status=Status.FAILED,
    reason="no-peer",
    pairing="LL",
    server="alpha",
    client="beta",
    test="stream",
    started_at="",
    settings=CELL.settings,
    values={},
)
CRASHED = 70


def create_at_once(path: Path, processes: int) -> list[int]:
    """Let several processes create the folder at once. Returns their exit codes, sorted.

    Raises StoreError if the folder cannot be read afterwards.
    """
    (start, starter), (peers, over) = os.pipe(), os.pipe()
    children = []
    for _ in range(processes):
        child = os.fork()
        if child == 0:
            os.close(starter)
            _create(path, start, peers, over)
        children.append(child)
    for descriptor in (start, peers, over, starter):  # closing ``starter`` wakes all children
        os.close(descriptor)
    codes = sorted(os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) for child in children)
    stored = read(path)
    assert (stored.records, stored.damage) == ((RECORD,), ())
    return codes


def _create(path: Path, start: int, peers: int, over: int) -> NoReturn:
    code = CRASHED
    try:
        os.read(start, 1)
        with RunFolder.open_for_writing(path, PLAN) as folder:
            os.close(over)
            os.read(peers, 1)  # returns when every other process has closed ``over``
            folder.append(RECORD)
        code = 0
    except NetlabError as error:
        code = error.exit_code
    finally:
        os._exit(code)


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--creations", type=int, default=1000)
    parser.add_argument("--seed", type=int, default=1)
    arguments = parser.parse_args()
    chance = random.Random(arguments.seed)  # noqa: S311
    losers = wrong = 0
    began = time.monotonic()
    with tempfile.TemporaryDirectory() as aside:
        for number in range(arguments.creations):
            processes = chance.randint(2, 8)
            codes = create_at_once(Path(aside, f"new-{number}", "run"), processes)
            losers += processes - 1
            wrong += codes != [0] + [6] * (processes - 1)
    outcome = f"{wrong} of {arguments.creations} creations with another end, {losers} losers"
    verdict = Verdict(wrong == 0, "one creates the folder, every loser ends with exit 6", outcome)
    figures = f"n = {arguments.creations}, seed {arguments.seed}, {time.monotonic() - began:.0f} s"
    return finish([verdict], figures)


if __name__ == "__main__":
    sys.exit(main())
