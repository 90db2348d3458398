"""Captures that are refused, fail or are truncated: a sentence for each, and no process left."""

from __future__ import annotations

import sys
import time
from pathlib import Path
from types import SimpleNamespace
from typing import Any, cast

import pytest

from netlab.errors import HostError, ProbeError, StoreError
from netlab.measurement.capture import NoCapture, capture_during, keep, of_frames
from netlab.remote.agent import Agent
from netlab.remote.local import LocalProcess

LISTENS = "import sys, time; print('listening on test', file=sys.stderr, flush=True);"
HEADER = b"\xd4\xc3\xb2\xa1" + bytes(16) + b"\x01\0\0\0"


class Host:
    """An agent that runs these lines of Python as its programs."""

    def __init__(self, program: str, **facts: Any) -> None:
        self.host = SimpleNamespace(name="h", os="L", local=True)
        self._program = program
        self._facts = {"route_interface": "test"} | facts
        self.argv: list[str] = []
        self.processes: list[LocalProcess] = []

    def facts(self, to: str) -> dict[str, Any]:
        return self._facts

    def start_beside(self, argv: list[str]) -> LocalProcess:
        self.argv = argv
        if not self._program:
            raise HostError("h: cannot start tcpdump: No such file or directory")
        self.processes.append(LocalProcess([sys.executable, "-S", "-c", self._program]))
        return self.processes[-1]

    def capture(self, **keys: Any) -> bytes:
        during = keys.get("during", lambda: None)
        return capture_during(cast(Agent, self), "10.0.0.1", "10.0.0.2", during)

    @property
    def running(self) -> int:
        return sum(process.wait(0.0) is None for process in self.processes)


@pytest.mark.parametrize(
    ("program", "facts", "sentence"),
    [
        ("", {}, "h: cannot start tcpdump: No such file or directory"),
        (
            "import sys; sys.exit('tcpdump: test: Operation not permitted')",
            {},
            "h: tcpdump does not capture: tcpdump: test: Operation not permitted",
        ),
        ("pass", {"route_interface": "a;reboot"}, "h: its system does not report which interface"),
        ("pass", {"route_interface": ""}, "h: its system does not report which interface"),
    ],
)
def test_a_host_that_lets_nobody_capture_is_a_sentence(
    program: str, facts: dict[str, Any], sentence: str
) -> None:
    host = Host(program, **facts)
    with pytest.raises(NoCapture, match=sentence.replace(";", ".")):
        host.capture()
    assert host.running == 0


def test_a_windows_host_is_not_even_asked() -> None:
    host = Host("pass")
    host.host.os = "W"
    with pytest.raises(NoCapture, match="Windows has no tcpdump"):
        host.capture()
    assert host.argv == []


def test_what_is_captured_comes_back_whole_and_tcpdump_is_gone() -> None:
    write = f"sys.stdout.buffer.write({HEADER!r}); sys.stdout.flush(); time.sleep(60)"
    host = Host(LISTENS + write)
    assert host.capture(during=lambda: time.sleep(0.1)) == HEADER
    assert host.running == 0
    assert host.argv[-7:] == ["src", "host", "10.0.0.1", "and", "dst", "host", "10.0.0.2"]


def test_on_a_remote_host_tcpdump_ends_by_itself() -> None:
    host = Host(LISTENS + "time.sleep(60)")
    host.host.local = False
    host.capture()
    assert host.argv[:3] == ["timeout", "60", "tcpdump"]


def test_a_fault_meanwhile_is_raised_and_leaves_no_tcpdump() -> None:
    def during() -> None:
        raise ProbeError("h", "no-answer")

    host = Host(LISTENS + "time.sleep(60)")
    with pytest.raises(ProbeError, match="no-answer"):
        host.capture(during=during)
    assert host.running == 0


def test_what_is_no_capture_is_a_sentence() -> None:
    with pytest.raises(NoCapture, match="not a capture in the pcap format"):
        of_frames("captured_", b"Segmentation fault")


def test_a_disk_that_refuses_is_a_sentence(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    with pytest.raises(StoreError, match="cannot create the folder"):
        keep(tmp_path / "file" / "captures", "x.pcap", HEADER)
    keep(tmp_path / "captures", "x.pcap", HEADER)
    assert (tmp_path / "captures" / "x.pcap").read_bytes() == HEADER
    assert (tmp_path / "captures").stat().st_mode & 0o077 == 0
