"""The printed form of a score: tables, the text of every wrong finding, the criteria."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping, Sequence

from benchmarks.stage import Verdict, table
from benchmarks.truths import answers, score
from benchmarks.truths.answers import OUTCOMES, JudgedAnswer
from benchmarks.truths.causes import STRENGTHS, UNPLANTABLE, Cause, Strength
from benchmarks.truths.effects import Seen
from benchmarks.truths.score import Judged, Share

LEAST_PRECISION = 0.98
LEAST_RECALL: Mapping[Strength, float] = {"plain": 0.95, "gross": 0.98}
"""Strength → the least value that the lower end of Wilson's interval must have."""
LEAST_FIRST = 0.90
MOST_UNKNOWN, MOST_FALSE = 5, 50
"""At most one answer of so many may say that the limit is unknown, or name a false one."""


def by_cause(judgements: Collection[Judged], causes: Mapping[str, Cause]) -> str:
    """A table with a line per cause: what was found at each strength, and runs with wrong
    claims.
    """
    rows = []
    for cause in causes.values():
        its = [e for e in score.of_causes(judgements) if e.truth.parts[0].cause == cause.name]
        if not its:
            continue
        shares = [
            score.recall(score.of_causes(its, strength=strength), causes) for strength in STRENGTHS
        ]
        wrong = Share(sum(bool(judgement.wrong) for judgement in its), len(its))
        rows.append([cause.name, *map(str, shares), str(wrong)])
    return table(
        ["cause", *(f"found, {name}" for name in STRENGTHS), "runs with a wrong one"], rows
    )


def by_kind(judgements: Collection[Judged], causes: Mapping[str, Cause]) -> str:
    """A table with a line per kind of finding: precision over all runs, and recall over the runs
    with a cause whose best finding is this kind.
    """
    simple_judgements = [*score.of_causes(judgements), *score.clean(judgements)]
    expected_kinds = {kind for cause in causes.values() for kind in cause.expected}
    wrong_kinds = {
        statement.kind for judgement in simple_judgements for statement in judgement.wrong
    }
    rows = []
    for kind in sorted(expected_kinds | wrong_kinds):
        right = score.precision(simple_judgements, kind)
        recalls = [
            score.of_kind(score.of_causes(judgements, strength=strength), causes, kind)
            for strength in STRENGTHS
        ]
        if right.of or any(share.of for share in recalls):
            rows.append([kind, str(right), *map(str, recalls)])
    return table(["kind", "precision", *(f"recall, {name}" for name in STRENGTHS)], rows)


def wrong_sentences(judgements: Collection[Judged]) -> Iterator[str]:
    """A line for each wrong finding, with its run."""
    for judgement in score.counted(judgements):
        for statement in judgement.wrong:
            yield f"  {judgement.truth.name}: {statement.kind}: {statement.sentence}"


def missed(judgements: Collection[Judged]) -> Iterator[str]:
    """A line for each run in which a planted cause was not found."""
    for judgement in score.counted(judgements):
        if judgement.missed:
            yield f"  {judgement.truth.name}: {', '.join(judgement.missed)}"


def by_outcome(judged_answers: Collection[JudgedAnswer]) -> str:
    """A table with a line per cause that takes 10 % of a throughput: what its answers were."""
    rows = []
    for name in sorted({cause for answer in judged_answers for cause in answer.causes}):
        its = [answer for answer in judged_answers if name in answer.causes]
        rows.append([name, *(str(answers.share_of(its, word).count) for word in OUTCOMES)])
    return table(["planted limit", *OUTCOMES], rows)


def unnamed(judged_answers: Collection[JudgedAnswer]) -> Iterator[str]:
    """A line for each answer that does not name the planted limit, with what it says."""
    for outcome in OUTCOMES[1:]:
        for answer in judged_answers:
            if answer.outcome == outcome:
                yield f"  {answer.name}: {outcome}: {'; '.join(answer.says)}"


def texts(judged_answers: Collection[JudgedAnswer]) -> Iterator[str]:
    """Each answer as a terminal shows it, with its outcome; right ones last."""
    for outcome in reversed(OUTCOMES):
        for answer in judged_answers:
            if answer.outcome == outcome:
                says = "; ".join(answer.says)
                yield f"==== {answer.name}: {outcome}: {says}\n\n{answer.text}\n\n"


def what_was_planted(effects: Mapping[str, Seen]) -> str:
    """A table of what another tool measured for each cause and strength."""
    rows = [
        [
            name,
            *(f"{value:.4g}" for value in (e.dial, e.clean, e.planted, e.cost)),
            e.tool,
            "" if e.holds else "not as asked: left out",
        ]
        for name, e in effects.items()
    ]
    return table(["planted", "dial", "clean", "with it", "cost", "tool", ""], rows)


