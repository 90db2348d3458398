"""The benchmark of truths judges the answer of a run as a reader of its first screen would."""

from __future__ import annotations

from dataclasses import replace

import pytest
from folders import REPORTS

from benchmarks.truths.answers import (
    OUTCOMES,
    Claim,
    JudgedAnswer,
    Outcome,
    SaidAnswer,
    judge_answer,
    limited_by,
)
from benchmarks.truths.causes import Strength
from benchmarks.truths.draw import Part
from benchmarks.truths.read_runs import answer_said, claims_of, kinds_of
from benchmarks.truths.rows import CAUSES
from benchmarks.truths.score import Said, Truth, judge
from benchmarks.truths.tables import answer_verdicts, by_outcome, texts, unnamed
from netlab.findings.analysis import load
from netlab.findings.finding import Kind
from netlab.kinds.throughput_search.tables import limit_called
from netlab.report.answer import answer_of

WIRE = Claim("the wire", frozenset({"wire-ceiling"}), ceiling_share=0.99)
UNKNOWN = Claim("unknown", why="the link’s rate is not stated", remedy="give it with --link")
NO_REMEDY = Claim("unknown", why="the records show no cause")
SEVERAL = Claim("several")
PACED = Said("pacing", "note", explains=True, leads=False, rank=1)


def named(kind: str, *names: str) -> Claim:
    return Claim("words", frozenset({kind}), names=frozenset(names))


def planted(cause: str, dial: float = 0.4, strength: Strength = "gross") -> Truth:
    return Truth(f"{cause}-{strength}", cause, (Part(cause, strength, dial),))


def outcome(truth: Truth, *claims: Claim, warned: str = "") -> Outcome | None:
    statements = [Said(warned, "warning", False, True, 1)] if warned else []
    answer = SaidAnswer(claims, frozenset({warned} - {""}))
    judged = judge_answer(judge(truth, statements, CAUSES), answer, CAUSES)
    return None if judged is None else judged.outcome


@pytest.mark.parametrize(
    ("claims", "expected"),
    [
        ([named("cpu-wait/sender-quota")], "right"),
        ([named("cpu-wait/sender-quota"), NO_REMEDY, SEVERAL, WIRE], "right"),
        ([UNKNOWN], "unknown"),
        ([UNKNOWN, SEVERAL, WIRE], "unknown"),
        ([NO_REMEDY], "silent"),
        ([UNKNOWN, NO_REMEDY], "silent"),
        ([SEVERAL], "silent"),
        ([Claim("")], "silent"),
        ([], "silent"),
        ([WIRE], "beside"),
        ([named("congestion")], "false"),
        ([named("cpu-wait/sender-quota"), named("cpu-bound/sender")], "false"),
        ([named("cpu-wait/sender-quota"), replace(WIRE, ceiling_share=0.8)], "false"),
    ],
)
def test_the_outcome_for_a_planted_quota_follows_from_all_rows(
    claims: list[Claim], expected: Outcome
) -> None:
    assert outcome(planted("sender-quota"), *claims) == expected


def test_a_kind_that_is_only_a_further_truth_is_neither_right_nor_false() -> None:
    assert outcome(planted("full-socket"), named("loss-limit/host")) == "beside"
    assert outcome(planted("full-socket"), named("loss-limit/socket")) == "right"
    assert outcome(planted("competitor"), named("cpu-bound/sender")) == "beside"


def test_the_wire_is_false_for_a_slower_cable_even_if_a_row_fills_it() -> None:
    assert outcome(planted("stated-too-high"), WIRE, named("rate-limit/link")) == "false"


def test_a_warning_names_a_cause_that_is_the_limit_of_no_row() -> None:
    stopped = planted("data-stopped", 0.42, "plain")
    assert outcome(stopped, NO_REMEDY, warned="interruption/final") == "warned"
    assert outcome(stopped, SEVERAL, warned="interruption/final") == "warned"
    assert outcome(stopped, NO_REMEDY, warned="other-load") == "silent"
    assert outcome(stopped, named("congestion"), warned="interruption/final") == "false"
    assert outcome(planted("search-slow-sender"), warned="search-limit/none") == "warned"


