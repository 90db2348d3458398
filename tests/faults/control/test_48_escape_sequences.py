"""Escape sequences that a host, its files or its names hold never reach the terminal."""

from __future__ import annotations

import json
import os
import pty
import unicodedata
from collections.abc import Callable

import pytest
from fault_runs import LOCAL, Bench, bench
from folders import FIXTURES
from liars import LiedTo, lied_to
from lying_probe import ESCAPES

from netlab.terminal import excerpt, printable, printable_lines

__all__ = ["bench", "lied_to"]

pytestmark = pytest.mark.alone

CONTROL = {"Cc", "Cf", "Cs", "Zl", "Zp"}
PLANTED = (b"\x1b]0;", b"\x1b[2J", b"\x1b[31mred", b"\xc2\x9b", b"\x07", b"\x9b5m")
"""What ESCAPES has; a run colours words of its own, and its bar moves the cursor."""
TEXT = json.dumps(ESCAPES)


def on_terminal(
    lied: LiedTo, *words: str, lies: tuple[str, ...] = (), liar: str = "client"
) -> bytes:
    """All that a command prints on a terminal of its own."""
    ours, its = pty.openpty()
    child = lied.bench.start(
        *words,
        env={**lied.env(*lies, liar=liar), "TERM": "xterm", "COLUMNS": "200"},
        stdout=its,
        stderr=its,
    )
    os.close(its)
    output = b""
    try:
        while part := os.read(ours, 65536):
            output += part
    except OSError:  # how Linux says that nobody has the terminal any more
        pass
    os.close(ours)
    child.wait(10)
    assert b"Traceback" not in output, output.decode()
    return output


def clean(output: bytes) -> bool:
    return not any(sequence in output for sequence in PLANTED)


@pytest.mark.parametrize(
    ("lie", "liar", "commands"),
    [
        ("error", "client", ("report", "export")),
        ("last-words", "client", ("status",)),
        ("holder", "server", ()),
    ],
)
def test_a_run_prints_none(lied_to: LiedTo, lie: str, liar: str, commands: tuple[str, ...]) -> None:
    matrix = lied_to.honest.matrix("{test: stream, protocol: TCP, message_size: 1448}")
    words = ("run", str(matrix), "--into", "lied", "--retries", "0", "--no-report")
    output = on_terminal(lied_to, *words, lies=(lie,), liar=liar)
    assert clean(output), output
    assert b"owned" in output
    for command in commands:
        output = on_terminal(lied_to, command, "lied")
        assert clean(output), output


def test_the_survey_and_the_plan_print_none(
    lied_to: LiedTo, record_property: Callable[[str, object], None]
) -> None:
    inventory = lied_to.honest.folder / "hosts.yaml"
    inventory.write_text(
        f"hosts: {{server: {LOCAL}, client: {LOCAL}}}\npairs: {{LL: [server, client]}}\n"
    )
    names = ("kernel", "distribution", "hostname", "cpu_model", "virtual", "governor")
    lies = [f"facts.{name}={TEXT}" for name in names]
    lies += [f"hello.{name}={TEXT}" for name in ("os_release", "architecture", "clock")]
    output = on_terminal(lied_to, "hosts", str(inventory), lies=tuple(lies))
    assert clean(output), output
    assert b"client: " in output
    record_property("figure", f"{len(lies)} keys of a survey, 4 ways into a run")


def test_names_in_files_of_others_print_none(bench: Bench, lied_to: LiedTo) -> None:
    matrix = bench.folder / "matrix.yaml"
    matrix.write_text(f"title: {TEXT}\nhosts: {{{TEXT}: {LOCAL}}}\n{TEXT}: 1\n")
    table = bench.folder / "table.csv"
    table.write_text(f"pairing,{ESCAPES.strip()}\nWW,1\n", newline="")
    for words in (
        ("plan", str(matrix)),
        ("run", str(matrix)),
        ("import", "table", str(table)),
        ("status", ESCAPES.strip()),
        ("--" + ESCAPES.strip(),),
        ("compare", str(FIXTURES / "run-v1"), "--by", ESCAPES.strip()),
    ):
        output = on_terminal(lied_to, *words)
        assert clean(output), output
        assert b"owned" in output, output


def test_one_function_cleans() -> None:
    every = "".join(map(chr, [*range(0x300), 0x200B, 0x200E, 0x202E, 0x2028, 0xFEFF, 0xD800]))
    assert not {unicodedata.category(character) for character in printable(every)} & CONTROL
    assert set(printable_lines(every)) - set(printable(every)) == {"\n", "\t"}
    assert printable("Größe 日本語 é 🙂") == "Größe 日本語 é 🙂"
    assert excerpt("x" * 100) == "x" * 79 + "…"
