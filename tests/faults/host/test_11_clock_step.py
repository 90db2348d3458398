"""A clock that is set in mid-trial, or whose rate is changed, is a finding about its host."""

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
from outcomes import OutcomeOf, Seen, injects, outcome_of, record_text
from paths import record_of
from stops import meanwhile, stop_process

from netlab.experiment.hosts import Host
from netlab.findings.finding import Kind
from netlab.kinds import RoundTrip, Setup, Stream
from netlab.measurement.ends import Ends
from netlab.remote.agent import Agent
from netlab.remote.transport import LocalTransport
from netlab.store.plan import PlannedCell
from netlab.trial.interruptions import Cause, interruptions
from netlab.trial.record import Record, Status

__all__ = ["outcome_of"]

STEP_S = 3600
FASTER_PPM = 500
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
def ends_with(clock: Path, file: Path, stepped_end: str, *more: str) -> Iterator[Ends]:
    """Two agents on loopback, one whose clock is set as soon as the file is there."""
    words = [f"LD_PRELOAD={clock / 'set_clock.so'}", f"SET_CLOCK_FILE={file}"]
    words += [f"SET_CLOCK_SECONDS={STEP_S}", *more]
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


def measured(ends: Ends, test: str, setup: Setup, step: Callable[[], None]) -> Record:
    with meanwhile(step):
        record = record_of(test, setup, ends)
    assert record.status is Status.OK, record.detail
    return record


SETUPS: dict[str, tuple[str, Setup]] = {
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


def set_a_clock(clock: Path, tmp_path: Path, kind: str, stepped_end: str) -> Seen:
    file = tmp_path / "now"

    def step() -> None:
        time.sleep(0.5)
        file.touch()

    with ends_with(clock, file, stepped_end) as ends:
        return {"record": record_text(measured(ends, *SETUPS[kind], step))}


@pytest.mark.parametrize("stepped_end", ["server", "client"])
@pytest.mark.parametrize("kind", SETUPS)
@injects("linux", "cc")
@pytest.mark.produces("clock/step")
def test_a_clock_set_in_a_trial_changes_no_duration_and_its_host_is_named(
    outcome_of: OutcomeOf, kind: str, stepped_end: str
) -> None:
    outcome = outcome_of(set_a_clock, kind=kind, stepped_end=stepped_end)
    record = outcome.record("record")
    assert record.values["elapsed_ns"] == pytest.approx(DURATION_S * 1e9, rel=0.05)
    assert [*interruptions(record)] == []
    cell = PlannedCell(record.cell, "LL", record.test, record.settings)
    findings = run_of(plan_of([cell]), [record]).findings
    (stepped,) = [finding for finding in findings if finding.kind is Kind.CLOCK_STEP]
    assert stepped.group.host == stepped_end
    assert stepped.evidence["clock_step_ns"] == pytest.approx(STEP_S * 1e9, rel=0.001)
    elapsed_s = float(str(record.values["elapsed_ns"])) / 1e9
    outcome.figure(f"{kind}, {stepped_end}: {elapsed_s:.3f} s")


def speed_a_clock_up(clock: Path, tmp_path: Path, end: str) -> Seen:
    with ends_with(clock, tmp_path / "never", end, f"SET_RAW_PPM={FASTER_PPM}") as ends:
        return {"record": record_text(measured(ends, *SETUPS["UDP"], lambda: None))}


@pytest.mark.parametrize("end", ["server", "client"])
@injects("linux", "cc")
@pytest.mark.produces("clock/rate")
def test_a_clock_whose_rate_was_changed_is_named_with_its_host(
    outcome_of: OutcomeOf, end: str
) -> None:
    record = outcome_of(speed_a_clock_up, end=end).record("record")
    cell = PlannedCell(record.cell, "LL", record.test, record.settings)
    findings = run_of(plan_of([cell]), [record]).findings
    (faster,) = [finding for finding in findings if finding.kind is Kind.CLOCK_RATE]
    assert faster.group.host == end
    assert faster.evidence["clock_ppm"] == pytest.approx(FASTER_PPM, rel=0.02)


def suspend_the_client(clock: Path, tmp_path: Path) -> Seen:
    file = tmp_path / "now"
    with ends_with(clock, file, "client", "SET_BOOTTIME=1") as ends:

        def suspend() -> None:
            time.sleep(0.4)
            file.touch()
            stop_process(int(ends.client.hello["pid"]), 0.3)

        return {"record": record_text(measured(ends, *SETUPS["UDP"], suspend))}


@injects("linux", "cc")
def test_a_sender_that_was_suspended_is_the_cause_of_a_stop(outcome_of: OutcomeOf) -> None:
    record = outcome_of(suspend_the_client).record("record")
    (stop,) = interruptions(record)
    assert (stop.cause, stop.end) == (Cause.SUSPENDED, "sender")
    assert record.values["sender_suspended_ns"] == pytest.approx(STEP_S * 1e9, rel=0.001)
    assert "sender_wall_step_ns" not in record.values


def suspend_the_server(clock: Path, tmp_path: Path) -> Seen:
    file = tmp_path / "now"
    with ends_with(clock, file, "server", "SET_BOOTTIME=1") as ends:

        def suspend() -> None:
            time.sleep(0.4)
            file.touch()

        return {"record": record_text(measured(ends, *SETUPS["UDP"], suspend))}


@injects("linux", "cc")
def test_a_suspended_receiver_is_named_although_its_data_has_no_gap(
    outcome_of: OutcomeOf,
) -> None:
    record = outcome_of(suspend_the_server).record("record")
    assert record.values["receiver_gap_count"] == 0
    (stop,) = interruptions(record)
    assert (stop.cause, stop.end) == (Cause.SUSPENDED, "receiver")
    assert stop.stopped_ns == pytest.approx(STEP_S * 1e9, rel=0.001)
    assert "receiver_wall_step_ns" not in record.values
