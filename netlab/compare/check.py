"""Check of a run against the expectations of its matrix: met, not met, or cannot be judged.

A limit applies to every trial: a cell that meets the limit in four of five trials fails. "No worse
than a baseline" (another run) is a statement about means; a confidence interval confirms or refutes
it. An expectation that cannot be judged does not count as met.
"""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import groupby
from pathlib import Path
from typing import get_args

from netlab.compare import align
from netlab.compare.align import WORST_FIRST, AlignedPair, CheckVerdict
from netlab.compare.history import HeldRun
from netlab.compare.runs import agreed_on
from netlab.errors import ExpectationError, IncompleteRun, UsageError
from netlab.ethernet import Link
from netlab.experiment.cells import Expectation
from netlab.messages import counted
from netlab.results.ceilings import ceiling_of
from netlab.results.labels import setting_name, setting_value
from netlab.results.layout import Bin, TableColumn
from netlab.results.quantities import STACK
from netlab.results.run import Run
from netlab.stats import compare
from netlab.terminal import printable
from netlab.trial.record import FLOWS, Record, Status, by_cell, grouped

SCHEMA = 1
"""Version of the JSON's structure."""

CONFIDENCE = 0.95
"""One-sided confidence of the verdicts "no worse than the baseline" and "worse"."""

_VERDICTS: tuple[CheckVerdict, ...] = get_args(CheckVerdict)
NOT_LOOKED_FOR = "the findings were not computed"


@dataclass(frozen=True, slots=True)
class FindingSentence:
    """One finding: its kind, severity, cells and sentence."""

    kind: str
    severity: str
    cells: tuple[str, ...]
    """Keys of the cells; empty if the finding is about a host or the whole run."""
    sentence: str
    other_words: Collection[str] = ()
    """Further words that mean its kind."""


@dataclass(frozen=True, slots=True)
class FindingSentences:
    """All findings of a run, and the words for all kinds that exist."""

    kinds: Collection[str]
    findings: Sequence[FindingSentence]


@dataclass(frozen=True, slots=True)
class Judgement:
    """The verdict about one expectation of one cell."""

    expectation: Expectation
    cell: str
    """Key of the cell; empty if no cell matches or the verdict is about the whole run."""
    label: str
    verdict: CheckVerdict
    words: str
    """The figures behind the verdict, or why it cannot be judged."""


@dataclass(frozen=True, slots=True)
class Checked:
    """The verdicts about every expectation in every cell to which it applies."""

    run: str
    baseline: str | None
    judgements: tuple[Judgement, ...]
    remarks: tuple[str, ...] = ()
    """Phrases about what the run is compared with: a run, or a history."""
    differences: tuple[str, ...] = ()
    """Differences from the baseline that forbid a comparison, if it was made nevertheless."""

    @property
    def met(self) -> bool:
        """Whether all verdicts are "met"; "cannot be judged" is not enough."""
        return all(judgement.verdict == "met" for judgement in self.judgements)

    @property
    def counts(self) -> Mapping[CheckVerdict, int]:
        """Verdict → number of judgements."""
        return _counts(self.judgements)

    def raise_for_unmet(self) -> None:
        """ExpectationError if anything is "not met", else IncompleteRun if "cannot be judged"."""
        counts = self.counts
        if counts["not met"]:
            raise ExpectationError(f"{self.run}: {_counted(counts)}")
        if counts["cannot be judged"]:
            raise IncompleteRun(f"{self.run}: {_counted(counts)}")

    def as_text(self) -> str:
        """Text for a terminal: a paragraph per expectation, with a line per cell that fails it."""
        against = "" if self.baseline is None else f", baseline {self.baseline}"
        lines = [f"{self.run}{against}: {_counted(self.counts)}"]
        if self.differences:
            lines.insert(0, f"NOT COMPARABLE, checked anyway: {'; '.join(self.differences)}.")
        for expectation, group in groupby(self.judgements, lambda judgement: judgement.expectation):
            of_expectation = [*group]
            lines += ["", f"{in_words(expectation)}: {_counted(_counts(of_expectation))}"]
            lines += [
                f"  {judgement.verdict:16}  {judgement.label}: {judgement.words}"
                for verdict in _VERDICTS[1:]
                for judgement in of_expectation
                if judgement.verdict == verdict
            ]
        lines += ["", *self.remarks] if self.remarks else []
        return "\n".join(map(printable, lines))

    def as_json(self) -> str:
        """JSON: one object with every judgement."""
        document = {
            "schema": SCHEMA,
            "run": self.run,
            **({} if self.baseline is None else {"baseline": self.baseline}),
            "met": self.met,
            "verdicts": self.counts,
            "judgements": [
                {
                    "expectation": in_words(one.expectation),
                    "what": one.expectation.what,
                    "cell": one.cell,
                    "label": one.label,
                    "verdict": one.verdict,
                    "words": one.words,
                }
                for one in self.judgements
            ],
            **({"remarks": list(self.remarks)} if self.remarks else {}),
            **({"differences": list(self.differences)} if self.differences else {}),
        }
        return json.dumps(document, indent=1, ensure_ascii=False, allow_nan=False) + "\n"


