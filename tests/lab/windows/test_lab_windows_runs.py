"""Runs on the lab's Windows hosts: every pairing, interrupted and gone on with, and what is left
of the probes when a run ends, is killed, or is cut off."""

from __future__ import annotations

import json
import os
import re
import signal
import statistics
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest
from labs import first_on_the_cpus, needs_a_lab, standing

import netlab
from netlab import lab
from netlab.findings.analysis import findings
from netlab.findings.derived import samples
from netlab.findings.finding import Kind
from netlab.findings.stream_limits import limit_of
from netlab.lab import programs
from netlab.lab.plan import LabOptions
from netlab.store.journal import read_journal

pytestmark = [
    *needs_a_lab,
    pytest.mark.needs("windows-hosts"),
]

NAME = f"r{os.getpid()}"
LEASE_S = 12.0
GONE_S = LEASE_S + 8
"""docs/lab.md: no netprobe is left 20 s after."""

MATRIX = """\
title: Every pairing
link: {rate: 20Mbit, mtu: 1500}
pairings: [LL, WL, LW, WW]
defaults: {duration: DURATION, congestion: cubic, socket_buffer: [16KiB, 64KiB]}
tests:
  - {test: stream, protocol: TCP, message_size: [64, 65536]}
  - test: stream
    protocol: UDP
    message_size: [576, 64512]
    # So many long messages that a figure comes of them.
    replace: [{when: {message_size: 64512}, with: {duration: 2s}}]
"""
CELLS = 32


def words_of(of: lab.LabState, folder: Path, *more: str, duration: str = "250ms") -> list[str]:
    """A run's command, its matrix written into the folder."""
    matrix = folder / "matrix.yaml"
    matrix.write_text(MATRIX.replace("DURATION", duration))
    words = ["run", str(matrix), "--hosts", str(of.hosts_file), "--into", str(folder / "run")]
    return [sys.executable, "-m", "netlab", *words, *more]


def records(folder: Path, status: tuple[str, ...] = ("ok", "impossible")) -> list[str]:
    """Lines of the journal that are records of that status; a torn last line is none."""
    path = folder / "run" / "journal.jsonl"
    lines = read_journal(path)[0] if path.exists() else ()
    return [
        line.text
        for line in lines
        if line.data["kind"] == "record" and line.data["status"] in status
    ]


def probes_of(of: lab.LabState) -> dict[str, list[str]]:
    """Host → command lines of every netprobe that runs there, Linux or Windows program."""
    probes: dict[str, list[str]] = {}
    names = {host.uid: host.name for host in of.hosts}
    for process in Path("/proc").glob("[0-9]*"):
        try:
            words = (process / "cmdline").read_bytes()
            name = names.get(process.stat().st_uid)
        except OSError:
            continue  # it ended meanwhile
        if name is not None and b"netprobe" in words:
            probes.setdefault(name, []).append(words.replace(b"\0", b" ").decode())
    return probes


def seconds_until_gone(of: lab.LabState, within_s: float) -> float:
    begin = time.monotonic()
    while probes := probes_of(of):
        assert time.monotonic() - begin < within_s, probes
        time.sleep(0.02)
    return time.monotonic() - begin


@contextmanager
def at_work(
    of: lab.LabState, folder: Path, *more: str, duration: str
) -> Iterator[subprocess.Popen[str]]:
    """A run in the middle of a trial that keeps a Windows host busy."""
    words = words_of(of, folder, *more, duration=duration)
    with subprocess.Popen(
        words, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True
    ) as run:
        try:
            end = time.monotonic() + 120
            while not trial_begun(folder) or not any("windows" in name for name in probes_of(of)):
                assert run.poll() is None, run.stderr and run.stderr.read()
                assert time.monotonic() < end, "no trial began"
                time.sleep(0.01)
            time.sleep(0.3)
            assert set(probes_of(of)) >= {"windows-a", "windows-b"}, "this check is blind"
            yield run
        finally:
            run.kill()


def trial_begun(folder: Path) -> bool:
    path = folder / "run" / "journal.jsonl"
    lines = read_journal(path)[0] if path.exists() else ()
    return bool(lines) and lines[-1].data["kind"] == "attempt"


