"""A capture returns its frames or the reason why there are none, and leaves no tcpdump behind."""

from __future__ import annotations

import threading
from collections.abc import Callable
from pathlib import Path
from types import SimpleNamespace
from typing import Any, cast

import pytest
from advanced_clock import passing_clock

from netlab.errors import HostError, ProbeError, StoreError
from netlab.measurement.capture import NoCapture, capture_during, of_frames
from netlab.remote.agent import Agent
from netlab.remote.transport import Process
from netlab.store.files import write_private

__all__ = ["passing_clock"]

pytestmark = [pytest.mark.agents, pytest.mark.usefixtures("passing_clock")]

HEADER = b"\xd4\xc3\xb2\xa1" + bytes(16) + b"\x01\0\0\0"


class Tcpdump:
    """A played tcpdump: its output, which ends when it is killed, and its standard error."""

    def __init__(
        self, output: bytes = b"", stderr: str = "listening on test", status: int | None = None
    ) -> None:
        self._output = output
        self._stderr = stderr
        self._status = status
        self.is_read = threading.Event()
        """Whether its output was taken."""
        self.is_killed = threading.Event()

    def read(self) -> bytes:
        output, self._output = self._output, b""
        if not output:
            self.is_read.set()
            self.is_killed.wait()
        return output

    def stderr_tail(self) -> str:
        return self._stderr

    def wait(self, timeout_s: float) -> int | None:
        return self._status

    def kill(self) -> None:
        self.is_killed.set()


class Host:
    """A played agent; ``None`` instead of a tcpdump: the host has none."""

    def __init__(self, tcpdump: Tcpdump | None, **facts: Any) -> None:
        self.host = SimpleNamespace(name="h", os="L", local=True)
        self._tcpdump = tcpdump
        self._facts = {"route_interface": "test"} | facts
        self.argv: list[str] = []

    def facts(self, to: str) -> dict[str, Any]:
        return self._facts

    def start_beside(self, argv: list[str]) -> Process:
        self.argv = argv
        if self._tcpdump is None:
            raise HostError("h: cannot start tcpdump: No such file or directory")
        return cast(Process, self._tcpdump)

    def capture(self, during: Callable[[], object] = lambda: None) -> bytes:
        def wait() -> None:
            during()

        return capture_during(cast(Agent, self), "10.0.0.1", "10.0.0.2", wait)


@pytest.mark.parametrize(
    ("tcpdump", "facts", "sentence"),
    [
        (None, {}, "h: cannot start tcpdump: No such file or directory"),
        (
            Tcpdump(stderr="tcpdump: test: Operation not permitted\nlibpcap: no", status=1),
            {},
            "h: tcpdump does not capture: tcpdump: test: Operation not permitted",
        ),
        (Tcpdump(stderr="", status=0), {}, "h: tcpdump does not capture: no answer"),
        (Tcpdump(stderr="slow"), {}, "h: tcpdump does not capture: slow"),
        (Tcpdump(), {"route_interface": "a;reboot"}, "h: its system does not report which interf"),
        (Tcpdump(), {"route_interface": ""}, "h: its system does not report which interface"),
    ],
)
def test_a_host_that_refuses_a_capture_is_reported_with_the_reason(
    tcpdump: Tcpdump | None, facts: dict[str, Any], sentence: str
) -> None:
    host = Host(tcpdump, **facts)
    with pytest.raises(NoCapture, match=sentence):
        host.capture()
    assert tcpdump is None or not host.argv or tcpdump.is_killed.is_set()


def test_no_capture_is_started_on_a_windows_host() -> None:
    host = Host(Tcpdump())
    host.host.os = "W"
    with pytest.raises(NoCapture, match="Windows has no tcpdump"):
        host.capture()
    assert host.argv == []


def test_a_capture_returns_all_bytes_and_ends_tcpdump() -> None:
    tcpdump = Tcpdump(HEADER)
    host = Host(tcpdump)
    assert host.capture(during=tcpdump.is_read.wait) == HEADER
    assert tcpdump.is_killed.is_set()
    assert host.argv[-7:] == ["src", "host", "10.0.0.1", "and", "dst", "host", "10.0.0.2"]


def test_tcpdump_on_a_remote_host_runs_under_a_time_limit() -> None:
    host = Host(Tcpdump())
    host.host.local = False
    host.capture()
    assert host.argv[:3] == ["timeout", "60", "tcpdump"]


def test_a_fault_during_a_capture_is_raised_and_ends_tcpdump() -> None:
    def during() -> None:
        raise ProbeError("h", "no-answer")

    tcpdump = Tcpdump()
    with pytest.raises(ProbeError, match="no-answer"):
        Host(tcpdump).capture(during=during)
    assert tcpdump.is_killed.is_set()


def test_output_that_is_no_pcap_is_reported_as_no_capture() -> None:
    with pytest.raises(NoCapture, match="not a capture in the pcap format"):
        of_frames("captured_", b"Segmentation fault")


def test_a_capture_is_stored_privately_and_an_unwritable_folder_is_reported(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    with pytest.raises(StoreError, match="cannot create the folder"):
        write_private(tmp_path / "file", "captures", "x.pcap", HEADER)
    write_private(tmp_path, "captures", "x.pcap", HEADER)
    assert (tmp_path / "captures" / "x.pcap").read_bytes() == HEADER
    assert (tmp_path / "captures").stat().st_mode & 0o077 == 0
