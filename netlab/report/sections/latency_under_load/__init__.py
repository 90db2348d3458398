"""Records → the section on latency under load: tables, and charts over time. No I/O.

The test measures round trips while a load fills the path, and before and after the load. A cell is
one combination of test, pairing (server and client) and settings; a trial is one measurement of a
cell, and a record is the data of one trial.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING

from netlab.experiment.records import Record
from netlab.messages import Message, _, counted
from netlab.report.sections.latency_under_load import distributions, over_time
from netlab.report.sections.latency_under_load.names import SECTION, TEST, load_names
from netlab.report.sections.latency_under_load.sheets import sheets_of
from netlab.report.tables.elements import Part
from netlab.results.load_timeline import LoadTimeline, timeline_of

if TYPE_CHECKING:
    from netlab.results.run import Run


def part(run: Run, records: Sequence[Record]) -> Part | None:
    """Tables for each pairing, then charts; ``None`` if the run has no such test."""
    of_test = [record for record in records if record.test == TEST]
    if not of_test:
        return None
    names, timelines = load_names(of_test), _timelines(of_test)
    strips, left_out = over_time.charts(of_test, names, timelines)
    return Part(
        name=SECTION,
        title=_("Latency under load"),
        paragraphs=_paragraphs(of_test, timelines, left_out),
        sheets=tuple(sheets_of(of_test, names, run.plan.link)),
        charts=(*strips, *distributions.charts(of_test, names, timelines)),
    )


def _timelines(records: Iterable[Record]) -> dict[tuple[str, int], LoadTimeline]:
    return {
        (record.cell, record.trial): timeline
        for record in records
        if (timeline := timeline_of(record)) is not None
    }


def _paragraphs(
    records: Sequence[Record], timelines: over_time.Timelines, left_out: int
) -> tuple[str, ...]:
    paragraphs: list[Message] = [_MEANING, _PHASES]
    results = [record for record in records if record.status == "ok"]
    if any(record.number("responsiveness_per_minute") for record in results):
        paragraphs.append(_RESPONSIVENESS)
    if timelines:
        paragraphs.append(_CHARTS)
    without = sum((record.cell, record.trial) not in timelines for record in results)
    if without:
        paragraphs.append(
            counted(
                "{number} trial did not record single round trips and is not in the charts.",
                "{number} trials did not record single round trips and are not in the charts.",
                without,
            )
        )
    if left_out:
        paragraphs.append(
            counted(
                "{number} further cell has no chart over time here: its figures in the table open "
                "one.",
                "{number} further cells have no chart over time here: their figures in the tables "
                "open one.",
                left_out,
            )
        )
    return tuple(paragraphs)


_MEANING = _(
    "Requests are due at an even rate all the time. Each is timed from when it was due. “Up” is a "
    "load from the client to the server, “down” one from the server to the client. The increase is "
    "the median round trip under load minus the median before the load. Medians and percentiles "
    "are computed for each trial; for several trials their mean is given. A lost request counts as "
    "longer than any other."
)
_PHASES = _(
    "“Idle” is before the load. “Loaded” begins when the throughput has settled, at the earliest "
    "2 s after the start of the load, and ends with the load. “After” begins when all data queued "
    "on the path has passed. Throughput is that of the loaded phase alone."
)
_RESPONSIVENESS = _(
    "RPM is the number of round trips per minute after draft-ietf-ippm-responsiveness-09, over TCP "
    "alone, without TLS and HTTP. It is not comparable with the RPM of tools that include these."
)
_CHARTS = _(
    "The line over time shows the shortest and the longest round trip at each point of the time "
    "axis. A lost request is marked at the height of the longest round trip."
)
