"""A journal: whole lines are read back, damage is told, and the frame can be made.

Each line is tried with the checksum that it has, and with the right one.
"""

from __future__ import annotations

import shutil
import tempfile
import zlib
from pathlib import Path

from folders import FIXTURES
from journals import decode

from netlab.errors import NetlabError
from netlab.results.run import load

FOLDER = Path(tempfile.mkdtemp(prefix="netlab-fuzz-", dir="/dev/shm"))
shutil.copytree(FIXTURES / "run-v1", FOLDER / "run")


def one_input(data: bytes) -> None:
    decode(data)
    bodies = [line.partition(b" ")[2] or line for line in data.split(b"\n")]
    journal = b"".join(b"%08x %s\n" % (zlib.crc32(body), body) for body in bodies)
    (FOLDER / "run" / "journal.jsonl").write_bytes(journal)
    try:
        run = load(FOLDER / "run")
        if run.latest and data[-1] % 16 == 0:  # it takes a hundred times as long as the rest
            _ = run.frame
    except NetlabError:
        return
