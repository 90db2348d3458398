"""-q prints the result alone, -v what each host was asked; the exit codes are the same."""

from __future__ import annotations

import re
import shutil
import subprocess
from pathlib import Path

import pytest
from command_line import netlab
from folders import REPORTS

INVENTORY = """\
hosts:
  good: {os: L, local: true, addresses: {test: 127.0.0.1}}
  bad: {os: L, local: true, addresses: {test: 192.0.2.77}}
"""
MATRIX = """\
title: quiet
hosts: {a: {os: L, local: true, addresses: {test: 127.0.0.1}},
        b: {os: L, local: true, addresses: {test: 127.0.0.1}}}
pairs: {LL: [a, b]}
pairings: [LL]
repeats: 2
tests: [{test: stream, protocol: TCP, message_size: 1448, duration: 200ms}]
"""

pytestmark = pytest.mark.needs("linux", "cc")


@pytest.mark.lab
def test_a_quiet_run_prints_only_its_folder_and_a_verbose_run_every_trial(tmp_path: Path) -> None:
    (tmp_path / "m.yaml").write_text(MATRIX)
    # Other tests on this machine may be measuring.
    run = ("run", "m.yaml", "--wait", "2min", "--no-report", "--into")
    quiet = netlab(tmp_path, *run, "quiet", "-q")
    assert (quiet.returncode, quiet.stdout, quiet.stderr) == (0, "quiet\n", "")
    verbose = netlab(tmp_path, *run, "verbose", "--verbose")
    assert verbose.returncode == 0
    lines = re.findall(
        r"^\d\d:\d\d:\d\d  LL-\S+, trial (\d)  .*: ok after \d.*s: .*bit/s$", verbose.stderr, re.M
    )
    assert lines == ["1", "2"]
    assert re.search(r"^a: asked hello.*: \d+ keys after ", verbose.stderr, re.M)
    assert re.search(r"^a: asked facts.*: \d+ keys after ", verbose.stderr, re.M)
    assert "asked heartbeat" not in verbose.stderr
    assert verbose.stdout.startswith("quiet\nLinux to Linux over TCP: ")


@pytest.mark.lab
def test_netlab_hosts_with_quiet_prints_only_unfit_hosts(tmp_path: Path) -> None:
    (tmp_path / "hosts.yaml").write_text(INVENTORY)
    quiet, verbose = (netlab(tmp_path, "hosts", "hosts.yaml", word) for word in ("-q", "-v"))
    assert quiet.returncode == verbose.returncode == 4
    assert "good" not in quiet.stdout
    assert "bad: not fit" in quiet.stdout
    assert quiet.stderr == "netlab: hosts not fit for measuring: bad\n"
    assert "good: fit" in verbose.stdout
    assert re.search(
        r"^good: asked facts to=127\.0\.0\.1: \d+ keys after .*s$", verbose.stderr, re.M
    )
    (tmp_path / "hosts.yaml").write_text(INVENTORY.replace("192.0.2.77", "127.0.0.1"))
    fit = netlab(tmp_path, "hosts", "hosts.yaml", "-q")
    assert (fit.returncode, fit.stdout, fit.stderr) == (0, "", "")


def test_netlab_report_prints_only_the_pages_path_if_quiet_and_also_its_times_if_verbose(
    tmp_path: Path,
) -> None:
    shutil.copytree(REPORTS / "connection-kinds", tmp_path / "run")
    quiet = netlab(tmp_path, "report", "run", "-q")
    assert (quiet.returncode, quiet.stdout, quiet.stderr) == (0, "run/index.html\n", "")
    verbose = netlab(tmp_path, "report", "run", "-v")
    assert re.fullmatch(r"run: read in .*s, drawn in .*s\n", verbose.stderr)
    assert verbose.stdout.endswith("report: run/index.html\n")


def test_netlab_check_with_quiet_prints_an_unmet_verdict_only_to_standard_error(
    tmp_path: Path,
) -> None:
    (tmp_path / "expect.yaml").write_text("expect: [{throughput: {at_least: 1Gbit}}]\n")
    words = ("check", str(REPORTS / "lab-report"), "--expect", "expect.yaml")
    quiet, plain = netlab(tmp_path, *words, "-q"), netlab(tmp_path, *words)
    assert quiet.returncode == plain.returncode == 5
    assert quiet.stdout == ""
    assert quiet.stderr == plain.stderr
    assert "not met" in plain.stdout


@pytest.mark.lab
def test_netlab_probes_build_without_a_target_copies_the_probe_of_this_machine(
    tmp_path: Path,
) -> None:
    process = netlab(tmp_path, "probes", "build", "--into", "copies")
    assert process.returncode == 0, process.stderr
    copy = tmp_path / process.stdout.strip()
    assert copy.parent == tmp_path / "copies"
    greeted = subprocess.run(
        [copy, "agent"],
        input="1 hello\n",
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
    )
    assert '"type":"hello"' in greeted.stdout
    assert netlab(tmp_path, "probes", "build", "-q").stderr == ""
