"""A clock that is set in mid-trial changes no duration and is a finding about its host."""

from __future__ import annotations

import os
import subprocess
import time
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path

import pytest
from folders import INJECTION, PROBES
from made_findings import plan_of, run_of
from paths import record_of
from stops import meanwhile, stop_process

from netlab.experiment.hosts import Host
from netlab.experiment.interruptions import Cause, interruptions
from netlab.experiment.kinds import RoundTrip, Stream, TestSettings
from netlab.experiment.records import Record, Status
from netlab.findings.finding import Kind
from netlab.measurement.ends import Ends
from netlab.remote.agent import Agent
from netlab.remote.local import LocalTransport
from netlab.store.plan import PlannedCell

pytestmark = [pytest.mark.needs("linux", "cc"), pytest.mark.alone]

STEP_S = 3600
DURATION_S = 1.0


@pytest.fixture(scope="module")
def clock(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with a probe that uses the C library of this machine, and what is laid before it."""
    folder = tmp_path_factory.mktemp("clock")
    environment = {key: value for key, value in os.environ.items() if not key.startswith("MAKE")}
    make = ["make", "-s", "-C", str(PROBES), f"OUT={folder / 'netprobe'}", "LINK=dynamic", "all"]
    subprocess.run(make, check=True, env=environment, stdout=subprocess.DEVNULL)
    source, library = INJECTION / "set_clock.c", folder / "set_clock.so"
    flags = ["-shared", "-fPIC", "-O2", "-Wall", "-Wextra", "-Werror"]
    subprocess.run(["cc", *flags, "-o", str(library), str(source), "-ldl"], check=True)
    return folder


@contextmanager
def ends_with(
    clock: Path, file: Path, stepped_end: str, *, boottime: bool = False
) -> Iterator[Ends]:
    """Two agents on loopback, one whose clock is set as soon as the file is there."""
    words = [f"LD_PRELOAD={clock / 'set_clock.so'}", f"SET_CLOCK_FILE={file}"]
    words += [f"SET_CLOCK_SECONDS={STEP_S}", *(["SET_BOOTTIME=1"] if boottime else [])]
    with ExitStack() as stack:
        agents = {}
        for end in ("server", "client"):
            host = Host(name=end, os="L", local=True, addresses={"loopback": ("127.0.0.1", "::1")})
            transport = LocalTransport(host)
            argv = ["env", *(words if end == stepped_end else []), str(clock / "netprobe"), "agent"]
            agents[end] = Agent(host, transport, transport.start(argv))
            stack.callback(agents[end].close)
            agents[end].greet(None)
        yield Ends(server=agents["server"], client=agents["client"], same_host=True)


def measured(ends: Ends, test: str, setup: TestSettings, step: Callable[[], None]) -> Record:
    with meanwhile(step):
        record = record_of(test, setup, ends)
    assert record.status is Status.OK, record.detail
    return record


SETUPS: dict[str, tuple[str, TestSettings]] = {
    "TCP": ("stream", Stream(protocol="TCP", message_bytes=1448, duration_s=DURATION_S)),
    "UDP": (
        "stream",
        Stream(protocol="UDP", message_bytes=1448, duration_s=DURATION_S, rate_bit_per_s=3e6),
    ),
    "round trips": (
        "round_trip",
        RoundTrip(protocol="UDP", message_bytes=64, count=None, duration_s=DURATION_S),
    ),
}


@pytest.mark.parametrize("stepped_end", ["server", "client"])
@pytest.mark.parametrize("kind", SETUPS)
def test_durations_stay_right_and_the_host_is_named(
    clock: Path,
    tmp_path: Path,
    kind: str,
    stepped_end: str,
    record_property: Callable[[str, object], None],
) -> None:
    test, setup = SETUPS[kind]
    file = tmp_path / "now"

    def step() -> None:
        time.sleep(0.5)
        file.touch()

    with ends_with(clock, file, stepped_end) as ends:
        record = measured(ends, test, setup, step)
    assert record.values["elapsed_ns"] == pytest.approx(DURATION_S * 1e9, rel=0.05)
    assert [*interruptions(record)] == []
    cell = PlannedCell(record.cell, "LL", test, record.settings)
    findings = run_of(plan_of([cell]), [record]).findings
    (stepped,) = [finding for finding in findings if finding.kind is Kind.CLOCK_STEP]
    assert stepped.group.host == stepped_end
    assert stepped.evidence["clock_step_ns"] == pytest.approx(STEP_S * 1e9, rel=0.001)
    elapsed_s = float(str(record.values["elapsed_ns"])) / 1e9
    record_property("figure", f"{kind}, {stepped_end}: {elapsed_s:.3f} s")


def test_a_suspended_host_is_the_cause_of_a_stop(clock: Path, tmp_path: Path) -> None:
    file = tmp_path / "now"
    with ends_with(clock, file, "client", boottime=True) as ends:

        def suspend() -> None:
            time.sleep(0.4)
            file.touch()
            stop_process(int(ends.client.hello["pid"]), 0.3)

        record = measured(ends, *SETUPS["UDP"], suspend)
    (stop,) = interruptions(record)
    assert (stop.cause, stop.end) == (Cause.SUSPENDED, "sender")
    assert record.values["sender_suspended_ns"] == pytest.approx(STEP_S * 1e9, rel=0.001)
    assert "sender_wall_step_ns" not in record.values


def test_a_receiver_that_was_suspended_saw_no_gap_and_is_named_all_the_same(
    clock: Path, tmp_path: Path
) -> None:
    file = tmp_path / "now"
    with ends_with(clock, file, "server", boottime=True) as ends:

        def suspend() -> None:
            time.sleep(0.4)
            file.touch()

        record = measured(ends, *SETUPS["UDP"], suspend)
    assert record.values["receiver_gap_count"] == 0
    (stop,) = interruptions(record)
    assert (stop.cause, stop.end) == (Cause.SUSPENDED, "receiver")
    assert stop.stopped_ns == pytest.approx(STEP_S * 1e9, rel=0.001)
    assert "receiver_wall_step_ns" not in record.values
