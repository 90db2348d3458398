"""What is printed of a score: tables, every wrong sentence, the criteria."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping, Sequence

from benchmarks.stage import Verdict, table
from benchmarks.truths import score
from benchmarks.truths.causes import STRENGTHS, UNPLANTABLE, Cause, Strength
from benchmarks.truths.effects import Seen
from benchmarks.truths.score import Judged, Share

LEAST_PRECISION = 0.98
LEAST_RECALL: Mapping[Strength, float] = {"plain": 0.95, "gross": 0.98}
"""Of the lower end of Wilson's interval."""
LEAST_FIRST = 0.90


def by_cause(judged: Collection[Judged], causes: Mapping[str, Cause]) -> str:
    """A line a cause: what was found at each strength, and wrong claims."""
    rows = []
    for cause in causes.values():
        its = [e for e in score.of_causes(judged) if e.truth.parts[0].cause == cause.name]
        if not its:
            continue
        shares = [
            score.recall(score.of_causes(its, strength=strength), causes) for strength in STRENGTHS
        ]
        wrong = Share(sum(bool(each.wrong) for each in its), len(its))
        rows.append([cause.name, *map(str, shares), str(wrong)])
    return table(
        ["cause", *(f"found, {name}" for name in STRENGTHS), "runs with a wrong one"], rows
    )


def by_kind(judged: Collection[Judged], causes: Mapping[str, Cause]) -> str:
    """A line per kind: precision over all runs, recall over runs with it as the best answer."""
    counted = [*score.of_causes(judged), *score.clean(judged)]
    named = {kind for cause in causes.values() for kind in cause.expected}
    said = {said.kind for each in counted for said in each.wrong}
    rows = []
    for kind in sorted(named | said):
        right = score.precision(counted, kind)
        found = [
            score.of_kind(score.of_causes(judged, strength=strength), causes, kind)
            for strength in STRENGTHS
        ]
        if right.of or any(each.of for each in found):
            rows.append([kind, str(right), *map(str, found)])
    return table(["kind", "precision", *(f"recall, {name}" for name in STRENGTHS)], rows)


def wrong_sentences(judged: Collection[Judged]) -> Iterator[str]:
    """Each, with its run."""
    for each in score.counted(judged):
        for said in each.wrong:
            yield f"  {each.truth.name}: {said.kind}: {said.sentence}"


def missed(judged: Collection[Judged]) -> Iterator[str]:
    """Each run in which a cause was not named."""
    for each in score.counted(judged):
        if each.missed:
            yield f"  {each.truth.name}: {', '.join(each.missed)}"


def what_was_planted(effects: Mapping[str, Seen]) -> str:
    """What another tool saw of each cause at each strength."""
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


def verdicts(judged: Sequence[Judged], causes: Mapping[str, Cause]) -> list[Verdict]:
    """The criteria, as they were set before any run."""
    single, mixed, clean = score.of_causes(judged), score.mixtures(judged), score.clean(judged)
    found = [_of_precision([*single, *clean])]
    for strength, least in LEAST_RECALL.items():
        its = score.recall(score.of_causes(judged, strength=strength), causes)
        words = f"recall at {strength}, pooled, its interval above {100 * least:g} %"
        found.append(Verdict(bool(its.of) and its.interval[0] >= least, words, str(its)))
    found += _of_each(judged, causes)
    warned = Share(sum(bool(each.wrong) for each in clean), len(clean))
    found.append(
        Verdict(bool(clean) and not warned.count, "no warning in a clean run", str(warned))
    )
    first = Share(sum(bool(each.first) for each in mixed), len(mixed))
    met = bool(mixed) and first.count >= LEAST_FIRST * len(mixed)
    words = f"mixtures: the larger cause first in {100 * LEAST_FIRST:g} %"
    return [*found, Verdict(met, words, str(first))]


def _of_precision(judged: Collection[Judged]) -> Verdict:
    share = score.precision(judged)
    met = bool(share.of) and share.count >= LEAST_PRECISION * share.of
    return Verdict(met, f"precision, pooled over kinds: {100 * LEAST_PRECISION:g} %", str(share))


def _of_each(judged: Collection[Judged], causes: Mapping[str, Cause]) -> Iterator[Verdict]:
    """At most 1 miss in 10 runs of a cause and strength, 1 wrong in 30 of a cause."""
    misses, wrongs = [], []
    for cause in causes.values():
        its = [e for e in score.of_causes(judged) if e.truth.parts[0].cause == cause.name]
        for strength in ("plain", "gross"):
            at = [each for each in its if each.truth.parts[0].strength == strength]
            count = sum(bool(each.missed) for each in at)
            misses += [f"{cause.name} {strength} {count}"] if 10 * count > len(at) else []
        count = sum(bool(each.wrong) for each in its)
        wrongs += [f"{cause.name} {count}"] if 30 * count > len(its) else []
    yield Verdict(not misses, "at most 1 miss in 10 a cause", ", ".join(misses) or "all")
    yield Verdict(not wrongs, "at most 1 wrong in 30 a cause", ", ".join(wrongs) or "all")


def printed(
    judged: Sequence[Judged],
    causes: Mapping[str, Cause],
    effects: Mapping[str, Seen],
    left_out: int,
) -> str:
    """All of it, for people; ``left_out`` is how many measurements of runs were."""
    clean, mixed = score.clean(judged), score.mixtures(judged)
    none = [each.truth.name for each in judged if each.truth.not_planted]
    stolen = [each.truth.name for each in judged if each.truth.stolen]
    failed = [f"  {e.truth.name}: {e.truth.failed}" for e in judged if e.truth.failed]
    mix = (
        f"{len(judged)} runs: {len(score.of_causes(judged))} of one cause, {len(clean)} clean, "
        f"{len(mixed)} mixtures; {left_out} left out and measured again (stolen CPU), "
        f"{len(none)} count for nothing (not planted as asked), nor do {len(stolen)} more (stolen "
        f"CPU each time)"
    )
    parts = [
        what_was_planted(effects),
        by_cause(judged, causes),
        by_kind(judged, causes),
        "\n".join(["wrong:", *wrong_sentences(judged)]),
        "\n".join(["missed:", *missed(judged)]),
        "\n".join(["not all measured:", *failed]),
        "\n".join(
            ["cannot be planted:", *(f"  {what}: {why}" for what, why in UNPLANTABLE.items())]
        ),
        mix,
    ]
    return "\n\n".join(parts)
