"""Mirrors that a matrix names are started, measured and ended with real agents."""

from __future__ import annotations

import socket
import sys
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from typing import Literal

import pytest
from paths import record_of, shared_loopback

from netlab.experiment.matrix import NamedMirror
from netlab.kinds import RoundTrip
from netlab.measurement import round_trip
from netlab.measurement.ends import Ends
from netlab.trial.record import Record, Status

__all__ = ["shared_loopback"]

pytestmark = [pytest.mark.needs("cc"), pytest.mark.lab]

ECHO = (sys.executable, str(Path(__file__).parent / "udp_echo.py"), "{address}", "{port}")
SETUP = RoundTrip(
    protocol="UDP", message_bytes=64, duration_s=None, count=50, mirror="own", timeout_s=3.0
)


def measured(ends: Ends, mirror: NamedMirror, setup: RoundTrip = SETUP) -> Record:
    return record_of("round_trip", setup, replace(ends, mirrors={"own": mirror}))


def is_free(port: int) -> bool:
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as probe:
        try:
            probe.bind(("127.0.0.1", port))
        except OSError:
            return False
    return True


@pytest.mark.parametrize("protocol", ["UDP", "TCP"])
@pytest.mark.parametrize("ip_version", [4, 6])
def test_a_mirror_program_answers_the_trial_and_ends_after_the_trial(
    shared_loopback: Ends, protocol: Literal["TCP", "UDP"], ip_version: Literal[4, 6]
) -> None:
    setup = replace(SETUP, protocol=protocol, ip_version=ip_version)
    record = measured(shared_loopback, NamedMirror("own", ECHO), setup)
    assert record.status is Status.OK, record.detail
    assert record.values["transactions"] == 50
    command = str(record.values["server_engine_command"])
    assert command.startswith(sys.executable)
    assert "{" not in command
    assert is_free(int(command.rsplit(maxsplit=1)[-1]))
    assert "agentless" not in record.values


@contextmanager
def echo_that_runs() -> Iterator[int]:
    """An echo of this process; its port."""
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as mirror:
        mirror.bind(("127.0.0.1", 0))
        ended = threading.Event()
        mirror.settimeout(0.1)

        def serve() -> None:
            while not ended.is_set():
                try:
                    message, sender = mirror.recvfrom(65536)
                except TimeoutError:
                    continue
                mirror.sendto(message, sender)

        thread = threading.Thread(target=serve)
        thread.start()
        try:
            yield mirror.getsockname()[1]
        finally:
            ended.set()
            thread.join()


def test_a_mirror_that_already_runs_is_measured_without_starting_a_program(
    shared_loopback: Ends,
) -> None:
    with echo_that_runs() as port:
        record = measured(shared_loopback, NamedMirror("own", address="127.0.0.1", port=port))
    assert record.status is Status.OK, record.detail
    assert record.values["transactions"] == 50
    assert "server_engine_command" not in record.values


def test_a_mirror_program_that_the_host_lacks_is_reported_by_its_name(
    shared_loopback: Ends,
) -> None:
    record = measured(shared_loopback, NamedMirror("own", ("no-such-program", "{port}")))
    assert (record.status, record.reason) == (Status.IMPOSSIBLE, "program-missing")
    assert "no-such-program" in str(record.detail)


def test_a_mirror_program_that_ends_at_once_is_reported_with_its_last_line(
    shared_loopback: Ends,
) -> None:
    words = ("sh", "-c", "echo out of order >&2; exit 3", "{port}")
    record = measured(shared_loopback, NamedMirror("own", words))
    assert (record.status, record.reason) == (Status.FAILED, "mirror-failed")
    assert record.detail == "server: mirror-failed: own ended (exit code 3): out of order"


def test_a_trial_fails_as_mirror_failed_if_the_mirror_program_ends_during_the_trial(
    shared_loopback: Ends,
) -> None:
    """One answer for the first request, and ten of the 50."""
    record = measured(shared_loopback, NamedMirror("own", (*ECHO, "11")))
    assert (record.status, record.reason) == (Status.FAILED, "mirror-failed")
    assert "out of answers" in str(record.detail)


def test_a_mirror_that_never_answers_is_given_up(
    shared_loopback: Ends, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(round_trip, "BEGINS_S", 2.0)
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as mute:
        mute.bind(("127.0.0.1", 0))
        port = mute.getsockname()[1]
        record = measured(shared_loopback, NamedMirror("own", ("sleep", "60"), port=port))
    assert (record.status, record.reason) == (Status.FAILED, "mirror-failed")
    assert f"own at 127.0.0.1, port {port}: every request timed out" in str(record.detail)
