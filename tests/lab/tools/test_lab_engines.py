"""Other tools as engines in the virtual lab: what each measures, beside netlab's own probe, and
that none of them is left behind.
"""

from __future__ import annotations

import os
import shutil
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pandas as pd
import pytest
from labs import needs_a_lab, run_matrix, wait_until

from netlab import lab, load
from netlab.findings.analysis import Analysis
from netlab.lab.network import processes
from netlab.lab.plan import LabHost, LabOptions
from netlab.measurement.tools import TOOLS

pytestmark = [
    *needs_a_lab,
    pytest.mark.needs("two-cpus", "iperf3", "iperf2", "nuttcp", "netperf", "sockperf"),
]
night = pytest.mark.night

RATE_BIT_PER_S = 20e6
PROGRAMS = {"iperf3", "iperf", "netperf", "netserver", "nuttcp", "sockperf"}
PROGRAMS |= {"tcp_stream", "udp_stream", "tcp_rr", "udp_rr"}
NEPER = pytest.param("neper", marks=pytest.mark.needs("neper"))
HAS_NEPER = shutil.which("tcp_stream") is not None
TOOLS_OF_STREAMS = ["iperf3", "iperf2", "netperf", "nuttcp", NEPER]
CEILING_BIT_PER_S = {"UDP": 20e6 * 1472 / 1538, "TCP": 20e6 * 1448 / 1538}
"""MTU 1500 and 38 bytes of frame besides: 1472 bytes of payload over UDP, 1448 over TCP."""

WAYS = ("client-sends", "server-sends")
STREAMS = """\
title: tools side by side
pairings: [LL]
tests:
  - test: stream
    protocol: [TCP, UDP]
    message_size: 1448
    direction: [client-sends, server-sends]
    engine: [netprobe, iperf3, iperf2, netperf, nuttcp, sockperf, neper]
    duration: 2s
    replace: [{when: {protocol: UDP}, with: {message_size: 1472, socket_buffer: 64KiB}}]
"""

ROUND_TRIPS = """\
title: round trips of tools
pairings: [LL]
tests:
  - test: round_trip
    protocol: [TCP, UDP]
    message_size: 64
    engine: [netprobe, netperf, sockperf, neper, iperf3]
    duration: 2s
"""


def one_trial(engine: str, duration: str) -> str:
    """A matrix with one trial, of the first kind of test that the tool has."""
    test, _ = next(iter(TOOLS[engine].follows))
    return (
        "title: one trial\npairings: [LL]\ntests:\n"
        f"  - {{test: {test}, protocol: TCP, message_size: 1448, duration: {duration}, "
        f"engine: {engine}}}\n"
    )


@pytest.fixture(scope="module")
def lab_state() -> Iterator[lab.LabState]:
    name = f"e{os.getpid()}"
    try:
        yield lab.up(LabOptions(name=name, rate=RATE_BIT_PER_S, queue_frames=100))
    finally:
        lab.down(name)


def tools_on(host: LabHost) -> list[int]:
    """The processes of tools that run on a host now."""
    pids = []
    for pid in processes(host.namespace):
        try:
            name = Path(f"/proc/{pid}/comm").read_text().strip()
        except OSError:
            continue
        if name in PROGRAMS:
            pids.append(pid)
    return pids


def tools_in(of: lab.LabState) -> list[int]:
    """The processes of tools that run on the hosts of a lab now."""
    return [pid for host in of.hosts for pid in tools_on(host)]


def measured(run: Analysis, *keys: str) -> dict[tuple[str, ...], dict[Any, Any]]:
    """The levels of ``keys`` → the only trial with these levels."""
    frame = run.frame.assign(engine=run.frame["engine"].fillna("netprobe"))
    return {tuple(row[key] for key in keys): row for row in frame.to_dict("records")}


SHORT = """\
title: one stream of each tool
pairings: [LL]
tests:
  - test: stream
    protocol: TCP
    message_size: 1448
    engine: [iperf3, iperf2, netperf, nuttcp, sockperf]
    duration: 1s
"""


def test_a_run_measures_with_each_tool_and_leaves_no_process_of_a_tool(
    lab_state: lab.LabState, tmp_path: Path
) -> None:
    run = run_matrix(lab_state, tmp_path, SHORT)
    rows = measured(run, "engine")
    assert {engine: row["reason"] for (engine,), row in rows.items() if row["status"] != "ok"} == {
        "sockperf": "engine-cannot"
    }
    for (engine,), row in rows.items():
        if row["status"] == "ok":
            # Some tools count what still waits in buffers; none takes bytes for bits.
            assert 0.1 < row["throughput_bit_per_s"] / CEILING_BIT_PER_S["TCP"] < 4, engine
            assert row["server_engine_version"] and row["client_engine_version"]
            assert row["client_engine_command"].startswith(engine[:4])
    assert tools_in(lab_state) == []