def verdicts(judgements: Sequence[Judged], causes: Mapping[str, Cause]) -> list[Verdict]:
    """The criteria, which were chosen before any run was measured."""
    single, mixed, clean = (
        score.of_causes(judgements),
        score.mixtures(judgements),
        score.clean(judgements),
    )
    criteria = [_of_precision([*single, *clean])]
    for strength, least in LEAST_RECALL.items():
        its = score.recall(score.of_causes(judgements, strength=strength), causes)
        words = f"recall at {strength}, pooled, its interval above {100 * least:g} %"
        criteria.append(Verdict(bool(its.of) and its.interval[0] >= least, words, str(its)))
    criteria += _of_each(judgements, causes)
    warned = Share(sum(bool(judgement.wrong) for judgement in clean), len(clean))
    criteria.append(
        Verdict(bool(clean) and not warned.count, "no warning in a clean run", str(warned))
    )
    first = Share(sum(bool(judgement.first) for judgement in mixed), len(mixed))
    is_met = bool(mixed) and first.count >= LEAST_FIRST * len(mixed)
    words = f"mixtures: the larger cause first in {100 * LEAST_FIRST:g} %"
    return [*criteria, Verdict(is_met, words, str(first))]


def answer_verdicts(judged_answers: Collection[JudgedAnswer]) -> list[Verdict]:
    """The criteria of the answers of the runs with a planted limit."""
    unknown, false, silent = (
        answers.share_of(judged_answers, outcome) for outcome in ("unknown", "false", "silent")
    )
    return [
        Verdict(
            bool(unknown.of) and MOST_UNKNOWN * unknown.count <= unknown.of,
            "answer: limit unknown in at most a fifth",
            str(unknown),
        ),
        Verdict(
            bool(false.of) and MOST_FALSE * false.count <= false.of,
            f"answer: limit false in at most 1 in {MOST_FALSE}",
            str(false),
        ),
        Verdict(bool(silent.of) and not silent.count, "answer: never silent", str(silent)),
    ]


def _of_precision(judgements: Collection[Judged]) -> Verdict:
    share = score.precision(judgements)
    is_met = bool(share.of) and share.count >= LEAST_PRECISION * share.of
    return Verdict(is_met, f"precision, pooled over kinds: {100 * LEAST_PRECISION:g} %", str(share))


def _of_each(judgements: Collection[Judged], causes: Mapping[str, Cause]) -> Iterator[Verdict]:
    """Two criteria: at most 1 miss in 10 runs of a cause and strength, and at most 1 wrong run in
    30 of a cause.
    """
    misses, wrongs = [], []
    for cause in causes.values():
        its = [e for e in score.of_causes(judgements) if e.truth.parts[0].cause == cause.name]
        for strength in ("plain", "gross"):
            at = [judgement for judgement in its if judgement.truth.parts[0].strength == strength]
            count = sum(bool(judgement.missed) for judgement in at)
            misses += [f"{cause.name} {strength} {count}"] if 10 * count > len(at) else []
        count = sum(bool(judgement.wrong) for judgement in its)
        wrongs += [f"{cause.name} {count}"] if 30 * count > len(its) else []
    yield Verdict(not misses, "at most 1 miss in 10 a cause", ", ".join(misses) or "all")
    yield Verdict(not wrongs, "at most 1 wrong in 30 a cause", ", ".join(wrongs) or "all")


def printed(
    judgements: Sequence[Judged],
    judged_answers: Sequence[JudgedAnswer],
    causes: Mapping[str, Cause],
    effects: Mapping[str, Seen],
    left_out: int,
) -> str:
    """The whole score as text. ``left_out`` is the number of measurements that were left out."""
    clean, mixed = score.clean(judgements), score.mixtures(judgements)
    none = [judgement.truth.name for judgement in judgements if judgement.truth.not_planted]
    stolen = [judgement.truth.name for judgement in judgements if judgement.truth.stolen]
    failed = [f"  {e.truth.name}: {e.truth.failed}" for e in judgements if e.truth.failed]
    mix = (
        f"{len(judgements)} runs: {len(score.of_causes(judgements))} of one cause, "
        f"{len(clean)} clean, {len(mixed)} mixtures; "
        f"{left_out} left out and measured again (stolen CPU), "
        f"{len(none)} count for nothing (not planted as asked), nor do {len(stolen)} more (stolen "
        f"CPU each time)"
    )
    parts = [
        what_was_planted(effects),
        by_cause(judgements, causes),
        by_kind(judgements, causes),
        "\n".join(["wrong:", *wrong_sentences(judgements)]),
        "\n".join(["missed:", *missed(judgements)]),
        by_outcome(judged_answers),
        "\n".join(["answers that do not name the planted limit:", *unnamed(judged_answers)]),
        "\n".join(["not all measured:", *failed]),
        "\n".join(
            ["cannot be planted:", *(f"  {cause}: {why}" for cause, why in UNPLANTABLE.items())]
        ),
        mix,
    ]
    return "\n\n".join(parts)
