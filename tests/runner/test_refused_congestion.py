"""A congestion control that a host lacks or refuses to the account, with the advice for it."""

from __future__ import annotations

import errno
import json
import os
import re
import subprocess
import sys
from collections.abc import Callable, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any, Literal

import pytest
from fault_runs import bench
from liars import COUNTED, LiedTo, lied_to
from needs import require
from netprobe_agents import netprobe
from scripted_agent import run_with

from netlab.build.binaries import local_probe
from netlab.experiment.cells import Cell
from netlab.experiment.hosts import Host
from netlab.experiment.schedule import Trial
from netlab.findings.analysis import load
from netlab.kinds import Connect, PayloadSearch, RoundTrip, Setup, Stream
from netlab.measurement.engines import measure
from netlab.runner.trial_faults import HostValues, Unmeasured, beyond_account
from netlab.store.reader import read
from netlab.trial.record import Record, Status

__all__ = ["bench", "lied_to", "netprobe"]

IPV4 = Path("/proc/sys/net/ipv4")
TOKEN = "00112233445566778899aabbccddeeff"
linux = pytest.mark.needs("linux")

# ---- what the controller makes of it, on any system ----------------------------------------------

SAID = "congestion control cubic is not allowed for this account; allowed here: reno bbr"
REFUSED = {"error": "capability-missing", "errno": 1, "key": "congestion", "detail": SAID}
ADVICE = "; or set another `congestion` in the matrix, or none to use the host's default"

TESTS: dict[str, tuple[Callable[..., Record], Setup, str, str]] = {
    "stream": (
        measure,
        Stream(protocol="TCP", message_bytes=1448, duration_s=1.0, congestion="cubic"),
        "client",
        "send",
    ),
    "round_trip": (
        measure,
        RoundTrip(protocol="TCP", message_bytes=64, duration_s=1.0, congestion="cubic"),
        "server",
        "mirror",
    ),
    "connect": (
        measure,
        Connect(message_bytes=64, duration_s=1.0, congestion="cubic"),
        "server",
        "mirror",
    ),
    "payload_search": (
        measure,
        PayloadSearch(protocol="TCP", timeout_s=0.01, congestion="cubic"),
        "client",
        "ask",
    ),
}


@pytest.mark.parametrize("test", TESTS)
def test_a_refused_congestion_control_makes_each_kind_of_test_impossible_with_advice(
    test: str,
) -> None:
    measure, setup, end, verb = TESTS[test]
    trial = Trial(Cell(pairing="LL", test=test, setup=setup), number=1)
    record, _, _ = run_with(measure, trial, **{end: {"faults": {verb: REFUSED}}})
    assert (record.status, record.reason) == (Status.IMPOSSIBLE, "capability-missing")
    assert record.errno == 1
    assert record.detail == f"{end}: capability-missing (errno 1): {SAID}{ADVICE}"


# ---- what the probe says -------------------------------------------------------------------------


def words_of(file: str) -> list[str]:
    return (IPV4 / file).read_text().split()


def stripped(*words: str | Path) -> list[str]:
    """A command without the right to choose controls that ordinary users may not choose."""
    if os.geteuid() != 0:
        return list(map(str, words))
    require("setpriv")
    drop = ("--bounding-set=-net_admin", "--inh-caps=-net_admin")
    return ["setpriv", *drop, *map(str, words)]


def asked(command: Sequence[str | Path], name: str) -> dict[str, Any]:
    """The last record of a receiver with this congestion control, to which nobody connects."""
    keys = ("receive", "bind=127.0.0.1", f"congestion={name}", "deadline=0.1")
    process = subprocess.run(
        [*map(str, command), *keys],
        env=os.environ | {"NETPROBE_TOKEN": TOKEN},
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
    )
    answer: dict[str, Any] = json.loads(process.stdout.splitlines()[-1])
    return answer


