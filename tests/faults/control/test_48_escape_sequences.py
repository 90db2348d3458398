"""Escape sequences that a host, its files or its names hold never reach the terminal."""

from __future__ import annotations

import json
import os
import pty
import unicodedata
from pathlib import Path

import pytest
from fault_runs import LOCAL, bench
from folders import FIXTURES
from liars import LiedTo, lied_to
from lying_probe import ESCAPES
from made_streams import netlab
from outcomes import OutcomeOf, Seen, injects, outcome_of

from netlab.terminal import excerpt, printable, printable_lines

__all__ = ["bench", "lied_to", "outcome_of"]

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


def planted_in(output: str) -> list[bytes]:
    """Escape sequences of a host in what a terminal was given, as latin-1."""
    return [sequence for sequence in PLANTED if sequence in output.encode("latin-1")]


COMMANDS = {"error": ("report", "export"), "last-words": ("status",), "holder": ()}
"""Way into a run → commands that read the run afterwards."""


def print_escapes_in_a_run(lied_to: LiedTo, lie: str) -> Seen:
    matrix = lied_to.honest.matrix("{test: stream, protocol: TCP, message_size: 1448}")
    words = ("run", str(matrix), "--into", "out", "--retries", "0", "--no-report")
    liar = "server" if lie == "holder" else "client"
    outputs = [on_terminal(lied_to, *words, lies=(lie,), liar=liar)]
    outputs += [on_terminal(lied_to, command, "out") for command in COMMANDS[lie]]
    return {"outputs": [output.decode("latin-1") for output in outputs]}


@pytest.mark.parametrize("lie", COMMANDS)
@injects()
def test_a_run_and_its_readers_print_no_escape_sequence_of_a_host(
    outcome_of: OutcomeOf, lie: str
) -> None:
    outcome = outcome_of(print_escapes_in_a_run, lie=lie)
    assert "owned" in outcome["outputs"][0]
    for output in outcome["outputs"]:
        assert planted_in(output) == []


KEYS = (
    *(f"facts.{name}" for name in ("kernel", "distribution", "hostname", "cpu_model")),
    *("facts.virtual", "facts.governor", "hello.os_release", "hello.architecture", "hello.clock"),
)


def print_escapes_as_facts(lied_to: LiedTo) -> Seen:
    inventory = lied_to.honest.folder / "hosts.yaml"
    inventory.write_text(
        f"hosts: {{server: {LOCAL}, client: {LOCAL}}}\npairs: {{LL: [server, client]}}\n"
    )
    lies = tuple(f"{key}={TEXT}" for key in KEYS)
    return {"output": on_terminal(lied_to, "hosts", str(inventory), lies=lies).decode("latin-1")}


@injects()
def test_the_survey_of_hosts_prints_no_escape_sequence_of_a_host(outcome_of: OutcomeOf) -> None:
    outcome = outcome_of(print_escapes_as_facts)
    assert planted_in(outcome["output"]) == []
    assert "client: " in outcome["output"]
    outcome.figure(f"{len(KEYS)} keys of a survey, 4 ways into a run")


def test_commands_print_no_escape_sequence_of_files_and_names(
    tmp_path: Path, capfdbinary: pytest.CaptureFixture[bytes]
) -> None:
    matrix = tmp_path / "matrix.yaml"
    matrix.write_text(f"title: {TEXT}\nhosts: {{{TEXT}: {LOCAL}}}\n{TEXT}: 1\n")
    table = tmp_path / "table.csv"
    table.write_text(f"pairing,{ESCAPES.strip()}\nWW,1\n", newline="")
    for words in (
        ("plan", str(matrix)),
        ("run", str(matrix)),
        ("import", "table", str(table)),
        ("status", ESCAPES.strip()),
        ("--" + ESCAPES.strip(),),
        ("compare", str(FIXTURES / "run-v1"), "--by", ESCAPES.strip()),
    ):
        _, out, err = netlab(capfdbinary, *words)
        assert planted_in((out + err).encode().decode("latin-1")) == []
        assert "owned" in out + err


def test_printable_text_has_no_control_characters() -> None:
    every = "".join(map(chr, [*range(0x300), 0x200B, 0x200E, 0x202E, 0x2028, 0xFEFF, 0xD800]))
    assert not {unicodedata.category(character) for character in printable(every)} & CONTROL
    assert set(printable_lines(every)) - set(printable(every)) == {"\n", "\t"}
    assert printable("Größe 日本語 é 🙂") == "Größe 日本語 é 🙂"
    assert excerpt("x" * 100) == "x" * 79 + "…"
