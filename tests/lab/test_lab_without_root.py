"""The virtual lab without root: what it refuses, and what it alters on the machine."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

from netlab import lab
from netlab.errors import HostError
from netlab.lab import congestion, cpu_latency, life, programs, state
from netlab.lab.options import LabOptions

NAME = f"u{os.getpid()}"


def test_a_missing_program_is_named_with_the_command_that_installs_it(tmp_path: Path) -> None:
    for name in programs.PROGRAMS:
        if name not in {"sshd", "ethtool", "tc"}:
            (tmp_path / name).touch(mode=0o755)
    lack = lab.missing_packages(str(tmp_path))
    assert lack.programs == ("tc", "ethtool", "sshd")
    assert lack.command == "sudo apt-get install iproute2 ethtool openssh-server"
    for name in lack.programs:
        (tmp_path / name).touch(mode=0o755)
    assert not lab.missing_packages(str(tmp_path))


def test_up_without_a_program_makes_nothing_and_says_what_to_install(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setattr(state, "ROOT", tmp_path / "labs")
    monkeypatch.setattr(life, "_require_root", lambda: None)
    lack = programs.Missing(("ethtool",), ("ethtool",))
    monkeypatch.setattr(life, "missing_packages", lambda: lack)
    with pytest.raises(HostError, match="needs ethtool: install with `sudo apt-get install eth"):
        lab.up(LabOptions(name=NAME))
    assert not state.ROOT.exists()


def test_without_root_one_sentence_says_what_to_do(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(os, "geteuid", lambda: 1000)
    with pytest.raises(HostError, match="needs root for network namespaces: try again with sudo"):
        lab.up(LabOptions(name=NAME))
    monkeypatch.setattr(sys, "platform", "darwin")
    with pytest.raises(HostError, match="needs Linux"):
        lab.down(NAME)


def test_a_process_number_that_was_given_away_anew_is_not_taken_for_ours() -> None:
    mine = state.started(os.getpid())
    assert mine.lives()
    assert not state.Started(mine.pid, mine.start_ticks - 1, mine.boot_id).lives()
    assert not state.Started(mine.pid, mine.start_ticks, "another boot").lives()
    child = subprocess.Popen([sys.executable, "-c", ""])
    os.waitid(os.P_PID, child.pid, os.WEXITED | os.WNOWAIT)
    assert state.start_ticks(child.pid) is None, "a zombie does not live"
    child.wait()


def test_a_machine_that_offers_no_bound_on_its_sleep_is_no_error(tmp_path: Path) -> None:
    device = tmp_path / "cpu_dma_latency"
    with cpu_latency.limit(device) as inherited:
        assert inherited == ()
    device.touch()
    with cpu_latency.limit(device) as (descriptor,):
        os.fstat(descriptor)
    assert device.read_bytes() == bytes(4)


def test_the_list_of_allowed_congestion_controls_is_widened_and_put_back(tmp_path: Path) -> None:
    kernel, root = tmp_path / "kernel", tmp_path / "root"
    kernel.mkdir()
    root.mkdir()
    (kernel / congestion.AVAILABLE).write_text("reno bbr cubic\n")
    (kernel / congestion.ALLOWED).write_text("reno bbr\n")
    congestion.widen(root, kernel)
    congestion.widen(root, kernel)
    assert (kernel / congestion.ALLOWED).read_text() == "reno bbr cubic"
    congestion.restore(root, kernel)
    congestion.restore(root, kernel)
    assert (kernel / congestion.ALLOWED).read_text() == "reno bbr"
    assert list(root.iterdir()) == []