@pytest.mark.lab
@linux
def test_the_probe_refuses_a_missing_congestion_control_and_lists_the_available_ones(
    netprobe: Path,
) -> None:
    answer = asked([netprobe], "no-such-thing")
    assert (answer["error"], answer["errno"]) == ("capability-missing", 2)
    assert answer["key"] == "congestion"
    listed = " ".join(words_of("tcp_available_congestion_control"))
    assert f"no-such-thing is not available; available here: {listed};" in answer["detail"]
    assert answer["detail"].endswith("modprobe tcp_no-such-thing")


@pytest.mark.lab
@linux
def test_the_probe_takes_allowed_congestion_controls_and_refuses_others_with_advice(
    netprobe: Path,
) -> None:
    """For all controls of this kernel: the kernel lists those that are allowed."""
    allowed_controls = words_of("tcp_allowed_congestion_control")
    for name in words_of("tcp_available_congestion_control"):
        answer = asked(stripped(netprobe), name)
        if name in allowed_controls:
            assert answer["error"] == "no-peer", answer
            continue
        assert (answer["error"], answer["errno"]) == ("capability-missing", 1), answer
        listed = " ".join(allowed_controls)
        assert answer["detail"] == (
            f"congestion control {name} is not allowed for this account; allowed here: {listed}; "
            "root of this host can allow it: "
            f"sysctl -w net.ipv4.tcp_allowed_congestion_control='{listed} {name}'"
        )


# ---- a whole run ---------------------------------------------------------------------------------

MATRIX = """\
title: of another kernel
hosts: {{server: {{local: true}}, client: {{local: true}}}}
pairs: {{LL: [server, client]}}
pairings: [LL]
defaults: {{congestion: {name}, duration: 100ms, message_size: 1448, protocol: TCP}}
tests: [{{test: stream}}, {{test: round_trip}}, {{test: connect}}, {{test: payload_search}}]
"""


@pytest.mark.lab
@linux
def test_a_run_tries_a_refused_congestion_control_once_and_prints_the_reason_once(
    tmp_path: Path,
) -> None:
    """With a control that this account may not choose, if there is one."""
    local_probe()
    allowed_controls = words_of("tcp_allowed_congestion_control")
    forbidden_controls = [
        n for n in words_of("tcp_available_congestion_control") if n not in allowed_controls
    ]
    name, number = (forbidden_controls[0], 1) if forbidden_controls else ("no-such-thing", 2)
    (tmp_path / "matrix.yaml").write_text(MATRIX.format(name=name))
    words = (sys.executable, "-m", "netlab", "run", "matrix.yaml", "--into", "out")
    process = subprocess.run(
        stripped(*words), cwd=tmp_path, capture_output=True, text=True, timeout=300, check=False
    )
    assert process.returncode == 0, process.stderr
    frame = load(tmp_path / "out").frame
    assert list(frame["test"]) == ["stream", "round_trip", "connect", "payload_search"]
    assert set(frame["status"]) == {"impossible"}
    assert set(frame["reason"]) == {"capability-missing"}
    assert set(frame["errno"]) == {number}
    assert set(frame["attempt"]) == {1}
    assert all(detail.endswith(ADVICE) for detail in frame["detail"])
    page = (tmp_path / "out" / "index.html").read_text("utf-8")
    # The host reports before the run what an account may not choose; a missing control is tried.
    sentence = (
        f"may not choose `{name}` (it may: "
        if forbidden_controls
        else f"congestion control {name} is not "
    )
    assert sentence in page
    details = {str(record.detail) for record in read(tmp_path / "out").records}
    assert all(sentence in detail for detail in details)
    # The first refusal is reported; those with the same reason are not.
    whom = details if forbidden_controls else {detail.partition(":")[0] for detail in details}
    assert sum(sentence in line for line in process.stderr.splitlines()) == len(whom)


# ---- found before the first trial ----------------------------------------------------------------

KNOWN = (
    Host(name="server", os="L", addresses={"test": ("10.0.0.1",)}),
    Host(name="client", os="L", addresses={"test": ("10.0.0.2",)}),
)
HAS = HostValues(congestion_available=("reno", "cubic"), congestion_allowed=("reno",))


def kept_from(setup: Setup, **values: HostValues) -> Unmeasured | None:
    return beyond_account(Cell(pairing="LL", test="stream", setup=setup), KNOWN, values)


