"""The pytest plugin checks recorded and live runs, and loads nothing without a fixture."""

from __future__ import annotations

import importlib.metadata
import subprocess
import sys
from pathlib import Path

import pytest
from folders import DOCS
from made_streams import stream, stream_run

from netlab.build.binaries import local_probe

MATRIX = """\
link: {rate: 100Mbit}
pairings: [LL]
tests: [{test: stream, protocol: TCP, message_size: 1448}]
expect: [{throughput: {at_least: 90 % of the ceiling}}]
"""
LIVE = """\
hosts: {server: {local: true}, client: {local: true}}
pairs: {LL: [server, client]}
pairings: [LL]
defaults: {duration: 10s}
tests: [{test: stream, protocol: TCP, message_size: 8KiB}]
expect: [{throughput: {at_least: 1Mbit}}]
"""


def outcome_of(folder: Path, text: str, *words: str, ini: str = "") -> tuple[int, str]:
    """Exit code and output of pytest over one file of tests, in a process of its own."""
    (folder / "test_it.py").write_text(text)
    (folder / "pytest.ini").write_text(f"[pytest]\nfilterwarnings = error\n{ini}")
    command = [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", "--strict-markers"]
    process = subprocess.run(
        [*command, *words], cwd=folder, capture_output=True, text=True, timeout=400, check=False
    )
    return process.returncode, process.stdout + process.stderr


def test_pytest_finds_the_plugin_of_netlab_by_its_entry_point() -> None:
    (entry_point,) = importlib.metadata.entry_points(group="pytest11", name="netlab")
    assert entry_point.value == "netlab.testing.plugin"


@pytest.mark.lab
def test_tests_without_a_fixture_of_netlab_load_no_heavy_library(tmp_path: Path) -> None:
    code, output = outcome_of(
        tmp_path,
        "import sys\n"
        "def test_it(pytestconfig):\n"
        "    assert pytestconfig.pluginmanager.has_plugin('netlab')\n"
        "    heavy = {'pandas', 'paramiko', 'pydantic', 'matplotlib', 'yaml', 'click', 'jinja2'}\n"
        "    assert not heavy & sys.modules.keys()\n"
        "    of_ours = {name for name in sys.modules if name.startswith('netlab')}\n"
        "    ours = {'netlab', 'netlab.version', 'netlab.testing', 'netlab.testing.plugin'}\n"
        "    assert of_ours == ours\n"
        "def test_unnamed(netlab_run):\n"
        "    pass\n",
    )
    assert code == 1, output
    assert "1 passed, 1 error" in output, output
    assert "no run is named: mark the test with netlab_run(folder)" in output


@pytest.mark.lab
def test_the_pytest_plugin_checks_recorded_runs_against_their_expectations(tmp_path: Path) -> None:
    for name, figures in (("good", [94.1, 94.12, 94.09]), ("slow", [70.0, 70.1, 70.05])):
        stream_run(tmp_path / "runs" / name, (stream(), figures), matrix_text=MATRIX)
    code, output = outcome_of(
        tmp_path,
        "import pytest\n"
        "@pytest.mark.netlab_run('runs/good')\n"
        "def test_marker(netlab_run):\n"
        "    assert len(netlab_run.frame) == 3\n"
        "    netlab_run.assert_expected()\n"
        "def test_ini(netlab_run):\n"
        "    assert netlab_run.path.name == 'slow'\n"
        "    compared = netlab_run.compared_with('runs/good')\n"
        "    assert compared.rows[0].verdict.verdict == 'different'\n"
        "def test_unmet(netlab_run):\n"
        "    netlab_run.assert_expected('runs/good')\n"
        "@pytest.mark.netlab_run('runs/none')\n"
        "def test_missing(netlab_run):\n"
        "    pass\n",
        ini="netlab_run = runs/slow\n",
    )
    assert code == 1, output
    assert "1 failed, 2 passed, 1 error" in output, output
    assert "not met           TCP 1448: 74.4 % of the ceiling in trial 1, 3 of 3 figures" in output
    assert "no worse than the baseline by 5 %: 0 met, 1 not met" in output
    assert "runs/none" in output
    assert "Traceback" not in output


@pytest.mark.lab
def test_the_pytest_plugin_measures_a_live_run_once_per_session(
    tmp_path: Path,
) -> None:
    local_probe()
    (tmp_path / "live.yaml").write_text(LIVE)
    stream_run(tmp_path / "recorded", (stream(), [94.1]), matrix_text=MATRIX)
    code, output = outcome_of(
        tmp_path,
        "def test_first(netlab_live):\n"
        "    run = netlab_live('live.yaml', duration='200ms')\n"
        "    assert (run.frame['throughput_bit_per_s'] > 0).all()\n"
        "    run.assert_expected()\n"
        "def test_again(netlab_live):\n"
        "    run = netlab_live('live.yaml', duration='200ms')\n"
        "    assert len(list(run.path.parent.iterdir())) == 1\n"
        "    assert len(run.run.sessions) == 1\n"
        "def test_wrong(netlab_live):\n"
        "    netlab_live('live.yaml', dutration='100ms')\n"
        "def test_option(netlab_run):\n"
        "    assert netlab_run.path.name == 'recorded'\n",
        *("--netlab-into", "kept", "--netlab-run", "recorded"),
        ini="netlab_run = nowhere\n",
    )
    assert "1 failed, 3 passed" in output, output
    assert code == 1
    assert "did you mean `duration`?" in output
    assert [path.name.startswith("live-") for path in (tmp_path / "kept").iterdir()] == [True]


def test_each_option_of_the_pytest_plugin_is_documented() -> None:
    text = (DOCS / "comparing.md").read_text()
    assert [
        name for name in ("run", "baseline", "hosts", "into") if f"--netlab-{name}" not in text
    ] == []
