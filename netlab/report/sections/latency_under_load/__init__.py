"""Readings → what a full path does to round trips beside it: tables, charts over time. Pure."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from netlab.messages import Message, _, counted
from netlab.report.sections.latency_under_load import distributions, over_time
from netlab.report.sections.latency_under_load.names import SECTION, TEST, load_names
from netlab.report.sections.latency_under_load.sheets import sheets_of
from netlab.report.tables.elements import Part
from netlab.results.load_timeline import LoadTimeline, timeline_of
from netlab.results.readings import Reading

if TYPE_CHECKING:
    from netlab.results.run import Run


def part(run: Run, readings: Sequence[Reading]) -> Part | None:
    """Tables a pairing, then charts; ``None`` where the run has no such test."""
    those = [reading for reading in readings if reading.test == TEST]
    if not those:
        return None
    names, timelines = load_names(those), _timelines(run, those)
    strips, left_out = over_time.charts(those, names, timelines)
    return Part(
        name=SECTION,
        title=_("Latency under load"),
        paragraphs=_paragraphs(those, timelines, left_out),
        sheets=tuple(sheets_of(those, names, run.plan.link)),
        charts=(*strips, *distributions.charts(those, names, timelines)),
    )


def _timelines(run: Run, readings: Sequence[Reading]) -> dict[tuple[str, int], LoadTimeline]:
    found = {}
    for reading in readings:
        record = run.latest.get((reading.cell, reading.trial))
        if record is None or reading.status != "ok":
            continue
        timeline = timeline_of(reading.settings, record.values)
        if timeline is not None:
            found[reading.cell, reading.trial] = timeline
    return found


def _paragraphs(
    readings: Sequence[Reading], timelines: over_time.Timelines, left_out: int
) -> tuple[str, ...]:
    said: list[Message] = [_MEANING, _PHASES]
    measured = [each for each in readings if each.status == "ok"]
    if any(each.number("responsiveness_per_minute") for each in measured):
        said.append(_RESPONSIVENESS)
    if timelines:
        said.append(_CHARTS)
    silent = sum((each.cell, each.trial) not in timelines for each in measured)
    if silent:
        said.append(
            counted(
                "{number} trial did not record its round trips one by one: it has no part in the "
                "charts.",
                "{number} trials did not record their round trips one by one: they have no part in "
                "the charts.",
                silent,
            )
        )
    if left_out:
        said.append(
            counted(
                "{number} further cell have no chart over time: its figures in the table open it.",
                "{number} further cells have no chart over time: their figures in the tables open "
                "them.",
                left_out,
            )
        )
    return tuple(said)


_MEANING = _(
    "Requests are due at an even rate all the time, and each is timed from when it was due. Up is "
    "a load from the client to the server, down one from the server to the client. The increase is "
    "the median round trip under load less the median before it. Medians and percentiles are those "
    "of each trial, of several trials their mean; a request that is lost counts as longer than any."
)
_PHASES = _(
    "Idle is before the load. Loaded begins when the throughput has settled, 2 s after the load at "
    "the earliest, and ends with the load; after begins when what waited on the way is through. "
    "Throughput is that of the loaded phase alone."
)
_RESPONSIVENESS = _(
    "RPM are round trips a minute after draft-ietf-ippm-responsiveness-09, over TCP alone, without "
    "TLS and HTTP: not to be compared with those of tools that have them."
)
_CHARTS = _(
    "Over time a line has the shortest and the longest of the round trips that stand at one place; "
    "a lost request is marked at the height of the longest."
)
