"""A hostile table or file of facts is refused with the place, in a second and in little memory."""

from __future__ import annotations

import random
import time
import tracemalloc
from collections.abc import Callable
from pathlib import Path

import pytest
from commands import Commands, commands

from netlab.errors import UsageError
from netlab.ethernet import Link
from netlab.imports.table import import_table

__all__ = ["commands"]

HEAD = "pairing,protocol,message_bytes,socket_buffer_bytes,mbit_per_s\n"
ROW = "WL,TCP,1024,8192,{}\n"
TABLES: dict[str, tuple[bytes, str]] = {
    "1e308": (HEAD.encode() + ROW.format("1e308").encode(), "2:18: mbit_per_s: '1e308' is not"),
    "NaN": (HEAD.encode() + ROW.format("NaN").encode(), "'NaN' is not a plain decimal number"),
    "Infinity": (HEAD.encode() + ROW.format("Infinity").encode(), "'Infinity' is not a plain"),
    "-1": (HEAD.encode() + ROW.format("-1").encode(), "'-1' is not a plain decimal number"),
    "digits": (HEAD.encode() + ROW.format("9" * 4000).encode(), "is not a plain decimal number"),
    "one line": (b"x" * (8 << 20), "longer than 4096 characters"),
    "columns": (",".join(map(str, range(2000))).encode(), "longer than 4096 characters"),
    "rows": (HEAD.encode() + b"\n" * 4_000_000 + b"x\n" * 100_000, "faults; reading stopped here"),
    "compressed": (b"\x1f\x8b\x08" + random.Random(1).randbytes(5000), "not UTF-8"),  # noqa: S311
    "NUL": (HEAD.encode() + b"WL,TCP,1024,8192,\x00\n", "is not a plain decimal number"),
    "escapes": (HEAD.encode() + b"\x1b[2J\x1b]0;x\x07,TCP,1024,8192,1\n", "is not two capitals"),
    "quotes": (HEAD.encode() + b'"' * 3999, "the quotes do not match"),
    "too long": (b"x" * (17 << 20), "larger than 16 MiB"),
}
BOMB = "".join(f"b{n}: &b{n} [*b{n - 1}, *b{n - 1}]\n" for n in range(1, 40))
FACTS: dict[str, tuple[str, str]] = {
    "deep": ("source: " + "[" * 100_000, "nested"),
    "alias bomb": ("source: &b0 [x]\n" + BOMB, "facts.yaml:"),
    "object": ("source: !!python/object/apply:os.system [id]\n", "tag"),
    "infinite": (
        "source: x\ndurations: [{pairings: [WL], asked: .inf, where: y}]\n",
        "durations",
    ),
}
GOOD = HEAD + ROW.format("94.13")
SLOWEST_S, MOST_BYTES = 1.0, 200e6


def imported(folder: Path, data: bytes, facts: str | None = None) -> str:
    """What the import of a table says, all of it; it must refuse."""
    table, facts_file = folder / "table.csv", folder / "facts.yaml"
    table.write_bytes(data)
    if facts is not None:
        facts_file.write_text(facts)
    with pytest.raises(UsageError) as raised:
        import_table(
            table,
            folder / "out",
            title=None,
            link=Link(100e6, 1500),
            facts=None if facts is None else facts_file,
        )
    assert not (folder / "out").exists()
    return str(raised.value)


def input_of(name: str) -> tuple[bytes, str | None, str]:
    """Table, facts, and words of the refusal."""
    data, words = TABLES.get(name, (GOOD.encode(), ""))
    facts, words = FACTS.get(name, (None, words))
    return data, facts, words


@pytest.mark.parametrize("name", [*TABLES, *FACTS])
def test_a_hostile_table_or_file_of_facts_is_refused_with_its_place(
    tmp_path: Path, name: str
) -> None:
    data, facts, words = input_of(name)
    message = imported(tmp_path, data, facts)
    assert words in message
    assert message.startswith(str(tmp_path / ("table.csv" if facts is None else "facts.yaml")))
    assert len(message) < 100_000


@pytest.mark.night
@pytest.mark.parametrize("name", [*TABLES, *FACTS])
def test_a_hostile_table_or_file_of_facts_is_refused_at_little_cost(
    tmp_path: Path, name: str, record_property: Callable[[str, object], None]
) -> None:
    data, facts, _ = input_of(name)
    began_s = time.process_time()
    imported(tmp_path, data, facts)
    took_s = time.process_time() - began_s
    tracemalloc.start()
    imported(tmp_path, data, facts)
    peak_bytes = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert took_s < SLOWEST_S
    assert peak_bytes < MOST_BYTES
    record_property("figure", f"{len(TABLES) + len(FACTS)} files, each under 1 s and 200 MB")
    record_property("n", 1)


def test_netlab_import_refuses_a_hostile_table_with_messages_and_exit_code_2(
    commands: Commands,
) -> None:
    for name in ("rows", "escapes", "1e308"):
        (commands.folder / "table.csv").write_bytes(TABLES[name][0])
        process = commands.run("import", "table", "table.csv", "--into", "out")
        assert process.returncode == 2
        assert all(line.startswith("table.csv:") for line in process.stderr.splitlines())
