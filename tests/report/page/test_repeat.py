"""The command that a cell shows measures exactly this cell again."""

from __future__ import annotations

import shlex
import subprocess
import sys
from collections import Counter
from pathlib import Path

import pytest
from browser import Browser, Tab
from click.testing import CliRunner

import netlab
from netlab.cli import cli

pytestmark = pytest.mark.needs("chromium")

MATRIX = """\
title: a small loopback
hosts: {server: {local: true}, client: {local: true}}
pairs: {LL: [server, client]}
pairings: [LL]
defaults: {duration: 50ms}
tests:
  - {test: stream, protocol: [TCP, UDP], message_size: 1448}
"""
NAME = "Ann's runs, $(touch here) 2"
COMMAND = "document.querySelector('#cell .repeat code').textContent"
OPEN = "document.getElementById('cell').open"


def typed(words: list[str], folder: Path) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, "-m", *words], cwd=folder, capture_output=True, text=True, check=False
    )


@pytest.fixture(scope="module")
def measured(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("loopback")
    (folder / "matrix.yaml").write_text(MATRIX)
    process = typed(["netlab", "run", "matrix.yaml", "--into", NAME], folder)
    assert process.returncode == 0, process.stderr
    return folder / NAME


def opened(browser: Browser, run: Path, place: int) -> Tab:
    tab = browser.tab()
    tab.open(run / "index.html")
    tab.click(f'button[data-cell="{place}"]')
    tab.until(OPEN)
    return tab


def test_the_repeat_command_on_the_page_measures_its_cell_again_and_no_other_cell(
    browser: Browser, measured: Path, tmp_path: Path
) -> None:
    cells = [cell.key for cell in netlab.load(measured).plan.cells]
    words = shlex.split(opened(browser, measured, 1).run(COMMAND))
    assert words == ["netlab", "resume", str(measured), "--redo", cells[1]]
    old_counts = Counter(record.cell for record in netlab.load(measured).records)
    process = typed([*words, "--no-report"], tmp_path)
    assert process.returncode == 0, process.stderr
    new_counts = Counter(record.cell for record in netlab.load(measured).records)
    assert new_counts - old_counts == Counter({cells[1]: 1})
    assert list(tmp_path.iterdir()) == []


def test_the_copy_button_copies_the_repeat_command_or_selects_it_if_copying_is_refused(
    browser: Browser, measured: Path
) -> None:
    tab = opened(browser, measured, 0)
    line = tab.run(COMMAND)
    tab.run(
        "Object.defineProperty(navigator, 'clipboard',"
        " {value: {writeText: async (text) => { window.copied = text; }}}); 0"
    )
    tab.click("#cell .copy")
    tab.until("window.copied")
    assert tab.run("window.copied") == line
    assert tab.run("document.querySelector('#cell .copy').textContent") == "copied"
    tab.run(
        "navigator.clipboard.writeText = async () => { throw new Error('no'); };"
        " getSelection().removeAllRanges()"
    )
    tab.click("#cell .copy")
    tab.until("getSelection().toString()")
    assert tab.run("getSelection().toString()") == line
    assert tab.run("document.querySelector('#cell .copy').textContent").startswith("selected")


def test_the_page_of_an_imported_run_shows_no_repeat_command(
    browser: Browser, imported: Path
) -> None:
    tab = opened(browser, imported, 0)
    assert tab.run("document.querySelector('#cell .repeat')") is None
    assert tab.run("document.querySelectorAll('#cell table').length") >= 2


@pytest.fixture(scope="module")
def imported(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("imported")
    (folder / "table.csv").write_text(
        "pairing,protocol,message_bytes,socket_buffer_bytes,mbit_per_s\nLL,TCP,64,65536,88.35\n"
    )
    outcome = CliRunner().invoke(
        cli, ["import", "table", str(folder / "table.csv"), "--into", str(folder / "run")]
    )
    assert outcome.exit_code == 0, outcome.output
    return folder / "run"
