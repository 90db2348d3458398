"""What is printed fits the terminal, and is left alone where there is none."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
from command_line import netlab, netlab_on_terminal
from folders import MATRICES, REPORTS
from hypothesis import given
from hypothesis import strategies as st
from made_reports import overview_text

from netlab.findings.analysis import load
from netlab.report.answer import answer_of
from netlab.terminal import columns_of, fitted, table_lines, with_colours

WIDTHS = (60, 80, 120)
HOSTS = """\
hosts:
  red: {os: L, local: true, addresses: {test: 127.0.0.1, spare: 192.0.2.77}}
  blue: {os: W, local: true, addresses: {test: 127.0.0.1}}
"""
EXPECT = "expect:\n  - throughput: {at_least: 99 % of the ceiling}\n"
COMMANDS = {
    "plan": ("plan", "nettest.yaml", "--cells"),
    "status": ("status", "run"),
    "compare": ("compare", "run", "--by", "pairing"),
    "check": ("check", "run", "--expect", "expect.yaml"),
    "an error": ("check", "run"),
    "help": ("measure", "--help"),
}
ESCAPES = re.compile(rb"\x1b\[[0-9;?]*[A-Za-z]")


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Where commands are run: a run, a matrix, an inventory and an expectation, by short names."""
    scratch = tmp_path_factory.mktemp("widths")
    (scratch / "run").symlink_to(REPORTS / "lab-report")
    (scratch / "nettest.yaml").symlink_to(MATRICES / "nettest.yaml")
    (scratch / "hosts.yaml").write_text(HOSTS)
    (scratch / "expect.yaml").write_text(EXPECT)
    return scratch


def on_terminal(folder: Path, columns: int, *words: str, **env: str) -> bytes:
    """What netlab writes there, both streams, as it is written."""
    code, output = netlab_on_terminal(folder, columns, *words, **env)
    assert code in (0, 2, 4, 5), output
    return output


def assert_narrow(folder: Path, words: tuple[str, ...]) -> None:
    for columns in WIDTHS:
        output = ESCAPES.sub(b"", on_terminal(folder, columns, *words)).decode()
        lines = output.replace("\r", "").splitlines()
        assert len(lines) > 1 or len(lines[0]) > columns / 2
        assert [line for line in lines if columns_of(line) > columns] == []


@pytest.mark.parametrize("name", COMMANDS)
def test_no_output_line_is_wider_than_the_terminal(folder: Path, name: str) -> None:
    assert_narrow(folder, COMMANDS[name])


@pytest.mark.lab
def test_no_line_about_hosts_is_wider_than_the_terminal(folder: Path) -> None:
    assert_narrow(folder, ("hosts", "hosts.yaml"))


@pytest.mark.parametrize("columns", WIDTHS)
@pytest.mark.parametrize("name", ["lab-report", "nettest-lab", "connection-kinds"])
def test_the_folded_answer_of_a_run_contains_every_figure_of_its_tables(
    name: str, columns: int
) -> None:
    run = load(REPORTS / name)
    wide, narrow = overview_text(run), overview_text(run, width=columns)
    assert max(map(columns_of, wide.splitlines())) > columns or columns > 60
    tables = [line for line in narrow.splitlines() if re.search(r"  \S", line.strip())]
    assert [line for line in tables if columns_of(line) > columns and line.strip()[1] != " "] == []
    shown = [shown.figure(row) for shown in answer_of(run).tables for row in shown.rows]
    assert [figure for figure in shown if figure not in " ".join(narrow.split())] == []


def test_output_without_a_terminal_is_not_folded_and_has_no_colours(folder: Path) -> None:
    process = netlab(folder, "check", "run", "--expect", "expect.yaml", COLUMNS="40")
    assert max(map(len, process.stdout.splitlines())) > 80
    assert max(map(len, process.stderr.splitlines())) > 40
    assert "\x1b" not in process.stdout + process.stderr


def test_the_environment_variable_columns_overrides_the_width_of_the_terminal(folder: Path) -> None:
    output = on_terminal(folder, 200, *COMMANDS["status"], COLUMNS="50").decode()
    assert max(map(columns_of, output.replace("\r", "").splitlines())) <= 50


@pytest.mark.parametrize(
    ("env", "coloured"),
    [
        ({}, True),
        ({"NO_COLOR": ""}, True),
        ({"NO_COLOR": "0"}, False),
        ({"NO_COLOR": "1"}, False),
        ({"TERM": "dumb"}, False),
    ],
)
def test_failures_are_coloured_unless_no_color_or_a_dumb_terminal_forbids_colours(
    folder: Path, env: dict[str, str], coloured: bool
) -> None:
    output = on_terminal(folder, 80, *COMMANDS["check"], **env)
    assert (b"\x1b[31m" in output) is coloured


def test_only_failures_and_warnings_are_coloured() -> None:
    assert with_colours("0 failed, 10 not met") == "0 failed, \x1b[31m10 not met\x1b[0m"
    assert with_colours("warning: far") == "\x1b[33mwarning\x1b[0m: far"
    assert with_colours("1,200 failed") == "\x1b[31m1,200 failed\x1b[0m"
    assert with_colours("nothing is wrong") == "nothing is wrong"
    assert with_colours("13 met, 0 not met") == "13 met, 0 not met"
    assert with_colours("  not met  TCP 64") == "  \x1b[31mnot met\x1b[0m  TCP 64"
    assert with_colours("netlab: x: gone") == "\x1b[31mnetlab:\x1b[0m x: gone"
    assert with_colours("LL stream: failed: gone") == "LL stream: \x1b[31mfailed\x1b[0m: gone"


WORD = st.text("abcdeñ漢 ", max_size=30)


@given(
    st.integers(1, 6).flatmap(
        lambda n: st.lists(st.lists(WORD, min_size=n, max_size=n), min_size=1, max_size=5)
    ),
    st.integers(20, 100),
    st.booleans(),
)
def test_a_folded_table_fits_its_width_and_contains_every_letter(
    rows: list[list[str]], width: int, right: bool
) -> None:
    lines = table_lines(rows, width, right=right)
    assert all(columns_of(line) <= width for line in lines)
    # The first column is before each block; every other cell is there once.
    for index in range(1, len(rows[0])):
        for letter in "abcdeñ漢":
            count = sum(row[index].count(letter) for row in rows)
            assert sum(line.count(letter) for line in lines) >= count


@given(st.text("ab -", max_size=200), st.integers(20, 60))
def test_a_line_is_folded_between_words_and_loses_no_word(text: str, width: int) -> None:
    folded_text = fitted(text, width)
    assert folded_text.split() == text.split()
    longest = max((len(word) for word in text.split()), default=0)
    assert all(
        len(line) <= max(width, width // 2 + 2 + longest) for line in folded_text.splitlines()
    )


def test_a_table_is_split_by_columns_before_text_within_a_column_is_wrapped() -> None:
    rows = [("pairing", "one", "two", "three"), ("LL", "1" * 20, "2" * 20, "3" * 20)]
    assert table_lines(rows, 52) == [
        "pairing  one                   two",
        f"LL       {'1' * 20}  {'2' * 20}",
        "",
        "pairing  three",
        f"LL       {'3' * 20}",
    ]
    assert table_lines([("what", "why"), ("it", "because it is so far away")], 20) == [
        "what  why",
        "it    because it is",
        "      so far away",
    ]
