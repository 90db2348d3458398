"""A run as a few lines for a terminal: figures, share of the wire ceiling, main findings.

The wire ceiling is the highest payload rate that the link's framing allows. A cell is one
combination of test, pairing (server and client) and settings; a trial is one measurement of a cell.
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

from netlab.experiment.records import Status
from netlab.findings.analysis import Analysis, load
from netlab.findings.importance import leading_kinds
from netlab.findings.round_trips.trips import TripTrial
from netlab.findings.sample import StreamSample
from netlab.report.text.finding_sentences import in_english
from netlab.report.text.load_figure import load_figure
from netlab.report.text.phrases import percentile_words, share_words
from netlab.report.text.under_load import rise_words
from netlab.results.load_timeline import timeline_of
from netlab.units import format_rate, format_seconds

UNDER_LOAD = "latency_under_load"
MOST_SENTENCES = 3
"""Maximum number of findings that are printed."""


def answer_of(folder: Path) -> str:
    """The lines about the run in ``folder``. Trials without a result are left out."""
    run = load(folder, in_english)
    return "\n".join([*_figures(run), *_why(run), f"more: netlab report {folder}"])


def _figures(run: Analysis) -> Iterator[str]:
    for sample in run.samples:
        yield _of_stream(sample)
    for record in run.records:
        if record.status is Status.OK and record.test not in ("stream", UNDER_LOAD):
            yield from _of_trips(TripTrial(record))
    loaded = [t for t in run.trials if t.test == UNDER_LOAD and t.status is Status.OK]
    for cell in dict.fromkeys(trial.cell for trial in loaded):
        yield rise_words([trial for trial in loaded if trial.cell == cell])
    for record in run.records:
        timeline = timeline_of(record) if record.test == UNDER_LOAD else None
        if timeline is not None:
            yield from load_figure(timeline)


def _of_stream(sample: StreamSample) -> str:
    flow_name = f" {sample.flow}" if sample.flow else ""
    text = f"{format_rate(sample.throughput_bit_per_s)} of payload{flow_name}"
    ceiling = sample.ceiling_bit_per_s
    if ceiling is None or sample.same_host:
        return text
    return f"{text}: {share_words(sample.throughput_bit_per_s, ceiling)}"


def _of_trips(trips: TripTrial) -> Iterator[str]:
    mean_ns, histogram = trips.mean_ns, trips.histogram("rtt_histogram")
    if mean_ns is not None:
        yield f"{format_seconds(mean_ns / 1e9)} a round trip, on average"
    if histogram is not None:
        yield ", ".join(percentile_words(histogram))


def _why(run: Analysis) -> Iterator[str]:
    """The findings that explain the figures, the most important first."""
    order = leading_kinds(run.findings)
    of_cells = [finding for finding in run.findings if finding.cells]
    ranking = [finding for kind in order for finding in of_cells if finding.kind is kind]
    for finding in ranking[:MOST_SENTENCES]:
        yield finding.sentence or ""
        if finding.severity == "warning" and finding.advice:
            yield f"  {finding.advice}"
