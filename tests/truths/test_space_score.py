"""A run of the space of causes is right, a symptom, beside, silent or false by what it says."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest

from benchmarks.space.draw import Planned
from benchmarks.space.matrices import Stand
from benchmarks.space.score import Judged, Part, Statement, Truth, is_near, judge
from benchmarks.space.tables import bound, guessed, printed, share_of, verdicts, without_cause
from benchmarks.space.words import Words
from benchmarks.truths.score import Share
from netlab.findings.claims import Claim


def claimed(
    where: str,
    what: str,
    which: str = "",
    when: str = "",
    share: float | None = None,
    sender: str = "",
    receiver: str = "",
) -> Claim:
    return Claim(
        where=where,
        what=what,
        which=which,
        when=when,
        share=share,
        sender=sender,
        receiver=receiver,
    )


SLOW, QUICK = frozenset({"slow-1", "slow-2"}), frozenset({"quick"})
STAND = Stand(tests=({"test": "stream"},))
LIMIT = Words("path", "rate", "class", "always", 0.4)
RIGHT = claimed("path", "rate", "class", "", 0.41, "linux-b", "linux-a")


def truth(*parts: Words, kind: Any = "cause", **more: Any) -> Truth:
    planned = Planned("a-run", kind, parts, more.pop("stand", STAND), 1)
    acted = tuple(
        Part(words, SLOW, (words.share,), acted=more.pop("acted", True)) for words in parts
    )
    return Truth(planned, SLOW | QUICK, acted, **more)


def said(claim: Claim | None, cells: frozenset[str] = SLOW, **more: Any) -> Statement:
    return Statement(
        **{"kind": "a-kind", "severity": "note", "claim": claim, "cells": cells, **more}
    )


def outcome(*claims: Claim | Statement, words: Words = LIMIT) -> str:
    statements = [said(each) if isinstance(each, Claim) else each for each in claims]
    return judge(truth(words), statements).outcome


def test_place_thing_hosts_cells_and_amount_make_a_run_right() -> None:
    assert outcome(RIGHT) == "right"
    assert outcome(replace(RIGHT, which="")) == "right"
    one, two = (said(RIGHT, frozenset({cell})) for cell in SLOW)
    assert outcome(one, two) == "right"


@pytest.mark.parametrize(
    "statement",
    [
        said(replace(RIGHT, share=0.5)),
        said(replace(RIGHT, share=None)),
        said(replace(RIGHT, sender="", receiver="")),
        said(RIGHT, frozenset({"slow-1"})),
        said(RIGHT, SLOW | QUICK),
        said(RIGHT, frozenset()),
        said(replace(RIGHT, where="")),
        said(replace(RIGHT, which="all")),
    ],
)
def test_a_run_with_a_gap_or_an_inexact_word_is_only_a_symptom_or_right(
    statement: Statement,
) -> None:
    is_default = statement.claim is not None and statement.claim.which == "all"
    assert outcome(statement) == ("right" if is_default else "symptom")


def test_a_default_word_beside_the_thing_earns_nothing() -> None:
    assert outcome(claimed("", "rate", "all", "always")) == "beside"
    assert outcome(claimed("", "rate", "class", "")) == "symptom"
    assert outcome(claimed("path", "rate", "", "")) == "symptom"


@pytest.mark.parametrize(
    "claim",
    [
        claimed("receiver-socket", "memory"),
        claimed("path", "corruption"),
        claimed("path-back", "rate"),
        replace(RIGHT, which="protocol"),
        replace(RIGHT, when="periodic"),
        replace(RIGHT, sender="linux-a", receiver="linux-b"),
    ],
)
def test_one_sentence_that_must_not_be_said_makes_a_run_false(claim: Claim) -> None:
    assert outcome(claim) == "false"
    assert outcome(RIGHT, claim) == "false"


def test_a_true_sentence_about_cells_that_are_not_affected_is_false() -> None:
    assert outcome(said(RIGHT), said(RIGHT, QUICK)) == "false"


def test_cells_in_which_a_cause_is_and_costs_nothing_may_be_named_and_need_not_be() -> None:
    part = Part(LIMIT, frozenset({"slow-1"}), (0.4,), also=frozenset({"slow-2"}))
    of_run = replace(truth(LIMIT), parts=(part,))
    for cells in ({"slow-1"}, {"slow-1", "slow-2"}):
        assert judge(of_run, [said(RIGHT, frozenset(cells))]).outcome == "right"
    assert judge(of_run, [said(RIGHT, frozenset({"slow-2"}))]).outcome == "symptom"
    assert judge(of_run, [said(RIGHT, QUICK)]).outcome == "false"


def test_what_truly_follows_is_beside_and_nothing_is_silent() -> None:
    assert outcome(claimed("path", "drops")) == "beside"
    assert outcome() == outcome(said(None)) == outcome(claimed("", "")) == "silent"


def test_what_the_control_run_says_too_is_not_scored() -> None:
    wrong = said(claimed("sender", "cpu"))
    assert judge(truth(LIMIT), [wrong]).outcome == "false"
    assert judge(truth(LIMIT), [wrong], [wrong]).outcome == "silent"
    assert judge(truth(LIMIT), [wrong], [replace(wrong, cells=QUICK)]).outcome == "false"


def test_places_that_no_counter_tells_apart_are_one_and_a_direction_is_not() -> None:
    assert outcome(replace(RIGHT, where="device")) == "right"
    delay = Words("path", "delay", share=0.4)
    assert (
        outcome(replace(RIGHT, where="path-back", what="delay", which=""), words=delay) == "right"
    )
    drops = Words("path", "drops", share=0.4)
    back = replace(RIGHT, where="path-back", what="drops", which="")
    assert outcome(back, words=drops) == "false"


def test_a_cause_of_a_host_needs_that_host() -> None:
    words = Words("sender", "cpu", share=0.1)
    claim = claimed("sender", "cpu", "", "", 0.1, sender="linux-b")
    assert outcome(claim, words=words) == "right"
    assert outcome(replace(claim, sender=""), words=words) == "symptom"
    assert outcome(replace(claim, sender="linux-a"), words=words) == "false"
    assert outcome(replace(claim, when="periodic"), words=words) == "right"


@pytest.mark.parametrize(("stated", "near"), [(0.361, True), (0.439, True), (0.35, False)])
def test_an_amount_is_right_within_a_tenth(stated: float, near: bool) -> None:
    assert is_near(stated, (0.4,)) is near
    assert not is_near(None, (0.4,))
    assert is_near(0.024, (0.02,)) and not is_near(0.026, (0.02,))
    assert is_near(stated, (0.9, stated))


@pytest.mark.parametrize(
    ("protocol", "what", "result"),
    [("TCP", "order", "right"), ("UDP", "order", "symptom"), ("TCP", "copies", "symptom")],
)
def test_an_amount_that_nothing_counts_need_not_be_said(
    protocol: str, what: str, result: str
) -> None:
    stand = Stand(tests=({"test": "stream", "protocol": protocol},))
    of_run = truth(Words("path", what, share=0.1), stand=stand)
    assert judge(
        of_run, [said(claimed("path", what, "", "", None, "linux-b", "linux-a"))]
    ).outcome == (result)


def test_of_a_mixture_both_causes_are_named_and_the_larger_comes_first() -> None:
    large, small = Words("path", "rate", share=0.4), Words("path", "drops", share=0.1)
    of_large = said(claimed("path", "rate", "", "", 0.4, "linux-b", "linux-a"), rank=1)
    of_small = said(claimed("path", "drops"), rank=2)
    mixed = truth(large, small, kind="mixture")
    both = judge(mixed, [of_small, of_large])
    assert (both.named, both.first, both.outcome) == ((True, True), True, "symptom")
    assert judge(mixed, [replace(of_small, rank=0), of_large]).first is False
    assert judge(mixed, [replace(of_small, severity="warning"), of_large]).first is False
    assert judge(mixed, [of_small]).named == (False, True)
    assert judge(mixed, [said(claimed("sender", "cpu"))]).outcome == "false"


def test_a_healthy_run_is_false_with_a_warning_that_its_setup_does_not_have() -> None:
    warning = said(None, severity="warning", kind="loss-limit/path")
    work = said(claimed("sender", "cpu"), severity="warning", kind="other-load")
    assert judge(truth(kind="healthy"), [warning]).outcome == "false"
    assert judge(truth(kind="healthy"), [said(RIGHT)]).outcome == "silent"
    assert judge(truth(kind="healthy"), [work]).outcome == "false"
    busy = truth(kind="healthy", stand=replace(STAND, foreign_cpu=True))
    assert judge(busy, [work]).outcome == "silent"
    assert judge(busy, [warning]).outcome == "false"


# ---- figures -------------------------------------------------------------------------------------


def runs(*pairs: tuple[Words, Claim | None]) -> list[Judged]:
    return [judge(truth(words), [] if claim is None else [said(claim)]) for words, claim in pairs]


def test_the_lower_bound_of_180_in_200_is_86_percent() -> None:
    assert bound(Share(180, 200)) == pytest.approx(0.86, abs=0.005)


def test_runs_whose_cause_did_not_act_do_not_count() -> None:
    idle = judge(truth(LIMIT, acted=False), [])
    stolen = judge(truth(LIMIT, stolen=True), [])
    assert verdicts([idle, stolen]) == []
    assert "2 do not count" in printed([idle, stolen])


def test_a_guesser_has_the_commonest_cause_of_each_amount() -> None:
    drops = Words("path", "drops", share=0.4)
    little = replace(drops, share=0.02)
    judged = runs((LIMIT, RIGHT), (LIMIT, None), (drops, None), (little, None))
    healthy = judge(truth(kind="healthy"), [])
    assert (guessed(judged).count, guessed(judged).of) == (3, 4)
    assert str(without_cause([*judged, healthy])).startswith("1/5")
    assert share_of(judged, "right").count == 1


def test_the_criteria_are_those_of_the_amounts_that_were_measured() -> None:
    judged = runs(*[(LIMIT, RIGHT)] * 19, (LIMIT, None))
    named = {str(each).partition(":")[0]: each.met for each in verdicts(judged)}
    assert named == {"met      right at 40 %": True, "met      false statements": True}
    assert not verdicts([*judged, *runs((LIMIT, None))])[0].met
    (false,) = [
        each for each in verdicts(runs((LIMIT, claimed("sender", "cpu")))) if "false" in str(each)
    ]
    assert not false.met
    text = printed(runs((LIMIT, claimed("sender", "cpu"))))
    assert "a-run (path rate class always 40 %): a-kind" in text
