"""A journal from bytes that a test has made, as its reader reads it."""

from __future__ import annotations

import tempfile
from pathlib import Path

from netlab.store.journal import Damage, JournalLine, read_journal


def decode(data: bytes) -> tuple[tuple[JournalLine, ...], tuple[Damage, ...]]:
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "journal.jsonl"
        path.write_bytes(data)
        return read_journal(path)
