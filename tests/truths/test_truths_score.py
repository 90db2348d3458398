"""The score of `make benchmark-truths` agrees with figures worked by hand."""

from __future__ import annotations

import runpy
from dataclasses import replace

import pytest

from benchmarks.stage import ROOT
from benchmarks.truths import score
from benchmarks.truths.causes import UNPLANTABLE
from benchmarks.truths.draw import Part
from benchmarks.truths.rows import CAUSES
from benchmarks.truths.score import Said, Share, Truth, counted, figures, judge, wilson
from benchmarks.truths.site import LABS
from benchmarks.truths.tables import printed, verdicts
from netlab.findings.finding import Kind


def said(kind: str, severity: str = "warning", **more: object) -> Said:
    return Said(
        **{  # type: ignore[arg-type]
            "kind": kind,
            "severity": severity,
            "explains": False,
            "leads": True,
            "rank": 50,
            **more,
        }
    )


def planted(cause: str, strength: str = "plain", dial: float = 0.1) -> Truth:
    part = Part(cause, strength, dial)  # type: ignore[arg-type]
    return Truth(f"{cause}-{strength}", cause, (part,))


CLEAN = Truth("clean-000", "slower-cable", ())


def test_wilson_intervals_match_the_published_table() -> None:
    """Newcombe, Statistics in Medicine 17 (1998), table I: 81 of 263, 15 of 148, 0 of 20."""
    assert wilson(81, 263) == pytest.approx((0.2553, 0.3662), abs=5e-5)
    assert wilson(15, 148) == pytest.approx((0.0624, 0.1605), abs=5e-5)
    assert wilson(0, 20) == pytest.approx((0.0, 0.1611), abs=5e-5)
    assert wilson(0, 0) == (0.0, 1.0)


def test_five_misses_among_240_runs_prove_a_share_of_95_percent_and_six_misses_do_not() -> None:
    assert wilson(235, 240)[0] >= 0.95 > wilson(234, 240)[0]
    assert wilson(0, 100)[1] == pytest.approx(0.037, abs=5e-4)


def test_the_expected_finding_alone_is_judged_right() -> None:
    judgement = judge(planted("sender-neighbour"), [said("cpu-wait/sender-programs")], CAUSES)
    assert (judgement.right, judgement.missed, judgement.wrong) == (
        frozenset({"cpu-wait/sender-programs"}),
        (),
        (),
    )


def test_a_wrong_finding_beside_the_expected_finding_is_judged_wrong() -> None:
    statements = [said("cpu-wait/sender-programs"), said("cpu-bound/receiver")]
    judgement = judge(planted("sender-neighbour"), statements, CAUSES)
    assert judgement.missed == ()
    assert [statement.kind for statement in judgement.wrong] == ["cpu-bound/receiver"]
    assert str(score.precision([judgement])) == "1/2 (9.5 to 90.5 %)"


def test_a_planted_cause_without_a_finding_is_judged_missed_and_not_wrong() -> None:
    judgement = judge(planted("sender-neighbour"), [], CAUSES)
    assert (judgement.missed, judgement.wrong) == (("sender-neighbour",), ())


def test_notes_that_hold_for_every_run_are_never_judged_wrong() -> None:
    notes = [said("virtual-machine", "note"), said("wire-ceiling", "note")]
    assert judge(CLEAN, notes, CAUSES).wrong == ()


def test_findings_that_name_a_cause_are_judged_wrong_in_a_clean_run() -> None:
    claims = [
        said("deviation/cell"),
        said("trend/proved", "note"),
        said("congestion", "note", explains=True),
    ]
    judgement = judge(CLEAN, claims, CAUSES)
    assert [statement.kind for statement in judgement.wrong] == [
        "deviation/cell",
        "trend/proved",
        "congestion",
    ]


def test_a_wire_ceiling_finding_is_judged_wrong_for_a_cable_10_percent_slower_but_not_2() -> None:
    full = [said("wire-ceiling", "note"), said("rate-limit/either", rates_bit_per_s=(90e6, 98e6))]
    kinds = [
        [statement.kind for statement in judge(planted("slower-cable", *at), full, CAUSES).wrong]
        for at in (("plain", 0.1), ("just", 0.02))
    ]
    assert kinds == [["wire-ceiling"], []]


