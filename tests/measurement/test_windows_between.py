"""One window for trials of real agents whose clocks are far apart."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import pytest

from netlab.remote.transport import LocalTransport, Process
from netlab.runner.options import Options
from netlab.runner.progress import Progress
from netlab.runner.run import run
from netlab.store.reader import read
from netlab.trial.record import Record, Status

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
def test_hosts_with_different_clocks_measure_in_one_common_window(
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
            # It may come late to it; the clocks are 17 s apart and more.
            assert a - offset_ns < int(str(opened_ns)) + 8_000_000_000