@night
def test_each_tool_reports_the_throughput_that_the_wire_carries(
    lab_state: lab.LabState, tmp_path: Path
) -> None:
    run = run_matrix(lab_state, tmp_path, STREAMS, timeout_s=300)
    rows = measured(run, "engine", "protocol", "direction")
    reasons = {key: row["reason"] for key, row in rows.items() if row["status"] != "ok"}
    assert {key for key, reason in reasons.items() if reason == "program-missing"} == {
        ("neper", "TCP", way) for way in WAYS if not HAS_NEPER
    }
    assert {key for key, reason in reasons.items() if reason == "engine-cannot"} == {
        *(("sockperf", protocol, way) for protocol in ("TCP", "UDP") for way in WAYS),
        *(("neper", "UDP", way) for way in WAYS),
        ("iperf2", "UDP", "server-sends"),
    }
    assert set(reasons.values()) == {
        "engine-cannot",
        *(() if HAS_NEPER else ("program-missing",)),
    }
    for (engine, protocol, direction), row in rows.items():
        if row["status"] != "ok":
            continue
        share = row["throughput_bit_per_s"] / CEILING_BIT_PER_S[protocol]
        # Some tools time until the last byte leaves the queue, others until the sender ends.
        assert share == pytest.approx(1, abs=0.04), (engine, protocol, direction)
        if engine != "netprobe":
            assert row["server_engine_version"] and row["client_engine_version"]
            program = "tcp_stream" if engine == "neper" else engine[:4]
            assert row["client_engine_command"].startswith(program)
    assert {key[0] for key, row in rows.items() if row["status"] == "ok"} == {
        *("netprobe", "iperf3", "iperf2", "netperf", "nuttcp"),
        *(("neper",) if HAS_NEPER else ()),
    }
    assert tools_in(lab_state) == []


@night
def test_mean_round_trips_of_all_tools_differ_by_less_than_a_factor_of_4(
    lab_state: lab.LabState, tmp_path: Path
) -> None:
    run = run_matrix(lab_state, tmp_path, ROUND_TRIPS, timeout_s=120)
    rows = measured(run, "engine", "protocol")
    for protocol in ("TCP", "UDP"):
        assert rows["iperf3", protocol]["reason"] == "engine-cannot"
        if not HAS_NEPER:
            assert rows["neper", protocol]["reason"] == "program-missing"
        mean_ns = {
            engine: rows[engine, protocol]["rtt_mean_ns"]
            for engine in ("netprobe", "netperf", "sockperf", *(("neper",) if HAS_NEPER else ()))
        }
        # The same path, at different moments of a shared machine.
        assert max(mean_ns.values()) < 4 * min(mean_ns.values()), mean_ns
    assert tools_in(lab_state) == []


def check_end(of: lab.LabState, folder: Path, engine: str, number: signal.Signals) -> None:
    """No program of a tool is left after its controller got a signal in mid-trial."""
    (folder / "matrix.yaml").write_text(one_trial(engine, "60s"))
    words = ["run", "matrix.yaml", "--hosts", str(of.hosts_file), "--no-report"]
    process = subprocess.Popen(
        [sys.executable, "-m", "netlab", *words],
        cwd=folder,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
    )
    try:
        wait_until(lambda: len(tools_in(of)) >= 2)
        time.sleep(0.5)
        os.kill(process.pid, number)
        wait_until(lambda: tools_in(of) == [])
    finally:
        process.kill()
        process.wait()


@night
@pytest.mark.parametrize("engine", TOOLS_OF_STREAMS)
def test_a_tool_ends_when_its_controller_is_killed(
    engine: str, lab_state: lab.LabState, tmp_path: Path
) -> None:
    check_end(lab_state, tmp_path, engine, signal.SIGKILL)


def test_a_tool_ends_when_its_controller_is_interrupted(
    lab_state: lab.LabState, tmp_path: Path
) -> None:
    check_end(lab_state, tmp_path, "iperf3", signal.SIGINT)


