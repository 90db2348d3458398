"""How many calls deep the requests of a trial leave netlab, counted on the stack."""

from __future__ import annotations

import sys
from collections import defaultdict
from collections.abc import Iterator
from pathlib import Path
from types import FrameType

import pytest
from folders import ROOT

from netlab.remote.transport import LocalProcess
from netlab.runner.options import Options
from netlab.runner.progress import Progress
from netlab.runner.run import run
from netlab.runner.session import Session

MOST_CALLS = 7
"""From the function of the trial to the write to the agent, both counted."""

MATRIX = """\
title: requests of each kind
hosts: {a: {local: true, addresses: {test: 127.0.0.1}}}
pairings: [a+a]
defaults: {duration: 100ms, message_size: 64}
tests:
  - {test: stream, protocol: TCP}
  - {test: stream, protocol: UDP, rate: 1Mbit, direction: both}
  - {test: round_trip, protocol: UDP}
  - {test: connect, protocol: TCP}
"""


def frames_below(frame: FrameType | None) -> Iterator[FrameType]:
    while frame is not None:
        yield frame
        frame = frame.f_back


@pytest.mark.lab
def test_requests_to_both_ends_leave_at_most_7_calls_below_the_start_of_their_trial(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    chains: dict[str, list[list[str]]] = defaultdict(list)
    write, trial = LocalProcess.write, Session.trial.__code__

    def counted(self: LocalProcess, data: bytes) -> None:
        frames = list(frames_below(sys._getframe(1)))
        codes = [frame.f_code for frame in frames]
        if trial in codes:
            below = codes[: codes.index(trial) + 1]
            ours = [code for code in below if code.co_filename.startswith(str(ROOT / "netlab"))]
            names = [code.co_qualname for code in reversed(ours)]
            chains[data.split()[1].decode()].append([*names, write.__qualname__])
        write(self, data)

    monkeypatch.setattr(LocalProcess, "write", counted)
    (tmp_path / "m.yaml").write_text(MATRIX)
    options = Options(matrix=tmp_path / "m.yaml", into=tmp_path / "run", wait_s=60)
    assert run(options, Progress(quiet=True)).counts == {"ok": 4}
    assert {verb: len(chains[verb]) for verb in ("receive", "send", "mirror", "ask")} == {
        "receive": 3,
        "send": 3,
        "mirror": 2,
        "ask": 2,
    }
    for verb in ("receive", "send", "mirror", "ask"):
        for chain in chains[verb]:
            assert len(chain) <= MOST_CALLS, f"{verb}: {' → '.join(chain)}"