def test_the_offered_rate_is_true_of_a_paced_run_but_not_of_one_with_a_slower_cable() -> None:
    pacing = named("pacing")
    assert judge(replace(planted("own-queue"), parts=()), [PACED], CAUSES).wrong == ()
    assert judge(planted("own-queue", 0.5), [PACED], CAUSES).wrong == (PACED,)
    assert outcome(planted("own-queue", 0.5), pacing) == "false"
    assert outcome(planted("offered-rate", 0.5), pacing) == "right"


def test_a_row_must_be_about_the_planted_pairing_host_or_direction() -> None:
    slow = "rate-limit/either"
    assert outcome(planted("slow-pair"), named(slow, "linux-c+linux-a", "linux-a")) == "right"
    assert outcome(planted("slow-pair"), named(slow, "linux-a+linux-c", "linux-a")) == "false"
    assert outcome(planted("slow-host"), named(slow, "linux-a+linux-c", "linux-a")) == "false"
    assert outcome(planted("slow-host"), WIRE) == "silent"
    assert outcome(planted("slow-direction"), named(slow, "linux-c", "to linux-c")) == "right"
    assert outcome(planted("slow-direction"), named(slow, "linux-c", "to linux-a")) == "false"


def test_of_two_planted_limits_the_answer_may_name_either() -> None:
    parts = (Part("sender-quota", "plain", 0.1), Part("other-flow", "gross", 0.4))
    truth = Truth("mixture-000", "sender-quota", parts, alone={"sender-quota": 0.1})
    for kind in ("cpu-wait/sender-quota", "other-traffic"):
        assert outcome(truth, named(kind)) == "right"
    assert outcome(truth, named("cpu-wait/receiver-quota")) == "false"


@pytest.mark.parametrize(
    ("truth", "counts"),
    [
        (planted("slower-cable", 0.09, "plain"), True),
        (planted("slower-cable", 0.02, "just"), False),
        (planted("drift", 0.1, "plain"), False),
        (planted("drift", 0.4), True),
        (planted("stray", 0.44), False),
        (planted("offered-rate", 0.87, "plain"), True),
        (planted("packet-rate", 19.6e3, "plain"), True),
        (planted("smaller-mtu", 210), False),
        (replace(planted("slower-cable"), stolen=True), False),
        (replace(planted("slower-cable"), not_planted=("slower-cable",)), False),
        (Truth("clean-000", "slower-cable", ()), False),
    ],
)
def test_only_a_cause_that_takes_a_tenth_of_the_throughput_plants_a_limit(
    truth: Truth, counts: bool
) -> None:
    assert bool(limited_by(judge(truth, [], CAUSES), CAUSES)) is counts
    assert (outcome(truth) is not None) is counts


def test_each_cause_with_a_limit_can_be_named_by_a_row_or_a_warning() -> None:
    kinds = {str(kind): kind for kind in Kind}
    for cause in CAUSES.values():
        named_by = [kinds[name] for name in {*cause.expected, *cause.limits}]
        can_be = any(kind.limit or kind.severity == "warning" for kind in named_by)
        searched = any(kind.name == "search-limit" for kind in named_by)
        assert cause.takes is None or can_be or searched, cause.name


def test_the_words_of_a_limit_give_back_its_kinds() -> None:
    for kind in Kind:
        if kind.limit:
            assert str(kind) in kinds_of(str(kind.limit))
    for word in ("line rate", "device", "generator-bound", "receiver-bound", "failed"):
        assert kinds_of(limit_called(word))
    assert kinds_of("device (router: CPU 1, 99 %)") == kinds_of("device")
    assert kinds_of("unknown") == kinds_of("several") == kinds_of("") == frozenset()