@night
@pytest.mark.parametrize("end", ["server", "client"])
@pytest.mark.parametrize("engine", [*TOOLS_OF_STREAMS, "sockperf"])
def test_a_tool_that_dies_in_a_trial_fails_the_trial(
    engine: str, end: str, lab_state: lab.LabState, tmp_path: Path
) -> None:
    (tmp_path / "matrix.yaml").write_text(one_trial(engine, "8s"))
    words = ["run", "matrix.yaml", "--hosts", str(lab_state.hosts_file), "--into", "run"]
    words += ["--no-report", "--retries", "0"]
    process = subprocess.Popen(
        [sys.executable, "-m", "netlab", *words],
        cwd=tmp_path,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
    )
    try:
        wait_until(lambda: len(tools_in(lab_state)) >= 2)
        time.sleep(1.5)
        kill_tool(lab_state, end)
        assert process.wait(timeout=30) == 3
    finally:
        process.kill()
        process.wait()
    frame = load(tmp_path / "run").frame
    assert list(frame["status"]) == ["failed"]
    assert not {"throughput_bit_per_s", "rtt_mean_ns"} & set(frame.dropna(axis=1).columns)
    assert tools_in(lab_state) == []


def kill_tool(of: lab.LabState, end: str) -> None:
    """Kill the tool's programs on one host, by their pids."""
    pids = tools_on(of.hosts[("server", "client").index(end)])
    assert pids
    for pid in pids:
        os.kill(pid, signal.SIGKILL)


@night
@pytest.mark.parametrize("engine", ["iperf3", "iperf2", "netperf", "nuttcp", "sockperf"])
def test_a_failure_of_an_untested_tool_version_names_the_version(
    engine: str, lab_state: lab.LabState, tmp_path: Path
) -> None:
    program, *version = TOOLS[engine].version_words
    script = (
        f"#!/bin/sh\n[ \"$*\" != '{' '.join(version)}' ] || {{ echo '{program} 0.9.1'; exit; }}\n"
        f"echo '{program}: unknown option' >&2\nexit 1\n"
    )
    with other_program(lab_state, program, script):
        matrix = one_trial(engine, "1s")
        run = run_matrix(lab_state, tmp_path, matrix, "--retries", "0", code=3)
    (row,) = run.frame.to_dict("records")
    assert (row["status"], row["reason"]) == ("failed", "engine-failed")
    assert f"client: {program} 0.9.1, but netlab was tried with {engine} " in row["detail"]
    assert f"{program}: unknown option" in row["detail"]
    assert pd.isna(row.get("throughput_bit_per_s")) and pd.isna(row.get("rtt_mean_ns"))
    assert tools_in(lab_state) == []


@contextmanager
def other_program(of: lab.LabState, program: str, script: str) -> Iterator[None]:
    """Another program of that name on the client's host, and on no other host."""
    pid = processes(of.hosts[1].namespace)[-1]
    of_host = ["nsenter", "--target", str(pid), "--mount", "--pid"]
    path, other = shutil.which(program), f"/run/netlab-host/{program}"
    assert path is not None
    write = [*of_host, "sh", "-c", f"cat > {other} && chmod 755 {other}"]
    subprocess.run(write, input=script, text=True, check=True)
    subprocess.run([*of_host, "mount", "--bind", other, path], check=True)
    try:
        yield
    finally:
        subprocess.run([*of_host, "umount", path], check=True)


SERVED = """\
title: a server that runs already
pairings: [nas+linux-b]
tests:
  - test: stream
    protocol: [TCP, UDP]
    message_size: 1448
    direction: [client-sends, server-sends]
    engine: [iperf3, netprobe]
    duration: 1s
"""


@night
def test_a_running_iperf3_server_can_be_the_other_end_of_a_stream(
    lab_state: lab.LabState, tmp_path: Path
) -> None:
    address = lab_state.hosts[0].addresses[0]
    assert lab_state.hosts_file is not None
    hosts = lab_state.hosts_file.read_text()
    hosts += f"  nas: {{os: X, serves: {{iperf3: '{address}:5999'}}}}\n"
    (tmp_path / "hosts.yaml").write_text(hosts)
    (tmp_path / "matrix.yaml").write_text(SERVED)
    serve = ["iperf3", "-s", "-B", address, "-p", "5999"]
    words = ["run", "matrix.yaml", "--hosts", "hosts.yaml", "--into", "run", "--no-report"]
    with subprocess.Popen(
        ["ip", "netns", "exec", lab_state.hosts[0].namespace, *serve], stdout=subprocess.DEVNULL
    ) as server:
        try:
            subprocess.run([sys.executable, "-m", "netlab", *words], cwd=tmp_path, check=True)
        finally:
            server.kill()
    rows = measured(load(tmp_path / "run"), "engine", "protocol", "direction")
    for (engine, protocol, direction), row in rows.items():
        if engine == "netprobe":
            assert row["reason"] == "not-as-set-up"
            continue
        assert row["status"] == "ok", row["detail"]
        share = row["throughput_bit_per_s"] / CEILING_BIT_PER_S[protocol]
        assert 0.9 < share < 1.05, (engine, protocol, direction)
        assert row["server"] == "nas"
