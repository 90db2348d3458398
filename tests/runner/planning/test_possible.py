"""Pairings without hosts: one line reports them, they stay pending, the rest is measured."""

from __future__ import annotations

import json
import sys
from pathlib import Path

import pytest
from folders import MATRICES

from netlab.config.inventory import load_inventory
from netlab.config.matrix_file import load_matrix
from netlab.errors import UsageError
from netlab.experiment.matrix import expand
from netlab.runner.options import possible_of
from netlab.runner.planning import plan_of, plan_text

REPORT = MATRICES / "lab-report.yaml"
LINUX = (
    "  {name}: {{ssh: a@192.0.2.{number}, os: {os}, addresses: {{test: 198.51.100.{number}}}}}\n"
)


def inventory_file(folder: Path, *systems: str, more: str = "") -> Path:
    file = folder / "lab.yaml"
    hosts = [LINUX.format(name=f"h{i}", number=i, os=os) for i, os in enumerate(systems, 1)]
    file.write_text("hosts:\n" + "".join(hosts) + more)
    return file


@pytest.mark.parametrize(
    ("systems", "sentence"),
    [
        (("L", "L"), "has hosts for LL: 104 of 416 cells; WL, LW and WW need a Windows host"),
        (("L", "L", "W"), "has hosts for LL, WL and LW: 312 of 416 cells; WW needs a Windows "),
        (("L", "W"), "LL needs a Linux host on a second machine; WW needs a Windows host on a "),
        (("L", "L", "W", "W"), ""),
    ],
)
def test_pairings_without_hosts_are_reported_in_one_line(
    tmp_path: Path, systems: tuple[str, ...], sentence: str
) -> None:
    cells = expand(load_matrix(REPORT))
    inventory = load_inventory(inventory_file(tmp_path, *systems))
    possible = possible_of(cells, inventory)
    assert sentence in possible.sentence
    assert bool(sentence) == bool(possible.sentence)
    assert {cell.pairing for cell in possible.cells}.isdisjoint(possible.lacking)
    assert {cell.pairing for cell in possible.cells} | set(possible.lacking) == {
        cell.pairing for cell in cells
    }


def test_an_inventory_that_has_hosts_for_no_pairing_is_refused(tmp_path: Path) -> None:
    cells = expand(load_matrix(REPORT))
    inventory = load_inventory(inventory_file(tmp_path, "M"))
    with pytest.raises(
        UsageError,
        match="no cell can be measured: LL needs a Linux host; WL and LW need a Linux host and a ",
    ):
        possible_of(cells, inventory)


def test_two_operating_systems_of_one_machine_cannot_form_a_pairing(tmp_path: Path) -> None:
    entries = "".join(
        f"  {os}: {{ssh: a@192.0.2.9, os: {os}, machine: nas, addresses: {{t: 198.51.100.9}}}}\n"
        for os in "LW"
    )
    inventory = load_inventory(inventory_file(tmp_path, more=entries))
    assert inventory.wanting("WL") == "a Windows host and a Linux host on two machines"


def test_a_mirror_cannot_be_a_client(tmp_path: Path) -> None:
    mirror = "  echo: {os: L, mirror: {address: 192.0.2.7}}\n"
    inventory = load_inventory(inventory_file(tmp_path, "W", more=mirror))
    assert inventory.wanting("WL") == "a Linux host that can be the client"


def test_the_plan_names_missing_hosts_once_and_counts_the_remaining_cells(tmp_path: Path) -> None:
    plan = plan_of(REPORT, inventory_file(tmp_path, "L", "L"))
    text = plan_text(plan)
    assert text.count("WL, LW and WW need a Windows host") == 1
    assert "104 cells x 1 trial = 104 trials" in text
    assert json.loads(plan.as_json())["shortfall"] == plan.shortfall


@pytest.mark.lab
def test_a_run_measures_pairings_that_have_hosts_and_leaves_the_others_pending(
    tmp_path: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    from netlab.errors import HostError, IncompleteRun
    from netlab.results.value_types import RUN_CHECK
    from netlab.runner.options import Options
    from netlab.runner.progress import Progress
    from netlab.runner.run import run
    from netlab.store.reader import read

    matrix = tmp_path / "m.yaml"
    matrix.write_text(
        "title: t\nhosts:\n  a: {local: true}\n  b: {local: true}\npairings: [LL, WL, WW]\ntests:\n"
        "  - {test: stream, protocol: TCP, message_size: 8192, duration: 100ms, warm_up: 0s}\n"
    )
    strict = Options(matrix=matrix, into=tmp_path / "strict", strict=True)
    sentence = r"--strict: .* has hosts for LL: 1 of 3 cells; WL and WW need a"
    with pytest.raises(HostError, match=sentence):
        run(strict, Progress())
    assert not (tmp_path / "strict").exists()
    outcome = run(Options(matrix=matrix, into=tmp_path / "run", wait_s=60), Progress())
    with pytest.raises(IncompleteRun, match="2 pending trials; to resume: netlab resume"):
        outcome.raise_for_status()
    assert outcome.counts == {"ok": 1, "pending": 2}
    output = capfd.readouterr().err
    assert "1 trial to measure" in output
    assert output.count("WL and WW need a Windows host") == 1
    records = {record.pairing: record for record in read(tmp_path / "run", RUN_CHECK).records}
    assert (records["WL"].reason, records["WW"].reason) == ("no-host", "no-host")
    assert records["WL"].detail == "WL needs a Windows host"


pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="a host of its own is Linux")
