"""The virtual lab without root: what it refuses, and what it alters on the machine."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

from netlab import lab
from netlab.errors import HostError
from netlab.lab import life, network, programs, state
from netlab.lab.plan import LabOptions, make_plan

NAME = f"u{os.getpid()}"


def test_a_missing_program_is_named_with_its_install_command(tmp_path: Path) -> None:
    for name in programs.PROGRAMS:
        if name not in {"sshd", "ethtool", "tc"}:
            (tmp_path / name).touch(mode=0o755)
    lack = lab.missing_programs(search_path=str(tmp_path))
    assert lack == ("tc", "ethtool", "sshd")
    assert programs.install_command(lack) == "sudo apt-get install iproute2 ethtool openssh-server"
    for name in lack:
        (tmp_path / name).touch(mode=0o755)
    assert not lab.missing_programs(search_path=str(tmp_path))


def test_lab_up_without_a_needed_program_makes_nothing_and_names_its_package(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setattr(state, "ROOT", tmp_path / "labs")
    monkeypatch.setattr(life, "_require_root", lambda: None)
    monkeypatch.setattr(programs, "missing_programs", lambda _names: ("ethtool",))
    with pytest.raises(HostError, match="needs ethtool: install with `sudo apt-get install eth"):
        lab.up(LabOptions(name=NAME))
    assert not state.ROOT.exists()


def test_lab_commands_need_linux_and_root(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(os, "geteuid", lambda: 1000)
    with pytest.raises(HostError, match="needs root for network namespaces: try again with sudo"):
        lab.up(LabOptions(name=NAME))
    monkeypatch.setattr(sys, "platform", "darwin")
    with pytest.raises(HostError, match="needs Linux"):
        lab.down(NAME)


@pytest.mark.lab
def test_a_reused_process_number_is_not_taken_for_a_lab_process(tmp_path: Path) -> None:
    state.write_started(tmp_path / "mine", os.getpid())
    mine = state.read_started(tmp_path / "mine")
    assert mine is not None
    assert mine.lives()
    assert not state.Started(mine.pid, mine.start_ticks - 1, mine.boot_id).lives()
    assert not state.Started(mine.pid, mine.start_ticks, "another boot").lives()
    child = subprocess.Popen([sys.executable, "-c", ""])
    os.waitid(os.P_PID, child.pid, os.WEXITED | os.WNOWAIT)
    assert state.start_ticks(child.pid) is None, "a zombie does not live"
    child.wait()


def test_the_limit_on_cpu_sleep_is_skipped_if_its_device_is_missing(tmp_path: Path) -> None:
    device = tmp_path / "cpu_dma_latency"
    with life.limit_cpu_sleep(device) as inherited:
        assert inherited == ()
    device.touch()
    with life.limit_cpu_sleep(device) as (descriptor,):
        os.fstat(descriptor)
    assert device.read_bytes() == bytes(4)


def test_the_machines_allowed_congestion_controls_are_extended_and_later_restored(
    tmp_path: Path,
) -> None:
    kernel, root = tmp_path / "kernel", tmp_path / "root"
    kernel.mkdir()
    root.mkdir()
    (kernel / life.AVAILABLE).write_text("reno bbr cubic\n")
    (kernel / life.ALLOWED).write_text("reno bbr\n")
    life.allow_congestion_controls(root, kernel)
    life.allow_congestion_controls(root, kernel)
    assert (kernel / life.ALLOWED).read_text() == "reno bbr cubic"
    life.restore_congestion_controls(root, kernel)
    life.restore_congestion_controls(root, kernel)
    assert (kernel / life.ALLOWED).read_text() == "reno bbr"
    assert list(root.iterdir()) == []


def test_lab_down_ignores_an_interface_that_vanishes_while_it_is_deleted(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    """The kernel removes it some time after the namespace of its peer."""
    interfaces = tmp_path / "interfaces"
    interfaces.mkdir()
    monkeypatch.setattr(network, "INTERFACES", interfaces)
    monkeypatch.setattr(network, "NAMESPACES", tmp_path / "namespaces")
    plan = make_plan(LabOptions(NAME), tmp_path, routes=[], taken_slots=())
    port = interfaces / plan.hosts[0].port

    def vanish(*words: str) -> str:
        port.unlink()
        raise HostError(f"`{' '.join(words)}` failed: Cannot find device")

    def refuse(*words: str) -> str:
        raise HostError(f"`{' '.join(words)}` failed: Operation not permitted")

    port.touch()
    monkeypatch.setattr(network, "run", vanish)
    network.remove(plan)
    port.touch()
    monkeypatch.setattr(network, "run", refuse)
    with pytest.raises(HostError, match="not permitted"):
        network.remove(plan)