@pytest.mark.parametrize(
    ("name", "words"), [("rfc2544-lab", "device"), ("nettest-lab", "the wire")]
)
def test_the_claims_of_a_recorded_run_are_the_limits_of_its_rows(name: str, words: str) -> None:
    answer = answer_said(load(REPORTS / name))
    assert words in {claim.words for claim in answer.claims}
    assert all(claim.names for claim in answer.claims)
    assert words in answer.text


@pytest.mark.parametrize(
    ("words", "advice", "known", "claimed"),
    [
        ("the wire", "nothing: to do", True, [("the wire", "", "")]),
        (
            "the sender’s CPU (1 of 3 trials)",
            "",
            True,
            [("the sender’s CPU (1 of 3 trials)", "", "")],
        ),
        ("line rate; device", "", True, [("line rate", "", ""), ("device", "", "")]),
        (
            *("several", "the wire; congestion control: see the cells", False),
            [("the wire", "", ""), ("congestion control", "", "")],
        ),
        ("unknown", "no link: state it", False, [("unknown", "no link", "state it")]),
        ("unknown", "no cause", False, [("unknown", "no cause", "")]),
        ("several", "", False, [("several", "", "")]),
        ("", "", False, [("", "", "")]),
    ],
)
def test_a_row_claims_each_limit_that_it_names_or_why_it_names_none(
    words: str, advice: str, known: bool, claimed: list[tuple[str, str, str]]
) -> None:
    row = answer_of(load(REPORTS / "nettest-lab")).tables[0].rows[0]
    limit = replace(row.limit, words=words, advice=advice, known=known)
    claims = [*claims_of(replace(row, limit=limit))]
    assert [(claim.words, claim.why, claim.remedy) for claim in claims] == claimed
    for claim in claims:
        assert bool(claim.kinds) is (claim.words not in ("unknown", "several", ""))
        assert claim.ceiling_share == (row.share if len(claims) == 1 else None)


def test_a_known_limit_that_stands_for_no_finding_is_an_error() -> None:
    row = answer_of(load(REPORTS / "nettest-lab")).tables[0].rows[0]
    limit = replace(row.limit, words="gremlins", known=True)
    with pytest.raises(ValueError, match="gremlins"):
        [*claims_of(replace(row, limit=limit))]


def judged_as(word: Outcome, number: int = 1) -> list[JudgedAnswer]:
    names = [f"slower-cable-gross-{k:02}" for k in range(number)]
    return [JudgedAnswer(name, word, ("slower-cable",), ("words",), "text") for name in names]


@pytest.mark.parametrize(
    ("word", "most", "criterion"),
    [
        ("unknown", 10, "answer: limit unknown in at most a fifth"),
        ("false", 1, "answer: limit false in at most 1 in 50"),
        ("silent", 0, "answer: never silent"),
    ],
)
def test_each_criterion_of_answers_is_met_up_to_its_bound_and_not_beyond(
    word: Outcome, most: int, criterion: str
) -> None:
    for count, missed in ((most, []), (most + 1, [criterion])):
        answers = [*judged_as(word, count), *judged_as("right", 50 - count)]
        verdicts = answer_verdicts(answers)
        assert [verdict.criterion for verdict in verdicts if not verdict.met] == missed
        (measured,) = (v.measured for v in verdicts if v.criterion == criterion)
        assert measured.startswith(f"{count}/50 (")
    assert not any(verdict.met for verdict in answer_verdicts([]))


def test_every_answer_but_a_right_one_is_listed_and_all_are_kept_as_text() -> None:
    answers = [answer for word in OUTCOMES for answer in judged_as(word)]
    assert [line.split(": ")[1] for line in unnamed(answers)] == [*OUTCOMES[1:]]
    assert by_outcome(answers).splitlines()[1].split() == ["slower-cable", *(["1"] * len(OUTCOMES))]
    assert [text.split(": ")[1] for text in texts(answers)] == [*reversed(OUTCOMES)]
