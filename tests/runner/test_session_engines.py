"""The engine of each trial of a session, and pairs that search together."""

from __future__ import annotations

from dataclasses import dataclass, field
from types import SimpleNamespace
from typing import cast

from made_sessions import Bench, FakePool, bench

from netlab.experiment.cells import Cell
from netlab.experiment.hosts import Match
from netlab.experiment.schedule import Trial
from netlab.measurement import round_trip, stream
from netlab.measurement.ends import Ends
from netlab.measurement.engines import ValuesOf
from netlab.measurement.tool_engine import ToolEngine
from netlab.remote.agent import Agent
from netlab.trial.record import Record, Status, Value

__all__ = ["bench"]


TOGETHER = """\
title: pairs of ports
pairings: [b+a, d+c]
parallel: true
repeats: 2
link: {rate: 1Gbit}
tests:
  - {test: throughput_search, frame_size: [64, 128], duration: 1s, together: true}
"""


def constant(_cell: Cell, _number: int) -> float:
    return 1e8


@dataclass
class PairsPool(FakePool):
    """Hosts that record how many pairs searched together."""

    met: dict[tuple[str, int, int], int] = field(default_factory=dict)
    """(cell, trial, attempt) → number of pairs."""

    def match_of(self, pairing: str) -> Match:
        server, client = pairing.split("+")
        return Match(pairing, server, client)

    def measure(self, trial: Trial, ends: object, attempt: int, live: object) -> Record:
        assert isinstance(ends, Ends) and ends.participant is not None
        if self.away(trial) is None:
            entries = ends.participant.meet(trial.cell.key).said
            self.met[trial.cell.key, trial.number, attempt] = len(entries)
            assert {key.partition("-")[2].rpartition("-")[0] for key in entries} == {
                trial.cell.key.partition("-")[2].rpartition("-")[0]
            }
        return FakePool.measure(self, trial, ends, attempt, live)


class NamedPool(FakePool):
    """Hosts with names, as the record of a trial needs them."""

    def ends(self, cell: Cell) -> Ends:
        del cell
        agent = cast(Agent, SimpleNamespace(host=SimpleNamespace(name="a")))
        return Ends(server=agent, client=agent, same_host=False)


def test_pairings_that_search_together_are_measured_again_together(bench: Bench) -> None:
    bench.text = TOGETHER

    def away(trial: Trial) -> Status | None:
        is_away = trial.cell.pairing == "d+c" and trial.number == 2
        return Status.PENDING if is_away and "-64-" in trial.cell.key else None

    first = PairsPool(value=constant, away=away)
    assert len(bench.run(first)) == 8
    # If a host is away, the other pair searches without it.
    assert sorted(first.met.values()) == [1, *[2] * 6]
    second = PairsPool(value=constant)
    repeats = bench.run(second)
    assert sorted((t.cell.pairing, t.number) for t in repeats) == [("b+a", 2), ("d+c", 2)]
    assert list(second.met.values()) == [2, 2]
    assert bench.counted == {"ok": 8}
    assert bench.run(PairsPool(value=constant)) == []


def test_each_cell_is_measured_by_the_engine_that_the_cell_names(bench: Bench) -> None:
    bench.text = """\
title: two engines
pairings: [LL]
tests:
  - {test: stream, protocol: UDP, message_size: 64}
  - {test: round_trip, protocol: UDP, message_size: 64, engine: [netprobe, netperf]}
"""
    by_probe, by_netperf = list[Trial](), list[Trial]()

    def kept_in(measured: list[Trial]) -> ValuesOf:
        def values_of(trial: Trial, _ends: object, _live: object) -> dict[str, Value]:
            measured.append(trial)
            return {"rtt_mean_ns": 1.0}

        return values_of

    of_netperf = kept_in(by_netperf)
    for module in (stream, round_trip):
        bench.monkeypatch.setattr(module, "values_of", kept_in(by_probe))
    bench.monkeypatch.setattr(ToolEngine, "values_of", lambda _tool, *words: of_netperf(*words))
    bench.run(NamedPool(tests=()))
    assert bench.counted == {"ok": 3}
    measured = [(trial.cell.test, trial.cell.settings.get("engine")) for trial in by_probe]
    assert sorted(measured) == [("round_trip", None), ("stream", None)]
    measured = [(trial.cell.test, trial.cell.settings.get("engine")) for trial in by_netperf]
    assert measured == [("round_trip", "netperf")]
