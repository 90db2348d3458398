"""What is true of a run of the space of causes: its cells, its trials, and the shares in them."""

from __future__ import annotations

import json
import threading
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from types import SimpleNamespace
from typing import Any, cast

import pytest

from benchmarks.space import evidence, one_run, read_runs
from benchmarks.space.draw import Planned, drawn, every_cause
from benchmarks.space.evidence import COUNTED, affected, costs_of, planter_of, shares_of
from benchmarks.space.forwarder import Acted, Counters
from benchmarks.space.matrices import Stand
from benchmarks.space.rules_of import rule_of
from benchmarks.space.score import Part
from benchmarks.space.trials import COUNTING, Ledger, Planting, Reading, together
from benchmarks.space.words import Words
from benchmarks.truths.plants import OnTrial
from benchmarks.truths.site import Site
from netlab.experiment.schedule import Trial
from netlab.findings.analysis import Analysis
from netlab.trial.record import Status

RUNS = [run for seed in ("4", "5", "6") for run in drawn(seed)]
SITE = cast(Site, None)


def trial(cell: str, number: int) -> Trial:
    return Trial(cast(Any, SimpleNamespace(key=cell)), number)


# ---- trials --------------------------------------------------------------------------------------


def counters(data: int, acted: int) -> Counters:
    none = (0, 0)
    all_data = Acted((data, 7), none, (data, 7), none, none, none)
    its = Acted((data, data), none, (data // 2, 0), (acted, 0), none, (acted, 0))
    return Counters((), (all_data, its), 0)


def test_a_rule_is_counted_in_each_cell_in_the_trials_in_which_the_cause_is() -> None:
    readings = iter([(0, 0), (100, 10), (100, 10), (300, 12), (300, 12), (400, 92)])
    ledger = Ledger(lambda: Reading(counters(*next(readings))))
    for cell, number in (("one", 1), ("two", 1), ("one", 2)):
        ledger.end()
        ledger.begin(trial(cell, number))
    ledger.end()
    ledger.end()  # what is over is over
    counts = ledger.counts(1, 0, lambda number: number == 1)
    assert counts == {
        "one": {"matched": 100, "active": 50, "acted": 10, "dropped": 10, "data": 100},
        "two": {"matched": 200, "active": 100, "acted": 2, "dropped": 2, "data": 200},
    }
    assert ledger.counts(1, 0, lambda _: True)["one"]["acted"] == 90
    assert ledger.counts(1, 1, lambda _: True)["one"]["data"] == 0


def test_the_queue_of_the_sender_is_counted_while_the_plant_is_there() -> None:
    queue = (5, 0)

    @contextmanager
    def plant(_: Site, __: float) -> Iterator[None]:
        nonlocal queue
        queue = (0, 0)  # a new queue counts from 0
        yield
        queue = (0, 0)

    ledger = Ledger(lambda: Reading(queue=queue))
    with together([Planting(plant, 0.1, lambda number: number == 2)], ledger)(SITE, 0) as on_trial:
        assert on_trial is not None
        for number in (1, 2, 3):
            on_trial(trial("one", number))
            queue = (queue[0] + 90, queue[1] + 10)
    counts = ledger.counts(None, 0, lambda number: number == 2)
    assert counts["one"] == dict.fromkeys(("matched", "active", "data"), 100) | dict.fromkeys(
        ("acted", "dropped"), 10
    )


def test_one_thread_plants_in_all_trials_since_programs_end_with_the_thread_that_starts_them() -> (
    None
):
    threads, told = [], []

    @contextmanager
    def plant(_: Site, share: float) -> Iterator[OnTrial]:
        threads.append(threading.current_thread())
        yield lambda trial: told.append((share, trial.number))
        threads.append(threading.current_thread())

    plantings = [Planting(plant, 0.1), Planting(plant, 0.4, lambda number: number in (2, 3))]
    with together(plantings, Ledger(Reading))(SITE, 0) as on_trial:
        assert on_trial is not None and len(threads) == 1  # one is there before the first trial
        for number in (1, 2, 3, 4):
            thread = threading.Thread(target=on_trial, args=(trial("one", number),))
            thread.start()
            thread.join()
            assert threads[0].is_alive()
    assert len({*threads}) == 1 and len(threads) == 4
    assert told == [(0.1, 1), (0.1, 2), (0.4, 2), (0.1, 3), (0.4, 3), (0.1, 4)]


def test_causes_are_removed_if_a_run_fails_or_the_counters_cannot_be_read() -> None:
    removed = []

    @contextmanager
    def plant(_: Site, share: float) -> Iterator[None]:
        try:
            yield
        finally:
            removed.append(share)

    def read() -> Reading:
        raise RuntimeError("the forwarder does not answer")

    plantings = [Planting(plant, 0.1), Planting(plant, 0.4)]
    with (
        pytest.raises(RuntimeError, match="does not answer"),
        together(plantings, Ledger(read))(SITE, 0) as on_trial,
    ):
        assert on_trial is not None
        on_trial(trial("one", 1))
    assert sorted(removed) == [0.1, 0.4]


# ---- what it costs -------------------------------------------------------------------------------


def run_of(**cells: list[float | Status]) -> Analysis:
    """A run: of each cell what its trials have reached, or how they ended."""
    records = [
        SimpleNamespace(
            cell=cell,
            trial=number,
            status=value if isinstance(value, Status) else Status.OK,
            values={} if isinstance(value, Status) else {"throughput_bit_per_s": value},
        )
        for cell, values in cells.items()
        for number, value in enumerate(values, 1)
    ]
    return cast(Analysis, SimpleNamespace(records=records))


def planned_with(words: Words, repeats: int = 3) -> Planned:
    return Planned("a-run", "cause", (words,), Stand(tests=(), repeats=repeats), 1)


def test_a_trial_that_fails_because_of_the_cause_costs_all_and_a_pending_one_is_not_known() -> None:
    words = Words("path", "length", "family")
    with_it = run_of(
        none=[Status.FAILED, Status.IMPOSSIBLE, Status.FAILED],
        some=[100.0, 80.0, Status.FAILED],
        away=[Status.PENDING] * 3,
        lost=[90.0, 90.0, Status.PENDING],
    )
    clean: list[float | Status] = [100.0] * 3
    without = run_of(none=clean, some=clean, away=clean, lost=clean)
    costs = costs_of(planned_with(words), words, ["none", "some", "away", "lost"], with_it, without)
    assert costs == {
        "none": 1.0,
        "some": pytest.approx(0.4),
        "lost": pytest.approx(0.1),
    }


def test_only_the_trials_in_which_the_cause_is_are_counted(monkeypatch: pytest.MonkeyPatch) -> None:
    words = Words("sender", "cpu", when="onset")
    monkeypatch.setattr(evidence, "selector_of", lambda *_: lambda number: number == 3)
    with_it, without = run_of(one=[100.0, 100.0, 60.0]), run_of(one=[100.0] * 3)
    costs = costs_of(planned_with(words), words, ["one"], with_it, without)
    assert costs == {"one": pytest.approx(0.4)}


def test_a_cell_that_lost_nothing_is_no_cell_of_a_cause_that_only_its_cost_shows() -> None:
    costs = {"tcp": 0.0, "udp": 0.1}
    flow, rate = (Words(where, "rate", share=0.1) for where in ("sender-queue", "path"))
    assert affected(planned_with(flow), flow, [*costs], costs) == ["udp"]
    assert affected(planned_with(rate), rate, [*costs], costs) == ["tcp", "udp"]
    # Of a cause that did nothing anywhere all cells stay; the run does not count.
    none = dict.fromkeys(costs, 0.0)
    cpu = Words("sender", "cpu", share=0.1)
    assert affected(planned_with(cpu), cpu, [*costs], none) == ["tcp", "udp"]


def test_a_limit_of_a_mixture_is_not_in_cells_that_lose_only_what_its_drops_take() -> None:
    drops, limit = Words("path", "drops", share=0.1), Words("path", "rate", share=0.4)
    mixed = Planned("a-run", "mixture", (limit, drops), Stand(tests=()), 1)
    costs = {"slow": 0.11, "fast": 0.45}
    assert affected(mixed, limit, [*costs], costs) == ["fast"]
    assert affected(mixed, drops, [*costs], costs) == ["slow", "fast"]
    own = evidence.own_costs(mixed, limit, costs)
    assert own["fast"] == pytest.approx(0.389, abs=1e-3)
    cpu = Words("sender", "cpu", share=0.4)
    assert evidence.has_acted(cpu, None, {}, own)


def test_the_forwarder_takes_nothing_of_the_cpu_whose_quota_is_to_be_used_up() -> None:
    for where, cpu in (("sender", 0), ("receiver", 1), ("path", None)):
        what = "cpu" if cpu is not None else "drops"
        assert one_run._cpu_of(planned_with(Words(where, what))) == cpu


def test_of_acknowledgements_the_planted_share_less_passes_than_without_the_cause() -> None:
    limits = []
    forwarder: Any = SimpleNamespace(limit=lambda *words: limits.append(words))
    stand = Stand(tests=(), seconds=0.6, warm_up_s=0.4)
    both = iter([counters(0, 0), counters(900, 0), counters(900, 0), counters(1900, 0)])
    control = Ledger(lambda: Reading(next(both)))
    for number in (1, 2):
        control.begin(trial("one", number))
        control.end()
    for which in ("all", "acknowledgements"):
        words = Words("path-back", "rate", which, share=0.4)
        one_run._limit_acknowledgements(forwarder, words, 1, stand, control)
    assert limits == [(1, pytest.approx(0.6 * 950))]


def test_a_rate_that_is_above_what_is_offered_has_not_acted() -> None:
    rate, drops = Words("path", "rate", share=0.1), Words("path", "drops", share=0.1)
    passed = Acted((9, 0), (9, 0), (9, 0), (9, 0), (9, 0), (0, 0))
    full = Acted((9, 0), (9, 0), (9, 0), (9, 0), (9, 0), (1, 0))
    assert not evidence.has_acted(rate, passed, {}, {"one": 0.01})
    assert evidence.has_acted(rate, passed, {}, {"one": 0.09})
    assert evidence.has_acted(rate, full, {}, {"one": 0.0})
    assert evidence.has_acted(drops, passed, {}, {"one": 0.0})
    assert not evidence.has_acted(Words("sender", "cpu", share=0.1), None, {}, {"one": 0.01})
    queue = Words("sender-queue", "drops")
    assert evidence.has_acted(queue, None, {"one": {"acted": 3}}, {"one": 0.0})
    assert not evidence.has_acted(queue, None, {"one": {"acted": 0}}, {"one": 0.0})


def test_only_shares_that_are_in_the_run_are_true() -> None:
    def of(words: Words) -> dict[str, float]:
        return shares_of(words, is_cost_known=True)

    assert of(Words("path", "rate", share=0.1)) == {"acting": 0.1, "planted": 0.1}
    assert of(Words("path", "rate", when="periodic", share=0.1)) == {"acting": 0.2}
    # A program waits for as long as the buffers bridge, and for what is lost.
    assert of(Words("sender", "cpu", share=0.1)) == {"acting": pytest.approx(0.14)}
    assert of(Words("receiver", "pause", when="periodic")) == {"acting": pytest.approx(0.12)}
    assert of(Words("sender", "cpu", when="periodic")) == {"acting": pytest.approx(0.14)}
    unknown = shares_of(Words("sender", "cpu", share=0.4), is_cost_known=False)
    assert unknown["planted"] == 0.4


# ---- a whole run, without a lab ------------------------------------------------------------------


class Counting:
    """A forwarder through which ten packets pass in each trial, of which rules act on one."""

    def __init__(self, rules: list[str]) -> None:
        self.rules, self.said, self.number = rules, list[str](), 0

    def turn(self, rule: int, *, on: bool) -> None:
        self.said.append(f"{'on' if on else 'off'} {rule}")

    def limit(self, rule: int, number: float) -> None:
        self.said.append(f"limit {rule} {number:.3g}")

    def counters(self) -> Counters:
        pair, one, none = (self.number * 10,) * 2, (self.number,) * 2, (0, 0)
        return Counters((), (Acted(pair, none, pair, one, none, one),) * len(self.rules), 0)


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (Words("path", "drops", when="begin"), ["on 1", "on 1", "on 1", "off 1"]),
        (Words("path-back", "rate", "acknowledgements"), ["limit 1 11.2", "on 1", "on 1", "on 1"]),
        (Words("path", "drops", when="onset"), ["on 1", "on 1", "off 1"]),
    ],
)
def test_a_run_is_measured_with_and_without_its_cause_and_counted(
    words: Words, said: list[str], monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    forwarders: list[Counting] = []

    @contextmanager
    def forwarding(_: Site, __: int, rules: list[str], *___: Any) -> Iterator[Counting]:
        forwarders.append(Counting(rules))
        yield forwarders[0]

    def run_planted(_: Path, __: Site, ___: Path, plants: list[tuple[Any, float]]) -> None:
        ((plant, number),) = plants
        with plant(SITE, number) as on_trial:
            for block in (1, 2):
                on_trial(trial("one", block))
                forwarders[0].number += 1

    stand = Stand(tests=({"test": "stream", "message_size": 1448},), repeats=2)
    planned = Planned("a-run", "cause", (words,), stand, 1)
    monkeypatch.setattr(one_run, "forwarding", forwarding)
    monkeypatch.setattr(one_run, "run_planted", run_planted)
    monkeypatch.setattr(evidence, "cells_and_costs", lambda *_: (["one"], {"one": 0.25}))
    found: list[dict[str, Any]] = []
    assert one_run._both(planned, SITE, tmp_path, found) is None
    assert forwarders[0].rules[0] == COUNTING and len(forwarders[0].rules) == 2
    assert forwarders[0].said[: len(said)] == said
    (seen,) = found
    trials = 1 if words.when == "onset" else 2
    assert seen["counts"]["one"] == {
        **dict.fromkeys(("matched", "active", "data"), 10 * trials),
        **dict.fromkeys(("acted", "dropped"), trials),
    }
    assert seen["acted"] and seen["costs"] == {"one": 0.25} and seen["also"] == []
    json.dumps(seen)


# ---- shares of cells -----------------------------------------------------------------------------


def counts(acted: int, active: int, matched: int, data: int) -> Mapping[str, int]:
    return {"acted": acted, "active": active, "matched": matched, "data": data}


def test_how_much_is_the_share_of_the_cells_of_a_claim_and_also_that_of_all_their_packets() -> None:
    cells = {"one": counts(10, 100, 200, 400), "two": counts(90, 300, 600, 1200)}
    part = Part(Words("path", "drops"), frozenset(cells), (0.3,), counts=cells)
    assert part.shares_of(frozenset({"one"})) == (0.3, 0.1, 0.1, 0.05, 0.05, 0.025, 0.025)
    both = part.shares_of(frozenset(cells))
    assert both == pytest.approx((0.3, 0.25, 0.2, 0.125, 0.1, 0.0625, 0.05))
    assert part.shares_of(frozenset({"other"})) == (0.3,)
    back = replace_data(part, 0)
    assert len(back.shares_of(frozenset({"one"}))) == 5  # acknowledgements carry no data


def replace_data(part: Part, data: int) -> Part:
    its = {cell: {**counted, "data": data} for cell, counted in part.counts.items()}
    return Part(part.words, part.cells, part.shares, counts=its)


def test_evidence_with_counts_of_cells_is_read_without_the_share_of_the_whole_run() -> None:
    plain = {"cells": ["one"], "shares": {"planted": 0.1, "counted": 0.14}, "acted": True}
    drops = Words("path", "drops")
    older = read_runs._part(drops, plain)
    assert older.shares == (0.1, 0.14) and older.counts == {}
    new = read_runs._part(drops, {**plain, "counts": {"one": counts(1, 8, 8, 8)}})
    assert new.shares == (0.1,)
    assert new.shares_of(frozenset({"one"})) == (0.1, *[0.125] * 6)
    # A rate delays all: how many it delays says nothing.
    rate = read_runs._part(Words("path", "rate"), {**plain, "counts": {"one": counts(1, 8, 8, 8)}})
    assert rate.counts == {}
    acks = {"one": {**counts(8, 8, 8, 0), "dropped": 2}}
    words = Words("path-back", "rate", "acknowledgements")
    assert 0.25 in read_runs._part(words, {**plain, "counts": acks}).shares_of(frozenset({"one"}))


# ---- what a matrix and a rule must have for the words to be true ---------------------------------


def single(**wanted: str) -> Iterator[tuple[Words, Stand]]:
    """The causes with these words, and their stands."""
    for run in RUNS:
        if run.kind == "cause" and all(
            getattr(run.parts[0], kind) == word for kind, word in wanted.items()
        ):
            yield run.parts[0], run.stand


def rule(words: Words, stand: Stand) -> dict[str, str]:
    return dict(part.split("=") for part in rule_of(words, stand).split(","))


def test_several_requests_wait_at_once_where_one_could_overtake_nothing() -> None:
    for what in ("order", "drops", "corruption"):
        stands = [
            (words, stand)
            for words, stand in single(where="path-back", what=what)
            if words.which != "acknowledgements"
        ]
        assert stands
        for _, stand in stands:
            assert stand.tests[0]["test"] == "round_trip" and stand.tests[0]["outstanding"] == 16
            assert stand.mtu <= 1500


def test_requests_that_fill_the_way_back_are_answered_before_they_count_as_lost() -> None:
    seen = 0
    for words, stand in single(where="path-back", what="rate"):
        test = stand.tests[0]
        if test["test"] == "round_trip":
            assert stand.rate_bit_per_s is not None
            frame_s = 8 * (stand.mtu + 38) / stand.rate_bit_per_s
            assert 8 <= test["outstanding"] <= 64
            assert test["outstanding"] * frame_s / (1 - words.share) < 0.05
            seen += 1
    assert seen


def test_a_packet_is_late_by_several_of_its_stream_and_few_around_it_are_late_too() -> None:
    seen = 0
    for words, stand in single(what="order"):
        parts = rule(words, stand)
        assert stand.rate_bit_per_s is not None
        frame_ms = 8e3 * (stand.mtu + 38) / stand.rate_bit_per_s
        overtaken = float(parts["ms"]) / frame_ms / stand.streams
        assert overtaken >= 3.99 and float(parts["share"]) ** overtaken < 0.06
        assert float(parts["ms"]) < 100
        seen += 1
    assert seen


def test_a_rate_that_comes_and_goes_lets_nothing_wait_that_would_bridge_the_next_turn() -> None:
    for when in ("periodic", "bursts"):
        for words, stand in single(what="rate", when=when):
            if planter_of(words) == "forwarder" and stand.floods:
                frame_ms = 8e3 * (stand.mtu + 38) / (stand.rate_bit_per_s or 1)
                assert float(rule(words, stand)["queue_ms"]) == pytest.approx(frame_ms, rel=1e-3)
                assert frame_ms < 0.25 * 0.04 * 150  # of what the least limit takes in a turn
            elif planter_of(words) == "forwarder":
                test = stand.tests[0]
                assert test["test"] == "round_trip" or words.which == "acknowledgements"


def test_what_is_offered_leaves_room_for_copies_and_for_what_was_held() -> None:
    for what in ("copies", "pause"):
        seen = 0
        for words, stand in single(what=what):
            test, is_held = stand.tests[0], what == "pause"
            is_end = words.when == "begin" or words.which == "acknowledgements"
            if words.where == "path-back" and what == "copies":
                continue
            if test["test"] != "stream" or planter_of(words) != "forwarder" or (is_held and is_end):
                continue
            assert stand.rate_bit_per_s is not None
            room = 1 - words.share if is_held else 1 / (1 + words.share)
            assert test["rate"] <= 0.71 * stand.rate_bit_per_s * room
            seen += 1
        assert seen


def test_a_limit_of_packets_is_below_what_a_cable_carries_by_the_planted_share() -> None:
    for words, stand in single(where="device", what="rate"):
        if words.when in ("always", "trials", "onset"):
            assert stand.rate_bit_per_s is not None
            packets = stand.rate_bit_per_s / 8 / (int(stand.tests[0]["message_size"]) + 28 + 38)
            number = float(rule(words, stand)["number"])
            assert number == pytest.approx(packets * (1 - words.share), rel=1e-4)


def test_a_queue_and_a_length_that_only_full_messages_meet_have_no_others() -> None:
    for where, what in (("sender-queue", "drops"), ("cable", "setting")):
        for _, stand in single(where=where, what=what):
            assert isinstance(stand.tests[0]["message_size"], int)


def test_each_thing_that_is_counted_is_planted_with_a_rule_or_a_queue() -> None:
    for row, which, when in every_cause():
        words = Words(row.where, row.what, which, when)
        if row.what in COUNTED:
            assert planter_of(words) in ("forwarder", "queue")
