"""The printed form of a score: figures by word and by kind of finding, and the criteria."""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Iterator, Sequence

from benchmarks.space.rows import ROWS
from benchmarks.space.score import OUTCOMES, Judged, Outcome
from benchmarks.space.words import CLASSES, NOT_TOGETHER, OF_MACHINES, UNCOUNTED, UNPLANTABLE, Words
from benchmarks.stage import Verdict, table
from benchmarks.truths.score import Share, wilson
from netlab.findings.claims import WHAT, WHEN, WHERE, WHICH

ONE_SIDED_Z = 1.644854
"""Of a one-sided bound of 95 %."""
LEAST_RIGHT = {0.1: 0.9, 0.4: 0.95}
LEAST_SYMPTOM = 0.98
LEAST_RIGHT_OR_SILENT = 0.98
MOST_FALSE = 0.02
LEAST_BOTH, LEAST_FIRST = 0.8, 0.9
LEAST_RUNS_A_WORD = 20
VOCABULARIES = {"where": WHERE, "what": WHAT, "which": WHICH, "when": WHEN}


def counting(judgements: Collection[Judged], kind: str = "cause") -> list[Judged]:
    """The runs of a kind that count: the cause acted, and no hypervisor took CPU time."""
    return [each for each in judgements if each.truth.planned.kind == kind and each.truth.counts]


def words_of(judged: Judged) -> Words:
    """The words of a run with one cause."""
    return judged.truth.planned.parts[0]


def of_share(judgements: Collection[Judged], share: float) -> list[Judged]:
    """The runs whose one cause takes so much."""
    return [each for each in counting(judgements) if words_of(each).share == share]


def share_of(judgements: Collection[Judged], *outcomes: Outcome) -> Share:
    """The runs with one of these outcomes."""
    return Share(sum(each.outcome in outcomes for each in judgements), len(judgements))


def bound(share: Share) -> float:
    """The one-sided lower bound (95 %) of a share, 0 to 1."""
    return wilson(share.count, share.of, ONE_SIDED_Z)[0]


def guessed(judgements: Collection[Judged]) -> Share:
    """What a guesser would have right that always says the commonest cause of its stratum.

    It is given the hosts, the cells and how much.
    """
    count = of = 0
    for amount in (*LEAST_RIGHT, 0.02):
        its = of_share(judgements, amount)
        names = Counter((words_of(each).where, words_of(each).what) for each in its)
        count += max(names.values(), default=0)
        of += len(its)
    return Share(count, of)


def without_cause(judgements: Collection[Judged]) -> Share:
    """The runs without any planted cause, among all."""
    none = sum(not each.truth.planned.parts for each in judgements)
    return Share(none, len(judgements))


def by_word(judgements: Collection[Judged]) -> str:
    """A line for each word: its runs, and their outcomes."""
    rows = []
    for kind, words in VOCABULARIES.items():
        for word in words:
            its = [each for each in counting(judgements) if getattr(words_of(each), kind) == word]
            if its:
                rows.append([f"{kind} {word}", *_outcomes(its)])
    return table(["word", "right", "symptom or better", "false"], rows)


def by_row(judgements: Collection[Judged]) -> str:
    """A line for each place and thing."""
    rows = []
    for name in ROWS:
        its = [each for each in counting(judgements) if _name(words_of(each)) == name]
        if its:
            rows.append([name, *_outcomes(its)])
    return table(["cause", "right", "symptom or better", "false"], rows)


def _name(words: Words) -> str:
    return f"{words.where} {words.what}"


def _outcomes(its: Collection[Judged]) -> list[str]:
    columns: tuple[tuple[Outcome, ...], ...] = (("right",), ("right", "symptom"), ("false",))
    return [str(share_of(its, *outcomes)) for outcomes in columns]


def by_kind(judgements: Collection[Judged]) -> str:
    """A line for each kind of finding that claims a cause: its runs, and where it was false."""
    its = [
        *counting(judgements),
        *counting(judgements, "mixture"),
        *counting(judgements, "healthy"),
    ]
    said = Counter(kind for each in its for kind in {s.kind for s in (*each.said, *each.wrong)})
    wrong = Counter(kind for each in its for kind in {s.kind for s in each.wrong})
    rows = [[kind, str(Share(wrong[kind], number))] for kind, number in sorted(said.items())]
    return table(["kind of finding", "false, of the runs that say it"], rows)


