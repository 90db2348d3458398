"""What the fuzz targets of importers share: a table in, a run folder out, and its frame."""

from __future__ import annotations

import shutil
import tempfile
from pathlib import Path

from netlab.errors import NetlabError
from netlab.experiment.matrix import Link
from netlab.imports import importer
from netlab.results.export import export

FOLDER = Path(tempfile.mkdtemp(prefix="netlab-fuzz-", dir="/dev/shm"))
LINK = Link(100e6, 1500)


def import_one(name: str, data: bytes, facts: bytes | None = None) -> None:
    """The whole import, as the command does it."""
    table, into, facts_file = FOLDER / "table.csv", FOLDER / "run", FOLDER / "facts.yaml"
    table.write_bytes(data)
    options = {
        option.name: option.convert(()) if option.repeated and option.convert else option.default
        for option in importer(name).options
    }
    if facts is not None:
        facts_file.write_bytes(facts)
    try:
        importer(name).read(
            table,
            into,
            link=LINK,
            title=None,
            facts=None if facts is None else facts_file,
            **options,
        )
        export(into, "csv")
    except NetlabError as error:
        str(error).encode()
    finally:
        shutil.rmtree(into, ignore_errors=True)