def check(
    run: Run,
    baseline: Run | HeldRun | None = None,
    *,
    no_worse_by: float = 0.05,
    expect: Path | None = None,
    say: Callable[[Run], FindingSentences] | None = None,
    anyway: bool = False,
) -> Checked:
    """Check a run against the ``expect`` of the matrix in its folder, and against a baseline: a
    run, or this run's history.

    ``expect`` is the path of a file; its section ``expect:`` is used instead of the one in the
    matrix. If no expectation mentions a baseline, the run may be worse than ``baseline`` by at most
    ``no_worse_by`` (a share). ``say`` computes the findings of a run, for expectations that forbid
    kinds of findings; without ``say``, these expectations cannot be judged.
    UsageError if nothing is expected, if the baseline has no cell in common, or if it differs and
    not ``anyway``; MatrixError if the matrix or the file cannot be read, or forbids a kind of
    finding that does not exist.
    """
    expectations = _expected(run, baseline, no_worse_by, expect)
    findings = None
    if say is not None and any(expectation.what == "no" for expectation in expectations):
        findings = say(run)
        _read_expectations(run, expect, findings.kinds)
    cells = by_cell(run.trials)
    labels = align.cell_labels([trials[0] for trials in cells.values()])
    held = baseline if isinstance(baseline, HeldRun) else None
    aligned: dict[str, list[AlignedPair]] | None = None
    agreed = None
    if baseline is not None and not isinstance(baseline, HeldRun):
        agreed = agreed_on(baseline, run, anyway=anyway)
        every = align.align_runs(agreed.pairs, baseline.trials, run.trials)
        headlines = (pair for pair in every if pair.quantity is not STACK)
        aligned = grouped(headlines, lambda pair: pair.cells[1])
    judgements: list[Judgement] = []
    for expectation in expectations:
        about = [key for key in cells if expectation.is_about(align.plain_cell(cells[key][0]))]
        if not about:
            words = "no cell of the run matches"
            judgements.append(Judgement(expectation, "", "no cell", "cannot be judged", words))
        if expectation.what == "no":
            of_cells = {key: cells[key] for key in about}
            judgements += _by_findings(expectation, of_cells, findings, labels)
            continue
        for key in about:
            if expectation.what != "baseline":
                verdict, words = _against_limit(expectation, cells[key], run.plan.link)
            elif held is not None:
                verdict, words = held.judged(key, expectation.limit)
            else:
                verdict, words = _against_baseline(expectation, cells[key], aligned)
            judgements.append(Judgement(expectation, key, labels[key], verdict, words))
    path = None if baseline is None else str(baseline.path)
    remarks = agreed.remarks if agreed else held.remarks if held else ()
    differences = agreed.differences if agreed else ()
    return Checked(str(run.path), path, tuple(judgements), remarks, differences)


def _expected(
    run: Run, baseline: object, no_worse_by: float, expect: Path | None
) -> tuple[Expectation, ...]:
    expectations = _read_expectations(run, expect)
    if baseline is not None and all(expectation.what != "baseline" for expectation in expectations):
        by_default = Expectation(what="baseline", bound="at most", limit=no_worse_by, of="baseline")
        expectations = (*expectations, by_default)
    if not expectations:
        remedy = (
            "write `expect:` into its matrix.yaml, or name a file with --expect FILE or a run with "
            "--baseline RUN"
            if run.plan.source is None
            else "it was imported and has no matrix: name a file that has `expect:` with "
            "--expect FILE, or a run with --baseline RUN"
        )
        raise UsageError(f"{run.path} has no expectations: {remedy}")
    return expectations


def _read_expectations(
    run: Run, expect: Path | None, kinds: Collection[str] | None = None
) -> tuple[Expectation, ...]:
    """Those of a file, else of the matrix; MatrixError if none of ``kinds`` is forbidden."""
    if expect is not None:
        from netlab.config.matrix_file import load_expectations

        return load_expectations(expect, kinds)
    from netlab.config.matrix_file import expectations_in

    text = run.plan.matrix_text
    return expectations_in(text, str(run.path / "matrix.yaml"), kinds) if text else ()


