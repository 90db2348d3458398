"""One window for all flows at the same time: in each agent's own clock, and in the record."""

from __future__ import annotations

import time
from collections.abc import Sequence
from pathlib import Path
from typing import Any, cast

import pytest
from scripted_agent import Fake

from netlab.experiment.cells import Cell
from netlab.experiment.kinds import RoundTrip, Stream
from netlab.experiment.records import Record, Status
from netlab.experiment.schedule import Trial
from netlab.measurement.common_window import START_AHEAD_S, CommonWindow, common_window, is_common
from netlab.measurement.ends import Ends
from netlab.measurement.netprobe import NETPROBE
from netlab.remote.agent import Agent
from netlab.remote.local import LocalTransport
from netlab.remote.transport import Process
from netlab.runner.options import Options
from netlab.runner.progress import Progress
from netlab.runner.run import run
from netlab.store.reader import read

STREAM = Stream(protocol="TCP", message_bytes=1448, duration_s=1.0, warm_up_s=0.5)
UDP = Stream(protocol="UDP", message_bytes=1472, duration_s=1.0)


def agents(*offsets_ns: int) -> list[Agent]:
    return [cast(Agent, Fake(f"h{n}", [], offset_ns=o)) for n, o in enumerate(offsets_ns)]


def test_streams_of_one_length_have_a_common_window_and_nothing_else_has() -> None:
    asking = RoundTrip(protocol="TCP", message_bytes=64, duration_s=1.0)
    longer = Stream(protocol="TCP", message_bytes=64, duration_s=2.0)
    count_stream = Stream(protocol="TCP", message_bytes=64, duration_s=None, count=10)
    assert is_common([STREAM, UDP])
    assert not is_common([STREAM, longer])
    assert not is_common([STREAM, asking])
    assert not is_common([count_stream, count_stream])
    assert not is_common([])


def test_the_window_is_the_same_moment_in_every_clock_and_lies_ahead() -> None:
    four = agents(0, 5_000_000_000, -7, 3_600_000_000_000)
    shared_window = common_window([STREAM, UDP], four)
    windows = [shared_window.in_clock_of(agent) for agent in four]
    for name in ("start_ns", "open_ns", "close_ns"):
        times = [getattr(window, name) for window in windows]
        assert [time - times[0] for time in times] == [0, 5_000_000_000, -7, 3_600_000_000_000]
    assert shared_window.trials == 2
    # The longest warm-up applies to all, and all have the same duration.
    assert shared_window.open_ns - shared_window.start_ns == 500_000_000
    assert shared_window.close_ns - shared_window.open_ns == 1_000_000_000
    assert shared_window.bound_ns(*four[:2]) == 5


def test_more_trials_have_more_time_to_be_asked_for() -> None:
    pair = agents(0, 0)
    for trials in (1, 40):
        before_ns = time.monotonic_ns()
        shared_window = common_window([UDP] * trials, pair)
        least_ns = round(1e9 * (START_AHEAD_S + 0.005 * (trials - 1)))
        assert shared_window.start_ns - before_ns >= least_ns


def measured(window: CommonWindow | None, pair: list[Agent]) -> tuple[Record, list[Any]]:
    ends = Ends(server=pair[0], client=pair[1], same_host=False, window=window)
    cell = Cell(pairing="a+b", test="stream", setup=UDP)
    record = NETPROBE.measure(Trial(cell, 1), ends, 1, lambda _cell, _rate: None)
    return record, [*cast(Fake, pair[0]).asked, *cast(Fake, pair[1]).asked]


def test_both_ends_get_the_window_and_the_record_has_its_number_of_trials() -> None:
    pair = agents(1000, 2000)
    window = common_window([UDP, UDP, UDP], pair)
    record, requests = measured(window, pair)
    opens = {name: keys["window_open_ns"] for name, verb, keys in requests if verb != "stop"}
    assert opens == {"h0": window.open_ns + 1000, "h1": window.open_ns + 2000}
    assert record.values["common_window"] is True
    assert record.values["common_window_trials"] == 3
    assert record.values["common_window_open_ns"] == window.open_ns
    assert record.values["clock_bound_ns"] == 5


def test_one_that_began_to_send_too_late_is_not_over_the_whole_window() -> None:
    def late(verb: str, keys: dict[str, Any]) -> dict[str, Any] | None:
        if verb != "send":
            return None
        counts = {"sent_messages": 5, "last_send_ns": 1 << 62}
        return {"type": "result", "first_send_ns": keys["window_open_ns"] + 1, **counts}

    pair = [cast(Agent, Fake(name, [], answer=late)) for name in "ab"]
    record, _ = measured(common_window([UDP, UDP], pair), pair)
    assert record.values["common_window"] is False


def test_a_host_that_came_back_since_has_another_clock_and_a_window_of_its_own() -> None:
    window = common_window([UDP, UDP], agents(0, 0))
    record, requests = measured(window, agents(0, 0))
    assert all("window_open_ns" not in keys for _, _, keys in requests)
    assert "common_window" not in record.values


# Real agents, whose clocks are far apart

MATRIX = """\
title: four hosts, four clocks
pairings: {between: all, inside: false}
parallel: true
defaults: {duration: 300ms, socket_buffer: auto}
tests:
  - {test: stream, protocol: UDP, message_size: 1472, rate: 5Mbit}
hosts:
  a: {local: true}
  b: {local: true}
  c: {local: true}
  d: {local: true}
"""
CLOCKS_S = {"a": 0, "b": 3600, "c": 86_400, "d": 17}


@pytest.mark.alone
@pytest.mark.needs("root", "time-namespaces")
def test_flows_of_hosts_with_clocks_of_their_own_are_cut_by_one_window(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    start = LocalTransport.start

    def with_a_clock_of_its_own(self: LocalTransport, argv: Sequence[str]) -> Process:
        offset_s = CLOCKS_S[self._host.name]
        own = ["unshare", "--time", "--fork", "--kill-child", f"--monotonic={offset_s}"]
        return start(self, [*own, *argv])

    monkeypatch.setattr(LocalTransport, "start", with_a_clock_of_its_own)
    matrix, folder = tmp_path / "m.yaml", tmp_path / "run"
    matrix.write_text(MATRIX)
    outcome = run(Options(matrix=matrix, into=folder), Progress(as_json=True))
    assert outcome.counts == {"ok": 12}
    rounds: dict[object, list[Record]] = {}
    for record in read(folder).latest.values():
        assert record.status is Status.OK
        assert record.values["common_window"] is True
        rounds.setdefault(record.values["common_window_open_ns"], []).append(record)
    assert [len(records) for records in rounds.values()] == [2] * 6
    for opened_ns, records in rounds.items():
        hosts = [host for record in records for host in (record.server, record.client)]
        assert len(set(hosts)) == 4
        for record in records:
            # The receiver counts within the window, by its own clock.
            offset_ns = round(CLOCKS_S[record.server] * 1e9)
            a, b = (int(str(record.values[f"receiver_window_{at}_ns"])) for at in ("open", "close"))
            bound_ns = int(str(record.values["clock_bound_ns"]))
            assert int(str(opened_ns)) - bound_ns <= a - offset_ns < b - offset_ns
            assert a - offset_ns < int(str(opened_ns)) + 300_000_000