def each_wrong(judgements: Collection[Judged]) -> Iterator[str]:
    """A line for each sentence that must not be said."""
    for judged in judgements:
        if judged.truth.counts:
            planted = "; ".join(map(str, judged.truth.planned.parts)) or "nothing"
            for statement in judged.wrong:
                yield (
                    f"  {judged.truth.planned.name} ({planted}): {statement.kind}: "
                    f"{statement.sentence}"
                )


def each_run(judgements: Collection[Judged]) -> Iterator[str]:
    """A line for each run with a cause: what was planted, and its outcome."""
    for judged in judgements:
        if judged.truth.planned.parts:
            planted = "; ".join(map(str, judged.truth.planned.parts))
            counted = "" if judged.truth.counts else " (does not count)"
            yield f"  {judged.truth.planned.name}: {planted}: {judged.outcome}{counted}"


def verdicts(judgements: Collection[Judged]) -> list[Verdict]:
    """The criteria that some runs are there for."""
    return [each for each in _verdicts(judgements) if not each.measured.startswith("-")]


def _verdicts(judgements: Collection[Judged]) -> Iterator[Verdict]:
    for amount, least in LEAST_RIGHT.items():
        right = share_of(of_share(judgements, amount), "right")
        text = f"{right}, one-sided bound {100 * bound(right):.1f} %"
        yield _least(f"right at {100 * amount:g} %", right, least, text)
    better = share_of(of_share(judgements, 0.1), "right", "symptom")
    yield _least("at 10 %, what and one more word", better, LEAST_SYMPTOM)
    quiet = share_of(of_share(judgements, 0.02), "right", "silent")
    yield _least("at 2 %, right or silent", quiet, LEAST_RIGHT_OR_SILENT)
    false = share_of(counting(judgements), "false")
    yield _most("false statements", false, MOST_FALSE)
    warned = share_of(counting(judgements, "healthy"), "false")
    yield _most("false warnings in healthy runs", warned, 0.0)
    mixed = counting(judgements, "mixture")
    both = Share(sum(all(each.named) for each in mixed), len(mixed))
    yield _least("both causes of a mixture", both, LEAST_BOTH)
    first = Share(sum(bool(each.first) for each in mixed), len(mixed))
    yield _least("the larger first", first, LEAST_FIRST)


def _least(criterion: str, share: Share, least: float, text: str = "") -> Verdict:
    met = share.of == 0 or share.count >= least * share.of
    return Verdict(met, f"{criterion}: {100 * least:g} %", _text(share, text))


def _most(criterion: str, share: Share, most: float) -> Verdict:
    met = share.count <= most * share.of
    return Verdict(met, f"{criterion}: at most {100 * most:g} %", _text(share, ""))


def _text(share: Share, text: str) -> str:
    return (text or str(share)) if share.of else "-"


def printed(judgements: Sequence[Judged], left_out: int = 0) -> str:
    """All tables."""
    kinds = Counter(each.truth.planned.kind for each in judgements)
    outcomes = Counter(each.outcome for each in counting(judgements))
    no_count = sum(not each.truth.counts for each in judgements)
    parts = [
        f"{len(judgements)} runs: {kinds['cause']} of one cause, {kinds['mixture']} of two, "
        f"{kinds['healthy']} healthy; {no_count} do not count; {left_out} left out and repeated",
        "outcomes: " + ", ".join(f"{name} {outcomes[name]}" for name in OUTCOMES),
        f"beside: a guesser of the commonest cause {guessed(judgements)}; "
        f"runs without any cause {without_cause(judgements)}",
        by_word(judgements),
        by_row(judgements),
        by_kind(judgements),
        "false:\n" + "\n".join(each_wrong(judgements)),
        "runs:\n" + "\n".join(each_run(judgements)),
    ]
    return "\n\n".join(parts)


def space() -> str:
    """What can be planted, what is one class, and what cannot be planted, with the reasons."""
    lines = ["planted:"]
    lines += [f"  {row.name}: {' '.join(row.which)}; {' '.join(row.when)}" for row in ROWS.values()]
    lines.append("one class:")
    lines += [f"  {', '.join(sorted(kin.places))}: {kin.why}" for kin in CLASSES]
    for head, reasons in (
        ("how much is not counted over TCP:", UNCOUNTED),
        ("not planted:", UNPLANTABLE),
        ("never together:", NOT_TOGETHER),
        ("for machines with a kernel of their own:", OF_MACHINES),
    ):
        lines.append(head)
        lines += [f"  {words}: {why}" for words, why in reasons.items()]
    return "\n".join(lines)
