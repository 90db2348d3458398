"""The lab's Windows hosts without root: the plan, what is missing, and wine's template."""

from __future__ import annotations

import json
import os
import re
import textwrap
from collections.abc import Iterable
from pathlib import Path

import pytest
from click.testing import CliRunner
from folders import ROOT
from labs import WINDOWS_LAB as NAME

from netlab import lab
from netlab.cli import cli
from netlab.config.inventory import load_inventory
from netlab.config.matrix_file import load_matrix
from netlab.errors import HostError
from netlab.experiment.matrix import expand
from netlab.lab import life, network, programs, state
from netlab.lab.plan import LabOptions, LabPlan, make_plan, plan_from_json

HOSTS = ("linux-a", "linux-b", "windows-a", "windows-b")


def a_plan(**wish: object) -> LabPlan:
    options = LabOptions(**{"name": NAME, **wish})  # type: ignore[arg-type]
    return make_plan(options, Path("/run/netlab/x"), routes=(), taken_slots=())


def test_two_linux_hosts_have_a_direct_cable_and_more_hosts_a_switch() -> None:
    direct = a_plan()
    assert direct.switch is None and len(direct.cables) == 1
    plan = a_plan(windows=2, rate=1e8)
    assert [(host.name, host.os) for host in plan.hosts] == list(zip(HOSTS, "LLWW", strict=True))
    assert plan.hosts[:2] == direct.hosts
    assert [cable.ends[1].namespace for cable in plan.cables] == [plan.switch] * 4
    assert [cable.ends[1].interface for cable in plan.cables] == list(HOSTS)
    assert {cable.rate for cable in plan.cables} == {1e8}
    assert plan_from_json(json.loads(json.dumps(plan.as_json()))) == plan


def test_a_lab_plan_without_the_fields_of_windows_hosts_is_still_read() -> None:
    plain = json.loads(json.dumps(a_plan().as_json()))
    del plain["switch"], plain["options"]["windows"]
    assert plan_from_json(plain) == a_plan()