@pytest.mark.parametrize(
    ("direction", "whom"),
    [
        ("client-sends", {"client"}),
        ("server-sends", {"server"}),
        ("both", {"client", "server"}),
    ],
)
def test_only_the_sending_end_needs_permission_for_the_congestion_control(
    direction: Literal["client-sends", "server-sends", "both"], whom: set[str]
) -> None:
    setup = Stream(protocol="TCP", message_bytes=64, congestion="cubic", direction=direction)
    obstacle = kept_from(setup, server=HAS, client=HAS)
    assert obstacle is not None
    assert (obstacle.status, obstacle.reason, obstacle.errno) == (
        Status.IMPOSSIBLE,
        "capability-missing",
        errno.EPERM,
    )
    assert set(re.findall(r"the account on (\w+) may not choose `cubic`", obstacle.detail)) == whom
    assert obstacle.detail.endswith(ADVICE)
    assert not obstacle.record(Trial(Cell(pairing="LL", test="stream", setup=setup), 1), 1).is_final


def test_a_congestion_control_that_is_allowed_or_unknown_is_tried() -> None:
    cubic = Stream(protocol="TCP", message_bytes=64, congestion="cubic")
    assert kept_from(cubic) is None
    assert kept_from(cubic, server=HAS) is None, "the server sends nothing"
    assert kept_from(replace(cubic, congestion="reno"), client=HAS) is None
    assert kept_from(replace(cubic, protocol="UDP"), client=HAS) is None
    # A system may load a control that it does not list: only a trial shows it.
    assert kept_from(replace(cubic, congestion="bbr"), client=HAS) is None


REFUSING = ('facts.congestion_available="reno,cubic"', 'facts.congestion_allowed="cubic"')
"""What the client's host says, which in truth allows everybody `reno`, as every Linux does."""
RENO = """\
{test: stream, protocol: TCP, message_size: 1448, congestion: reno,
  direction: [client-sends, server-sends]}, {test: round_trip, protocol: TCP, message_size: 64,
  congestion: reno}, {test: stream, protocol: TCP, message_size: 1448}"""


@pytest.mark.lab
@linux
def test_a_run_finds_forbidden_congestion_controls_before_its_trials_and_at_each_resume(
    lied_to: LiedTo,
) -> None:
    lied_to.honest.matrix(RENO, defaults=COUNTED)
    sentence = (
        "warning: 2 cells are impossible: the account on client may not choose `reno` (it may: "
        "cubic); root can allow it: "
        f"sysctl -w net.ipv4.tcp_allowed_congestion_control='cubic reno'{ADVICE}"
    )

    def told(*words: str, lies: tuple[str, ...]) -> list[str]:
        process = lied_to.bench.run(*words, "--no-report", env=lied_to.env(*lies))
        assert process.returncode == 0, process.stderr
        return [line for line in process.stderr.splitlines() if "may not choose" in line]

    def by_status() -> dict[Status, set[int]]:
        attempts: dict[Status, set[int]] = {}
        for record in lied_to.bench.load("out").stored.latest.values():
            attempts.setdefault(record.status, set()).add(record.attempt)
        return attempts

    assert told("run", "matrix.yaml", "--into", "out", lies=REFUSING) == [sentence]
    assert by_status() == {Status.OK: {1}, Status.IMPOSSIBLE: {1}}
    records = [
        record
        for record in lied_to.bench.load("out").stored.latest.values()
        if record.status is Status.IMPOSSIBLE
    ]
    assert {record.settings.get("direction") for record in records} == {"client-sends", None}
    assert {(record.reason, record.errno, record.detail) for record in records} == {
        ("capability-missing", errno.EPERM, sentence.partition("impossible: ")[2])
    }
    assert not any("elapsed_ns" in record.values for record in records), "none of them was tried"
    assert told("resume", "out", lies=REFUSING) == [sentence], "nobody has allowed it meanwhile"
    assert told("resume", "out", lies=()) == []
    assert by_status().keys() == {Status.OK}
