"""A run as a few lines for a terminal: figures, latency over time, the main findings."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from pathlib import Path
from statistics import median

from netlab.findings.analysis import Analysis, load
from netlab.findings.finding import leading_kinds
from netlab.findings.round_trips import TripTrial
from netlab.kinds.latency_under_load.phases import LoadTimeline, timeline_of
from netlab.report.text.findings import in_english
from netlab.report.text.phrases import percentile_words, rise_words, share_words
from netlab.trial.figures import results_of
from netlab.trial.record import FLOWS, by_cell
from netlab.units import format_rate, format_seconds, plain_figures

_UNDER_LOAD = "latency_under_load"
MOST_SENTENCES = 3


def answer_of(folder: Path) -> str:
    """The lines about the run in ``folder``. Trials without a result are left out."""
    run = load(folder, in_english)
    lines = [*_figures(run)]
    # The findings that explain the figures, the most important first.
    of_cells = [finding for finding in run.findings if finding.cells]
    order = leading_kinds(run.findings)
    ranking = [finding for kind in order for finding in of_cells if finding.kind is kind]
    for finding in ranking[:MOST_SENTENCES]:
        lines.append(finding.sentence or "")
        if finding.severity == "warning" and finding.advice:
            lines.append(f"  {finding.advice}")
    return "\n".join([*lines, f"more: netlab report {folder}"])


def _figures(run: Analysis) -> Iterator[str]:
    for sample in run.samples:
        flow_name = f" {sample.flow}" if sample.flow else ""
        text = f"{format_rate(sample.throughput_bit_per_s)} of payload{flow_name}"
        ceiling = None if sample.same_host else sample.ceiling_bit_per_s
        if ceiling is not None:
            text = f"{text}: {share_words(sample.throughput_bit_per_s, ceiling)}"
        yield text
    for record in results_of(run.records):
        if record.test not in ("stream", _UNDER_LOAD):
            trips = TripTrial(record)
            if trips.mean_ns is not None:
                yield f"{format_seconds(trips.mean_ns / 1e9)} a round trip, on average"
            if (histogram := trips.histogram("rtt_histogram")) is not None:
                yield ", ".join(percentile_words(histogram))
    loaded = results_of([trial for trial in run.trials if trial.test == _UNDER_LOAD])
    for trials in by_cell(loaded).values():
        yield rise_words(trials)
    for record in run.records:
        timeline = timeline_of(record) if record.test == _UNDER_LOAD else None
        if timeline is not None:
            yield from load_figure(timeline)


WIDTH = 60
LABEL = 12
"""Width of the names to the left of the figure, in columns."""
BLOCKS = "▁▂▃▄▅▆▇█"
LOST = "×"
"""Marks a column in which every request was lost."""


def load_figure(timeline: LoadTimeline, width: int = WIDTH) -> Iterator[str]:
    """Lines of median round trips, of each flow's mean rates and of phases; unknown is blank."""
    end_s = max(trip.at_ns for trip in timeline.trips) / 1e9
    if end_s <= 0:
        return
    times: list[list[float]] = [[] for _ in range(width)]
    requests = [0] * width
    for trip in timeline.trips:
        at = _column(trip.at_ns / 1e9, end_s, width)
        requests[at] += 1
        if trip.ns is not None:
            times[at].append(trip.ns)
    medians = [median(column) if column else None for column in times]
    longest_ns = max((value for value in medians if value is not None), default=0.0)
    columns = zip(requests, times, _bars(medians), strict=True)
    line = "".join(LOST if n and not answered else mark for n, answered, mark in columns)
    yield f"{'round trips':{LABEL}}{line}  up to {format_seconds(longest_ns / 1e9)}"
    for flow, points in timeline.rates.items():
        rates: list[list[float]] = [[] for _ in range(width)]
        for at_s, rate in points:
            rates[_column(at_s, end_s, width)].append(rate)
        means = [sum(column) / len(column) if column else None for column in rates]
        most = max((value for value in means if value is not None), default=0.0)
        name = str(FLOWS[flow]) or "load"
        yield f"{name:{LABEL}}{_bars(means)}  up to {plain_figures(most, 4)} Mbit/s"
    phases = [" "] * width
    for name, (begin_s, until_s) in timeline.phases.items():
        begin, end = (_column(at_s, end_s, width) for at_s in (begin_s, until_s))
        phases[begin:end] = name.ljust(end - begin, "·")[: end - begin]
    yield f"{'':{LABEL}}{''.join(phases)}  {plain_figures(end_s, 3)} s".rstrip()


def _column(at_s: float, end_s: float, width: int) -> int:
    return min(width - 1, max(0, int(width * at_s / end_s)))


def _bars(values: Sequence[float | None]) -> str:
    """Blocks as high as each value's share of the largest value, and spaces for ``None``."""
    most = max((value for value in values if value is not None), default=0.0) or 1.0
    last = len(BLOCKS) - 1
    return "".join(
        " " if value is None else BLOCKS[min(last, round(last * value / most))] for value in values
    )