@pytest.mark.parametrize(("rate", "right"), [(90e6, True), (91.7e6, True), (94e6, False)])
def test_a_slower_link_finding_is_right_only_with_a_rate_within_2_percent(
    rate: float, right: bool
) -> None:
    statement = said("rate-limit/either", rates_bit_per_s=(80e6, rate))
    judgement = judge(planted("slower-cable"), [statement], CAUSES)
    assert (not judgement.missed, not judgement.wrong) == (right, right)


@pytest.mark.parametrize(
    ("name", "right"),
    [("linux-b", True), ("linux-a+linux-b", True), ("linux-c", False), ("linux-a+linux-c", False)],
)
def test_a_slow_host_finding_is_right_only_for_the_planted_host(name: str, right: bool) -> None:
    statement = said("mesh-limit/host", names=frozenset({name}))
    judgement = judge(planted("slow-host"), [statement], CAUSES)
    assert (not judgement.missed, not judgement.wrong) == (right, right)


def test_another_host_named_beside_the_planted_host_is_judged_wrong() -> None:
    statements = [
        said("mesh-limit/host", names=frozenset({name})) for name in ("linux-b", "linux-a")
    ]
    judgement = judge(planted("slow-host"), statements, CAUSES)
    assert (judgement.missed, judgement.wrong) == ((), (statements[1],))


def test_precision_and_recall_count_each_run_once_for_each_kind_of_finding() -> None:
    often = judge(planted("sender-neighbour"), 4 * [said("cpu-wait/sender-programs")], CAUSES)
    wrong = judge(planted("sender-neighbour"), 3 * [said("deviation/cell")], CAUSES)
    assert score.precision([often, wrong]) == Share(1, 2)
    assert score.recall([often, wrong], CAUSES) == Share(1, 2)


def test_a_cause_that_expects_no_finding_counts_for_precision_but_not_for_recall() -> None:
    quiet = judge(planted("other-interface"), [], CAUSES)
    loud = judge(planted("other-interface"), [said("other-traffic")], CAUSES)
    assert score.recall([quiet, loud], CAUSES).of == 0
    assert score.precision([quiet, loud]) == Share(0, 1)


def test_a_run_with_stolen_cpus_or_a_cause_without_effect_does_not_count_for_the_score() -> None:
    truth = replace(planted("sender-quota"), not_planted=("sender-quota",))
    for case in (truth, replace(CLEAN, stolen=True)):
        assert counted([judge(case, [said("deviation/cell")], CAUSES)]) == []
    assert score.of_causes([judge(truth, [], CAUSES)]) == []


def mixed(costs: dict[str, float], *kinds: str) -> bool | None:
    parts = tuple(Part(name, "plain", 0.1) for name in costs)
    truth = Truth("mixture-000", next(iter(costs)), parts, alone=costs)
    return judge(truth, [said(kind, rank=n) for n, kind in enumerate(kinds)], CAUSES).first


def test_of_two_planted_causes_the_clearly_larger_cause_must_be_named_first() -> None:
    sender, flow = "sender-neighbour", "other-flow"
    assert mixed({sender: 0.4, flow: 0.1}, "cpu-wait/sender-programs", "other-traffic")
    assert not mixed({sender: 0.4, flow: 0.1}, "other-traffic", "cpu-wait/sender-programs")
    assert mixed({sender: 0.14, flow: 0.1}, "other-traffic", "cpu-wait/sender-programs")
    assert not mixed({sender: 0.4, flow: 0.1})


def test_every_kind_that_a_benchmark_cause_expects_is_a_known_kind_of_finding() -> None:
    future_kinds = {
        *(
            "rate-limit/either",
            "rate-limit/link",
            "rate-limit/shaper",
            "other-traffic",
            "mesh-limit/host",
            "mesh-limit/pair",
        ),
        *(
            "mesh-limit/mesh",
            "trend/proved",
            "trend/possible",
            "first-trial-slower",
        ),
        *("below-floor", "mtu-mismatch/black-hole"),
    }
    row_kinds = {kind for c in CAUSES.values() for kind in (*c.expected, *c.also, *c.denied)}
    kind_names = {str(kind) for kind in Kind}
    assert row_kinds <= kind_names | future_kinds
    assert kind_names >= score.NO_CLAIMS