def test_every_cell_of_the_four_pairings_is_ok_or_impossible_with_a_reason(
    four_hosts: lab.LabState, tmp_path: Path
) -> None:
    process = subprocess.run(
        words_of(four_hosts, tmp_path), capture_output=True, text=True, timeout=600, check=False
    )
    assert process.returncode == 0, process.stderr
    run = netlab.load(tmp_path / "run")
    rows = run.frame.to_dict("records")
    assert "does not report by which interface" not in process.stderr
    assert len(rows) == CELLS
    for row in rows:
        if row["status"] != "ok":
            assert row["status"] == "impossible" and row["reason"] == "no-buffers", row
            assert (row["message_bytes"], row["socket_buffer_bytes"]) == (64512, 16384)
            assert row["errno"] > 0
    assert sum(row["status"] == "impossible" for row in rows) <= 4
    page = (tmp_path / "run" / "index.html").read_text()
    for words in ("server Linux, client Windows", "server Windows, client Windows"):
        assert words in page


SMALL = """\
title: Small messages of a Windows client
link: {rate: 100Mbit, mtu: 1500}
pairings: [LW]
repeats: 5
defaults: {duration: 500ms, warm_up: 200ms, congestion: cubic, socket_buffer: 64KiB}
tests:
  - {test: stream, protocol: TCP, message_size: 64}
"""


@pytest.fixture
def fast() -> Iterator[lab.LabState]:
    """A Linux and a Windows host with cables that small messages leave mostly empty."""
    with standing("f", rate=100e6, windows=1) as of:
        yield of


@pytest.mark.night
@pytest.mark.produces("sender-call-rate")
def test_the_send_call_of_a_windows_client_is_named_as_the_limit_of_small_messages(
    fast: lab.LabState, tmp_path: Path
) -> None:
    """wine's goes to the wineserver and back, far more slowly than a cable takes 64 bytes."""
    words = words_of(fast, tmp_path, "--no-report")
    (tmp_path / "matrix.yaml").write_text(SMALL)
    with first_on_the_cpus(fast, "windows-a", "linux-a"):
        process = subprocess.run(words, capture_output=True, text=True, timeout=120, check=False)
    assert process.returncode == 0, process.stderr
    run = netlab.load(tmp_path / "run")
    trials = samples(run)
    assert len(trials) == 5
    time_in_calls = []
    for trial in trials:
        # Nothing else can be the limit: three quarters of the wire are free, the socket takes every
        # message at once, and one call after the other takes the time.
        assert trial.throughput_bit_per_s < 0.25 * 100e6 * 1448 / 1538
        assert trial.room_share == 1.0, "they wait for no queue"
        assert trial.call_times is not None and trial.call_times.count > 20
        one_call_ns = trial.send_call_median_ns
        assert one_call_ns is not None and trial.calls_per_s is not None
        time_in_calls.append(trial.calls_per_s * one_call_ns / 1e9)
    assert 0.5 < statistics.median(time_in_calls) < 1.1, time_in_calls
    limits = [limit_of(trial) for trial in trials]
    assert limits.count(Kind.SENDER_CALL_RATE) > len(trials) / 2, limits
    kinds = {finding.kind for finding in findings(run) if finding.group.pairing == "LW"}
    assert Kind.SENDER_CALL_RATE in kinds and Kind.WIRE_CEILING not in kinds


@contextmanager
def closed(of: lab.LabState, *names: str) -> Iterator[None]:
    """These hosts' firewalls: nothing over TCP comes in by the test cable, in silence."""
    # The kernel looks its own addresses up before every rule, unless that rule goes behind.
    shut = (
        "add preference 100 lookup local",
        "delete preference 0",
        "add preference 10 iif test ipproto tcp blackhole",
    )
    rules = ("add preference 0 lookup local", "delete preference 10", "delete preference 100")
    namespaces = [host.namespace for host in of.hosts if host.name in names]
    try:
        for namespace in namespaces:
            for words in shut:
                programs.run("ip", "-n", namespace, "rule", *words.split())
        yield
    finally:
        for namespace in namespaces:
            for words in rules:
                programs.run("ip", "-n", namespace, "rule", *words.split())


WALLED = """\
title: Two closed Windows hosts
link: {rate: 20Mbit, mtu: 1500}
pairings: [WW]
defaults: {duration: 300ms}
tests:
  - {test: stream, protocol: [TCP, UDP], message_size: 1400}
"""