# Findings that are forbidden


def _by_findings(
    expectation: Expectation,
    cells: Mapping[str, Sequence[Record]],
    computed: FindingSentences | None,
    labels: Mapping[str, str],
) -> Iterator[Judgement]:
    """A finding about a host or the whole run has no cell, so the key of its judgement is empty.
    Such a finding counts only if the expectation applies to every cell.
    """

    def judgement(cell: str, verdict: CheckVerdict, words: str) -> Judgement:
        return Judgement(expectation, cell, labels.get(cell, "the run"), verdict, words)

    if computed is None:
        yield from (judgement(cell, "cannot be judged", NOT_LOOKED_FOR) for cell in cells)
        return
    forbidden = [
        (finding.cells, f"{finding.sentence} ({finding.kind})")
        for finding in computed.findings
        if expectation.forbidden in (finding.kind, finding.severity, *finding.other_words)
    ]
    if not expectation.when and not expectation.unless:
        yield from (judgement("", "not met", words) for about, words in forbidden if not about)
    for cell, trials in cells.items():
        sentences = [words for about, words in forbidden if cell in about]
        blank = sum(trial.status != Status.OK for trial in trials)
        if sentences:
            yield judgement(cell, "not met", " ".join(sentences))
        elif blank:
            words = f"{blank} of {len(trials)} trials without a result"
            yield judgement(cell, "cannot be judged", words)
        else:
            yield judgement(cell, "met", counted("{number} trial", "{number} trials", len(trials)))


# Limits of every trial


def limited_figures(
    expectation: Expectation, record: Record, link: Link | None
) -> Iterator[tuple[str, float | str]]:
    """Each figure of a trial that an expectation (other than ``baseline``) limits, in the unit that
    its ``of`` names, or the reason why there is none; after ``to server`` or ``to client`` if there
    are two flows, else an empty text.
    """
    if record.status != Status.OK:
        yield "", record.why_blank
        return

    def number(name: str) -> float | str:
        value = record.number(name)
        return "the record lacks this figure" if value is None else value

    figures: Iterable[tuple[str, float | str]]
    match expectation.what:
        case "throughput":
            figures = [(f, _throughput(expectation, record, f, link)) for f in record.flows]
        case "loss":
            unknown = "the record does not say how many messages were lost"
            flows = record.flows.items()
            losses = [(name, flow.lost_messages, flow.sent_messages) for name, flow in flows]
            figures = [
                (name, unknown if lost is None or not sent else lost / sent)
                for name, lost, sent in losses
            ]
        case "payload":
            figures = [("", number("payload_bytes"))]
            if record.number("to_client_payload_bytes") is not None:
                figures.append(("to_client_", number("to_client_payload_bytes")))
        case "frames":
            name = "line_share" if expectation.of == "line rate" else "frames_per_s"
            passed = record.number("frames_per_s") is not None
            # If `frames_per_s` is absent, even the lowest rate of the search failed: the rate is 0.
            figures = [("", number(name) if passed else 0.0)]
        case _:
            figures = [("", number("rtt_mean_ns"))]
    yield from ((FLOWS[flow], figure) for flow, figure in figures)


def _throughput(
    expectation: Expectation, record: Record, flow: str, link: Link | None
) -> float | str:
    """The throughput of a flow in bit/s or as a share of the ceiling, or why there is none."""
    value = record.flow(flow).throughput_bit_per_s
    if value is None:
        return "the record has no throughput"
    if expectation.of == "bit/s":
        return value
    if record.same_host:
        return "server and client are one host: no cable was touched, so there is no ceiling"
    if link is None:
        return "the matrix states no `link`, so there is no ceiling"
    column = TableColumn(record.protocol, record.message_bytes or 0, flow)
    ceiling = ceiling_of(column, [Bin((record,), flow)], link)
    if ceiling is None:
        return "the link cannot carry this message, so there is no ceiling"
    # If the TCP options are not known, the highest ceiling applies, so that a pass is certain.
    return value / ceiling.highest_bit_per_s


