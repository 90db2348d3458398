"""A machine of its own kernel starts, is measured, and leaves nothing."""

from __future__ import annotations

import os
from pathlib import Path

import pytest
from machine_lab import machine_lab, names_of, said_by

pytestmark = [pytest.mark.needs("machines", "tun"), pytest.mark.beside]

MATRIX = """\
title: A machine of its own kernel
pairings: [machine+near]
tests:
  - {test: round_trip, protocol: UDP, message_size: 64, count: 100}
  - {test: stream, protocol: TCP, message_size: 16384, duration: 1s, warm_up: 200ms}
"""


def test_a_machine_of_its_own_kernel_is_measured_over_ssh_and_ends(tmp_path: Path) -> None:
    with machine_lab(tmp_path) as lab:
        machine = lab.host()
        release = machine.run("uname -r")
        assert release != os.uname().release
        run = lab.run(MATRIX)
        assert machine.process is not None
        pid = machine.process.pid
    assert [str(record.status) for record in run.latest.values()] == ["ok", "ok"], said_by(run)
    kernels = {str(note["facts"]["kernel"]) for note in run.facts if note["host"] == "machine"}
    assert [release in kernel for kernel in kernels] == [True]
    assert "virtual-machine" in names_of(run)
    assert not Path(f"/proc/{pid}").exists()
    assert not Path("/run/netns", lab.near).exists()
    assert not machine.folder.exists()