def test_a_lab_plan_from_a_newer_netlab_is_refused_but_its_slot_stays_taken(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setattr(state, "ROOT", tmp_path)
    newer = json.loads(json.dumps(a_plan(windows=1).as_json()))
    newer["cables"][0]["colour"] = "green"
    (tmp_path / "newer").mkdir()
    (tmp_path / "newer" / state.PLAN).write_text(json.dumps(newer))
    (tmp_path / "newer" / state.COMPLETE).touch()
    assert state.slot_of(tmp_path / "newer") == newer["slot"]
    monkeypatch.setattr(network, "slots_in_use", set)
    monkeypatch.setattr(network, "routed_networks", lambda: ())
    monkeypatch.setattr(network, "refuse_taken_names", lambda _plan: None)
    plan = life._plan(LabOptions(name="mine"), tmp_path / "mine")
    assert plan.slot != newer["slot"]
    assert state._has_windows_hosts(tmp_path / "newer"), "its template may be in use"
    with pytest.raises(HostError, match="not a plan of this netlab version"):
        state.read_plan(tmp_path / "newer")


def test_a_lab_has_at_most_4_windows_hosts_with_accounts_of_its_own() -> None:
    plan = a_plan(windows=4)
    assert len({host.uid for host in plan.hosts}) == 6
    second_plan = make_plan(LabOptions("other", windows=4), Path("/x"), routes=(), taken_slots=(0,))
    assert not {host.uid for host in plan.hosts} & {host.uid for host in second_plan.hosts}


def only_for_windows(monkeypatch: pytest.MonkeyPatch, lack: tuple[str, ...]) -> None:
    """Nothing is missing, except for Windows hosts."""

    def missing(names: Iterable[str]) -> tuple[str, ...]:
        return lack if names is programs.WINDOWS_PROGRAMS else ()

    monkeypatch.setattr(programs, "missing_programs", missing)


def test_lab_up_without_wine_makes_nothing_and_names_the_packages(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setattr(state, "ROOT", tmp_path / "labs")
    monkeypatch.setattr(life, "_require_root", lambda: None)
    lack = programs.missing_programs(programs.WINDOWS_PROGRAMS, "/nowhere")
    only_for_windows(monkeypatch, lack)
    with pytest.raises(
        HostError, match=r"needs wine64, .*sudo apt-get install wine64 gcc-mingw-w64-x86-64"
    ):
        lab.up(LabOptions(name=NAME, windows=1))
    assert not state.ROOT.exists()


def test_the_doctor_prints_missing_parts_with_their_install_commands(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    lack = ("wine64",)
    only_for_windows(monkeypatch, lack)
    monkeypatch.setattr(os, "geteuid", lambda: 1000)
    outcome = CliRunner().invoke(cli, ["lab", "doctor"])
    assert outcome.exit_code == HostError.exit_code
    assert outcome.output.splitlines() == [
        "missing  the lab: root: sudo netlab lab doctor",
        "ok       the lab: programs",
        "missing  Windows hosts: wine64: sudo apt-get install wine64",
    ]


def test_the_windows_check_matrix_has_six_cells_and_fits_the_documented_inventory(
    tmp_path: Path,
) -> None:
    matrix = load_matrix(ROOT / "matrices" / "windows-check.yaml")
    cells = expand(matrix)
    assert sorted(cell.pairing for cell in cells) == ["LW"] * 3 + ["WL"] * 3
    page = (ROOT / "docs" / "lab.md").read_text()
    block = re.findall(r"```yaml\n(.*?)```", page, re.S)[-1]
    file = tmp_path / "windows.yaml"
    file.write_text(textwrap.dedent(block))
    hosts = load_inventory(file)
    assert {hosts.pair(pairing)[0].name for pairing in matrix.pairings} == {"here", "there"}
    assert hosts.host("there").port_range == (5001, 5100)


@pytest.fixture
def a_cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setattr(state, "CACHE", tmp_path / "cache")
    monkeypatch.setattr(state, "template_folder", lambda: state.CACHE / "wine-template-wine-9-new")
    monkeypatch.setattr(state, "ROOT", tmp_path / "labs")
    return state.CACHE


def test_a_wine_template_is_made_only_once_and_leftovers_of_old_templates_are_removed(
    a_cache: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (a_cache / "half-made-x" / "drive_c").mkdir(parents=True)
    (a_cache / "wine-template-wine-8-old").mkdir()
    prefixes: list[Path] = []
    messages: list[str] = []
    monkeypatch.setattr(state, "_make", prefixes.append)
    first = state.wine_template(messages.append)
    assert state.wine_template(messages.append) == first
    assert (len(prefixes), len(messages)) == (1, 1)
    assert [entry.name for entry in a_cache.iterdir()] == ["wine-template-wine-9-new"]


def test_an_old_wine_template_stays_while_a_lab_with_windows_hosts_is_up(
    a_cache: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    old = a_cache / "wine-template-wine-8-old"
    old.mkdir(parents=True)
    lab_folder = state.ROOT / "other"
    lab_folder.mkdir(parents=True)
    state.write_plan(lab_folder, a_plan(windows=1))
    (lab_folder / state.COMPLETE).touch()
    monkeypatch.setattr(state, "_make", lambda prefix: None)
    state.wine_template(lambda _: None)
    assert old.exists()
    state.write_plan(lab_folder, a_plan())
    state.wine_template(lambda _: None)
    assert not old.exists()


def test_a_failed_wine_template_leaves_no_files(
    a_cache: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def fail(prefix: Path) -> None:
        (prefix / "drive_c").mkdir()
        raise HostError("wine did not make the Windows template: no space left")

    monkeypatch.setattr(state, "_make", fail)
    with pytest.raises(HostError, match="no space left"):
        state.wine_template(lambda _: None)
    assert list(a_cache.iterdir()) == []
