"""The end of a virtual lab: what down leaves, also of an up that failed or was killed; and when a
host has begun.
"""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import threading
from dataclasses import replace
from pathlib import Path

import pytest
from labs import needs_a_lab_at_rest, ssh, traces, wait_until

from netlab import lab
from netlab.errors import HostError, UsageError
from netlab.lab import network, programs, server, state
from netlab.lab.plan import LabOptions, LabPlan, make_plan

NAME = f"e{os.getpid()}"
ANSWER = """\
import socket
socket.create_server(("127.77.0.1", 22)).accept()[0].send(b"SSH-")
"""
"""What an sshd does first."""


def a_plan() -> LabPlan:
    return make_plan(LabOptions(NAME), Path("/run/netlab/x"), routes=[], taken_slots=())


class TestTheEndOfALab:
    pytestmark = needs_a_lab_at_rest

    def test_lab_down_removes_namespaces_interfaces_processes_and_files(
        self, tmp_path: Path
    ) -> None:
        hosts_file = tmp_path / "hosts.yaml"
        lab_state = lab.up(LabOptions(name=NAME, hosts_file=hosts_file))
        assert lab_state.plan is not None and hosts_file.exists()
        ssh(
            lab_state,
            "linux-a",
            "cp /bin/sleep . && (setsid ./sleep 600 >/dev/null 2>&1 </dev/null &)",
        )
        assert any("sleep" in trace for trace in traces(lab_state.plan))
        lab.down(NAME)
        assert traces(lab_state.plan) == []
        assert not lab.status(NAME).up
        lab.down(NAME)

    def test_lab_down_spares_foreign_processes_and_a_foreign_inventory(
        self, tmp_path: Path
    ) -> None:
        hosts_file = tmp_path / "hosts.yaml"
        lab_state = lab.up(LabOptions(name=NAME, hosts_file=hosts_file))
        assert lab_state.plan is not None
        guest = [
            programs.program("ip"),
            "netns",
            "exec",
            lab_state.hosts[0].namespace,
            "sleep",
            "60",
        ]
        with subprocess.Popen(guest) as sleeper:
            try:
                wait_until(lambda: Path(f"/proc/{sleeper.pid}/comm").read_text() == "sleep\n")
                hosts_file.write_text("hosts: {mine: {os: L, local: true}}\n")
                lab.down(NAME)
                assert sleeper.poll() is None
                assert hosts_file.read_text().startswith("hosts: {mine")
                assert not (network.NAMESPACES / lab_state.hosts[0].namespace).exists()
                assert not (network.INTERFACES / lab_state.plan.bridge).exists()
            finally:
                sleeper.kill()
        with pytest.raises(UsageError, match="the file exists and is not part of the lab"):
            lab.up(LabOptions(name=NAME, hosts_file=hosts_file))

    def test_lab_up_refuses_a_name_whose_namespace_belongs_to_no_lab(self) -> None:
        theirs = a_plan().hosts[1].namespace
        programs.run("ip", "netns", "add", theirs)
        try:
            with pytest.raises(UsageError, match=f"{theirs} exists and belongs to no lab"):
                lab.up(LabOptions(name=NAME))
            assert (network.NAMESPACES / theirs).exists()
            assert not state.folder_of(NAME).exists()
        finally:
            programs.run("ip", "netns", "delete", theirs)

    def test_a_lab_with_a_dead_sshd_is_reported_as_incomplete(self) -> None:
        lab_state = lab.up(LabOptions(name=NAME))
        try:
            process = state.read_started(lab_state.folder / "linux-b.process")
            assert process is not None
            os.kill(process.pid, signal.SIGKILL)
            wait_until(lambda: not process.lives())
            assert not lab.status(NAME).up
            assert "incomplete" in lab.status(NAME).as_text()
        finally:
            lab.down(NAME)
        assert lab_state.plan is not None and traces(lab_state.plan) == []

    def test_lab_up_removes_everything_if_an_sshd_does_not_start(
        self, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        monkeypatch.setattr(server, "SSHD_CONFIG", server.SSHD_CONFIG + "NoSuchWord yes\n")
        plans: list[LabPlan] = []
        write_plan = state.write_plan

        def note_plan(folder: Path, plan: LabPlan) -> None:
            plans.append(plan)
            write_plan(folder, plan)

        monkeypatch.setattr(state, "write_plan", note_plan)
        with pytest.raises(HostError, match="sshd of linux-a does not answer"):
            lab.up(LabOptions(name=NAME))
        assert traces(plans[0]) == []

    @pytest.mark.parametrize(
        "moment",
        ["plan.json", "namespace", "test", "linux-a.process", "linux-b.process", "complete"],
    )
    def test_lab_down_removes_all_traces_of_a_lab_up_that_was_killed(self, moment: str) -> None:
        folder = state.folder_of(NAME)
        options = f"lab.LabOptions(name={NAME!r}, rate=1e8)"
        script = f"from netlab import lab; lab.up({options}); import time; time.sleep(60)"
        condition = {
            "namespace": (network.NAMESPACES / f"netlab-{NAME}-linux-a").exists,
            "test": lambda: programs.succeeds(
                "ip", "-n", f"netlab-{NAME}-linux-b", "link", "show", "dev", "test"
            ),
        }.get(moment, (folder / moment).exists)
        with subprocess.Popen([sys.executable, "-c", script]) as upper:
            try:
                wait_until(condition)
                plan = state.read_plan(folder)
            finally:
                upper.kill()
        assert plan is not None
        is_complete = (folder / "complete").exists()  # before the signal came, on a busy machine
        assert lab.status(NAME).up == is_complete
        message = "is up" if is_complete else "an interrupted"
        with pytest.raises(UsageError, match=message):
            lab.up(LabOptions(name=NAME))
        lab.down(NAME)
        wait_until(lambda: traces(plan) == [])

    def test_labs_that_come_up_at_the_same_time_take_different_addresses(self) -> None:
        names = [f"{NAME}-at-once-{number}" for number in range(3)]
        lab_states: list[lab.LabState] = []
        threads = [
            threading.Thread(
                target=lambda name=name: lab_states.append(lab.up(LabOptions(name=name)))
            )
            for name in names
        ]
        try:
            for thread in threads:
                thread.start()
            for thread in threads:
                thread.join()
            assert len({lab_state.hosts[0].management_address for lab_state in lab_states}) == 3
            assert all(lab.status(name).up for name in names)
        finally:
            for name in names:
                lab.down(name)


class TestTheBeginningOfAHost:
    pytestmark = needs_a_lab_at_rest

    def test_a_host_that_has_not_entered_its_namespace_yet_is_waited_for(
        self, tmp_path: Path
    ) -> None:
        host = replace(a_plan().hosts[0], management_address="127.77.0.1")
        process = subprocess.Popen([sys.executable, "-c", ANSWER])
        try:
            file = tmp_path / f"{host.name}.process"
            state.write_started(file, process.pid)
            server.await_ready(host, tmp_path)
            assert not server.lives(host, tmp_path), "it is in no namespace of the lab"
        finally:
            process.kill()
            process.wait()
