"""What the fuzz targets of importers share: a table or an output in, a run folder out.

The output of a tool is only parsed, which is a hundred times faster; one of 64 is imported
as well.
"""

from __future__ import annotations

import shutil
import tempfile
from collections.abc import Callable
from pathlib import Path

from netlab.errors import NetlabError
from netlab.ethernet import Link
from netlab.imports import importer
from netlab.imports.common.csv_table import text_of
from netlab.results.export import export

FOLDER = Path(tempfile.mkdtemp(prefix="netlab-fuzz-", dir="/dev/shm"))
LINK = Link(100e6, 1500)
FILES = ("test.client.csv", "test.server.csv", "test.txt")
"""Names of an output; an importer may look at them."""


def import_one(
    name: str, data: bytes, facts: bytes | None = None, columns: bytes | None = None
) -> None:
    """The whole import, as the command does it."""
    table, into, facts_file = FOLDER / "table.csv", FOLDER / "run", FOLDER / "facts.yaml"
    table.write_bytes(data)
    options = {
        option.name: option.convert(()) if option.repeated and option.convert else option.default
        for option in importer(name).options
    }
    if facts is not None:
        facts_file.write_bytes(facts)
    if columns is not None:
        options["columns"] = FOLDER / "columns.yaml"
        options["columns"].write_bytes(columns)
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


def tool_target(tool: str) -> Callable[[bytes], None]:
    """The target of a tool's importer."""
    read = importer(tool).read
    words = read.keywords  # type: ignore[attr-defined]  # (a partial of import_results)
    parse, decode = words["parse"], words.get("decode", text_of)

    def one_input(data: bytes) -> None:
        name = FILES[len(data) % len(FILES)]
        into = FOLDER / "run"
        try:
            parse(decode(data, name), name)
            if sum(data) % 64 == 0:
                output = FOLDER / name
                output.write_bytes(data)
                read((output,), into, names={}, link=LINK)
                export(into, "csv")
        except NetlabError as error:
            str(error).encode()
        finally:
            if into.exists():
                shutil.rmtree(into)

    return one_input