def _against_limit(
    expectation: Expectation, trials: Sequence[Record], link: Link | None
) -> tuple[CheckVerdict, str]:
    """Whether every trial meets the limit."""
    figures = [
        (figure, ", ".join(filter(None, (f"trial {trial.trial}", flow))))
        for trial in trials
        for flow, figure in limited_figures(expectation, trial, link)
    ]
    known = [(figure, place) for figure, place in figures if not isinstance(figure, str)]
    missed = [pair for pair in known if not expectation.is_met_by(pair[0])]
    worst_of = min if expectation.bound == "at least" else max
    if missed:
        worst = worst_of(value for value, _ in missed)
        place = next(place for value, place in missed if value == worst)
        of = f", {len(missed)} of {len(figures)} figures" if len(figures) > 1 else ""
        return "not met", f"{expectation.words(worst)} in {place}{of}"
    blanks = [figure for figure, _ in figures if isinstance(figure, str)]
    if blanks:
        return "cannot be judged", _why_not(blanks, len(figures))
    worst = worst_of(value for value, _ in known)
    number_of_figures = counted("{number} figure", "{number} figures", len(known))
    return "met", f"{expectation.words(worst)} or better, {number_of_figures}"


def _why_not(blank: Sequence[str], of: int) -> str:
    reasons = "; ".join(dict.fromkeys(reason.rstrip(".") for reason in blank))
    return f"{len(blank)} of {of} without a figure: {reasons}"


# Against a baseline


def _against_baseline(
    expectation: Expectation,
    trials: Sequence[Record],
    aligned: Mapping[str, Sequence[AlignedPair]] | None,
) -> tuple[CheckVerdict, str]:
    """Whether every headline figure of the cell is shown to be no worse than the baseline."""
    if aligned is None:
        return "cannot be judged", "no baseline is given (--baseline RUN)"
    headlines = aligned.get(trials[0].cell)
    if headlines is None:
        return "cannot be judged", "the baseline has no cell to compare it with"
    verdicts = [_judge_no_worse(headline, expectation.limit) for headline in headlines]
    blank = [
        align.NO_RATIO if trial.status == Status.OK else trial.why_blank
        for trial in trials
        if any(trial.trial not in headline.contender for headline in headlines)
    ]
    for verdict in WORST_FIRST:
        sentences = "; ".join(words for own_verdict, words in verdicts if own_verdict == verdict)
        if verdict == "met" and blank:
            return "cannot be judged", _why_not(blank, len(trials))
        if sentences:
            return verdict, sentences
    return "cannot be judged", "it has no figure to compare"


def _judge_no_worse(aligned: AlignedPair, worse_by: float) -> tuple[CheckVerdict, str]:
    """One-sided non-inferiority by Welch's t on logarithms: shown, refuted or inconclusive."""
    old, new = aligned.figures
    # A two-sided interval of 90 % has two one-sided bounds of 95 %.
    result = compare(old, new, paired=aligned.paired, confidence=2 * CONFIDENCE - 1)
    name, n = aligned.quantity.name, f"n = {len(old)} and {len(new)}"
    if result.ratio is None:
        side = "baseline" if not old else "run"
        return "cannot be judged", f"{name}: the {side} has no figure"
    if result.low is None or result.high is None:
        return "cannot be judged", f"{name}: one trial gives no interval ({n})"
    between = f"{100 * (result.low - 1):+.2f} to {100 * (result.high - 1):+.2f} %, {n}"
    words = f"{name}, geometric mean {100 * (result.ratio - 1):+.2f} % ({between})"
    if aligned.quantity.more_is_worse:
        is_no_worse, is_worse = result.high <= 1 + worse_by, result.low > 1 + worse_by
    else:
        is_no_worse, is_worse = result.low >= 1 - worse_by, result.high < 1 - worse_by
    if is_worse:
        return "not met", words
    if is_no_worse:
        return "met", words
    return "cannot be judged", f"{words}: inconclusive, more trials are needed"


# Words


def in_words(expectation: Expectation) -> str:
    """Such as ``loss at most 0.1 % where protocol UDP, but not where message size, bytes 64``."""
    condition, exception = (
        ", ".join(
            f"{setting_name(name)} {' or '.join(sorted(setting_value(name, v) for v in levels))}"
            for name, levels in settings.items()
        )
        for settings in (expectation.when, expectation.unless)
    )
    words = [
        str(expectation),
        f"where {condition}" * bool(condition),
        f"but not where {exception}" * bool(exception),
    ]
    return " ".join(word for word in words if word)


def _counts(judgements: Iterable[Judgement]) -> dict[CheckVerdict, int]:
    numbers = Counter(judgement.verdict for judgement in judgements)
    return {verdict: numbers[verdict] for verdict in _VERDICTS}


def _counted(counts: Mapping[CheckVerdict, int]) -> str:
    return ", ".join(f"{n} {verdict}" for verdict, n in counts.items())