def test_the_benchmark_has_at_least_24_causes_and_each_has_a_known_lab() -> None:
    assert len(CAUSES) >= 24 and UNPLANTABLE
    assert {cause.experiment.lab for cause in CAUSES.values()} == set(LABS)
    for cause in CAUSES.values():
        assert cause.strengths and cause.experiment.tests
        assert cause.search is None or cause.effect is not None, cause.name


def test_the_printed_score_lists_every_wrong_sentence_and_each_criterion_has_a_verdict() -> None:
    wrong = said("deviation/cell", sentence="It is an outlier.")
    judgements = [
        judge(planted("sender-neighbour"), [said("cpu-wait/sender-programs")], CAUSES),
        judge(planted("other-flow", "gross", 0.4), [wrong], CAUSES),
        judge(CLEAN, [], CAUSES),
    ]
    text = printed(judgements, [], CAUSES, {}, left_out=2)
    assert "other-flow-gross: deviation/cell: It is an outlier." in text
    assert "3 runs: 2 of one cause, 1 clean, 0 mixtures; 2 left out" in text
    criteria = {verdict.criterion: verdict.met for verdict in verdicts(judgements, CAUSES)}
    assert criteria["no warning in a clean run"]
    assert not criteria["precision, pooled over kinds: 98 %"]


def test_figures_have_for_each_cause_what_was_stated_right_and_wrong() -> None:
    wrong, other = said("deviation/cell"), said("other-load", "note")
    judgements = [
        judge(planted("sender-neighbour"), [said("cpu-wait/sender-programs"), other], CAUSES),
        judge(planted("sender-neighbour"), [said("cpu-wait/sender-programs"), wrong], CAUSES),
        judge(CLEAN, [wrong], CAUSES),
    ]
    missed = {"stated": 1, "right": 0, "wrong": 1}
    found = {"stated": 2, "right": 2, "wrong": 0}
    beside = {"stated": 1, "right": 0, "wrong": 0}
    kinds = {"other-load": beside, "deviation/cell": missed, "cpu-wait/sender-programs": found}
    assert figures(judgements, CAUSES) == {
        "sender-neighbour": {"best": "cpu-wait/sender-programs", "runs": 2, "kinds": kinds},
        "clean": {"best": "", "runs": 1, "kinds": {"deviation/cell": missed}},
    }
    only_stated = {
        kind: {"stated": count["stated"], "right": 0, "wrong": 0}
        for kind, count in kinds.items()
        if kind != "deviation/cell"
    }
    assert figures(judgements, CAUSES, shared=True) == {
        "sender-neighbour": {"best": "", "runs": 2, "kinds": only_stated}
    }


def test_a_run_counts_as_recall_of_a_kind_only_if_this_kind_itself_is_stated() -> None:
    """Of the cause ``stolen``, ``cpu-wait/steal`` is the best finding; ``host-delay/hypervisor``
    is the next.
    """
    both = judge(planted("stolen"), [said("cpu-wait/steal"), said("host-delay/hypervisor")], CAUSES)
    second = judge(planted("stolen"), [said("host-delay/hypervisor")], CAUSES)
    assert not second.missed
    assert score.recall([both, second], CAUSES) == Share(2, 2)
    assert score.of_kind([both, second], CAUSES, "cpu-wait/steal") == Share(1, 2)
    assert score.of_kind([both, second], CAUSES, "host-delay/hypervisor") == Share(0, 0)


def test_every_benchmark_cause_is_documented_with_its_expected_findings() -> None:
    listed = runpy.run_path(str(ROOT / "docs" / "scripts" / "code_map.py"))["causes"]()
    for cause in CAUSES.values():
        expected_kinds = ", ".join(f"`{kind}`" for kind in cause.expected) or "nothing"
        assert f"| `{cause.name}` | {cause.what} | {expected_kinds} |" in listed
    for cause_name, reason in UNPLANTABLE.items():
        assert f"| {cause_name} | {reason} |" in listed