@pytest.mark.night
def test_blocked_windows_hosts_are_reported_with_the_firewall_rule_that_opens_them(
    four_hosts: lab.LabState, tmp_path: Path
) -> None:
    words = words_of(four_hosts, tmp_path, "--patience", "0", "--no-report")
    (tmp_path / "matrix.yaml").write_text(WALLED)
    with closed(four_hosts, "windows-a", "windows-b"):
        process = subprocess.run(words, capture_output=True, text=True, timeout=120, check=False)
    assert process.returncode == 3, process.stderr
    latest = {r.settings["protocol"]: r for r in netlab.load(tmp_path / "run").latest.values()}
    assert (latest["TCP"].status, latest["TCP"].reason) == ("failed", "path-blocked")
    assert latest["UDP"].status == "ok"
    detail = str(latest["TCP"].detail)
    assert "netsh advfirewall firewall add rule name=netlab dir=in action=allow" in detail
    program = re.search(
        r'program="(C:\\Users\\netlab\\\.cache\\netlab\\netprobe-\w+\.exe)"', detail
    )
    assert program, detail
    assert "UDP passes" in detail


@pytest.mark.night
def test_a_run_resumes_after_its_lab_was_down_and_loses_no_record(tmp_path: Path) -> None:
    name = f"{NAME}-2"
    options = LabOptions(name=name, rate=100e6, windows=2)
    try:
        lab_state = lab.up(options)
        words = words_of(lab_state, tmp_path, "--only", "LL", "--no-report")
        process = subprocess.run(words, capture_output=True, text=True, timeout=120, check=False)
        assert process.returncode == 0, process.stderr
        first_records = records(tmp_path)
        assert len(first_records) == CELLS / 4
        # In the middle of it, from under the run: it ends by itself and says what is left.
        words = ["--no-report", "--patience", "3"]
        with at_work(lab_state, tmp_path, *words, duration="250ms") as run:
            lab.down(name)
            _, output = run.communicate(timeout=120)
        # Its hosts are away: that is what a person has to mend.
        assert run.returncode == 4, output
        assert "; to resume: netlab resume" in output
        assert "Traceback" not in output
        lab_state, interrupted = lab.up(options), records(tmp_path)
        assert interrupted[: len(first_records)] == first_records
        words = words_of(lab_state, tmp_path, "--no-report")
        process = subprocess.run(words, capture_output=True, text=True, timeout=600, check=False)
        assert process.returncode == 0, process.stderr
        assert records(tmp_path)[: len(interrupted)] == interrupted
    finally:
        lab.down(name)
    entries = [json.loads(line) for line in records(tmp_path)]
    assert len({entry["cell"] for entry in entries}) == CELLS
    # What is impossible as the hosts are now is asked again by each run.
    cells = [entry["cell"] for entry in entries if entry["status"] == "ok"]
    assert len(cells) == len(set(cells))
    frame = netlab.load(tmp_path / "run").frame
    assert set(frame["status"]) <= {"ok", "impossible"}


def test_ctrl_c_leaves_no_probe_on_windows_hosts(four_hosts: lab.LabState, tmp_path: Path) -> None:
    with at_work(four_hosts, tmp_path, "--no-report", duration="20s") as run:
        run.send_signal(signal.SIGINT)
        _, output = run.communicate(timeout=60)
        assert run.returncode == 130, output
        assert "to resume: netlab resume" in output
    assert seconds_until_gone(four_hosts, GONE_S) < LEASE_S, "they do not wait for their lease"


def test_a_killed_controller_leaves_no_probe_on_windows_hosts(
    four_hosts: lab.LabState, tmp_path: Path
) -> None:
    with at_work(four_hosts, tmp_path, "--no-report", duration="2s") as run:
        run.kill()
        run.wait(60)
        assert seconds_until_gone(four_hosts, GONE_S) < GONE_S


@pytest.mark.night
def test_probes_on_windows_hosts_end_with_their_lease_if_the_connections_are_cut(
    four_hosts: lab.LabState, tmp_path: Path
) -> None:
    """No FIN and no RST comes through: the hosts hear nothing any more, and only wait."""
    assert four_hosts.plan is not None
    bridge = four_hosts.plan.bridge
    with at_work(four_hosts, tmp_path, "--no-report", duration="2s") as run:
        programs.run("ip", "link", "set", "dev", bridge, "down")
        try:
            run.kill()
            run.wait(60)
            gone_s = seconds_until_gone(four_hosts, GONE_S)
        finally:
            programs.run("ip", "link", "set", "dev", bridge, "up")
    assert LEASE_S - 4 < gone_s < GONE_S, "neither before its lease nor long after it"
