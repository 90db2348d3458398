"""The time in a stack without a probe is captured at a TUN interface."""

from __future__ import annotations

import os
import signal
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path as File

import pytest
from paths import Path, hosts_on, inside, ip, needs_namespaces, record_of

from netlab.experiment.matrix import NamedMirror
from netlab.kinds import RoundTrip
from netlab.measurement.ends import Ends
from netlab.stats.histogram import from_pairs
from netlab.trial.record import Record, Status

pytestmark = [*needs_namespaces, pytest.mark.needs("tcpdump", "tun", "cc")]

OWN = "10.99.0.2"
"""The address behind the TUN interface."""
SETUP = RoundTrip(
    protocol="UDP", message_bytes=64, duration_s=None, count=500, stack_time=True, mirror="own"
)


@pytest.fixture(scope="module")
def tun_echo(tmp_path_factory: pytest.TempPathFactory) -> File:
    program = tmp_path_factory.mktemp("tun") / "tun_echo"
    source = File(__file__).parent / "tun_echo.c"
    subprocess.run(["gcc", "-O2", "-Wall", "-Werror", "-o", str(program), str(source)], check=True)
    return program


@contextmanager
def stack_behind(program: File, hold_us: int) -> Iterator[None]:
    """The stack in the server's namespace, with its address, and the client's route to it."""
    names = {end: f"netlab-test-{os.getpid()}-{end}" for end in ("server", "client")}
    argv = ["ip", "netns", "exec", names["server"], str(program), "own", str(hold_us), "60"]
    with subprocess.Popen(argv, stdout=subprocess.PIPE, text=True) as process:
        try:
            assert process.stdout is not None
            assert process.stdout.readline() == "ready\n"
            ip("-n", names["server"], "address", "add", "10.99.0.1/24", "dev", "own")
            ip("-n", names["server"], "link", "set", "dev", "own", "up")
            inside(names["server"], "sysctl", "-qw", "net.ipv4.ip_forward=1")
            ip("-n", names["client"], "route", "replace", "10.99.0.0/24", "via", "10.77.2.2")
            yield
        finally:
            process.send_signal(signal.SIGTERM)


def measured(ends: Ends, mirror: NamedMirror) -> Record:
    record = record_of("round_trip", SETUP, replace(ends, mirrors={"own": mirror}))
    assert record.status is Status.OK, record.detail
    return record


@pytest.mark.night
def test_a_delay_of_100_us_in_the_network_stack_of_a_mirror_is_measured_within_10_us(
    tun_echo: File,
) -> None:
    """The shortest time at the stack's own interface, which has the least of the interface's own
    8 µs; and the difference of the medians to the same stack that holds nothing."""
    mirror = NamedMirror("own", address=OWN, port=7, interface="own")
    medians: dict[int, float] = {}
    shortest_ns: dict[int, int] = {}
    with hosts_on(Path()) as ends:
        for hold_us in (0, 100):
            with stack_behind(tun_echo, hold_us):
                record = measured(ends, mirror)
            assert record.values["stack_timed"] is True
            assert record.values["server_stack_stamps"] == "capture"
            assert record.values["server_stack_count"] == SETUP.count
            pairs = record.values["server_stack_histogram"]
            assert isinstance(pairs, list)
            median_ns = from_pairs([int(number) for number in pairs]).percentile(0.5)
            assert median_ns is not None
            least_ns = record.values["server_stack_min_ns"]
            assert isinstance(least_ns, int)
            shortest_ns[hold_us] = least_ns
            medians[hold_us] = median_ns / 1000
    assert 100_000 <= shortest_ns[100] <= 110_000, shortest_ns
    assert medians[100] - medians[0] == pytest.approx(100, abs=10), medians


def test_every_round_trip_has_a_stack_time_captured_at_the_interface_of_the_route(
    tun_echo: File,
) -> None:
    """Without ``interface``: that of the route to the client. Every round trip is seen there too,
    and is longer than the hold."""
    with hosts_on(Path()) as ends, stack_behind(tun_echo, 100):
        record = measured(ends, NamedMirror("own", address=OWN, port=7))
    assert record.values["server_stack_count"] == SETUP.count
    assert isinstance(record.values["server_stack_min_ns"], int)
    assert record.values["server_stack_min_ns"] >= 100_000
    mean_ns, trip_ns = record.values["server_stack_mean_ns"], record.values["rtt_mean_ns"]
    assert isinstance(mean_ns, float)
    assert isinstance(trip_ns, float | int)
    assert mean_ns < trip_ns


def test_a_missing_capture_interface_gives_a_reason_and_no_stack_time(
    tun_echo: File,
) -> None:
    with hosts_on(Path()) as ends, stack_behind(tun_echo, 0):
        record = measured(ends, NamedMirror("own", address=OWN, port=7, interface="nowhere"))
    assert record.values["stack_timed"] is False
    assert "nowhere" in str(record.values["capture_reason"])
    assert "server_stack_mean_ns" not in record.values
    assert record.values["transactions"] == SETUP.count
