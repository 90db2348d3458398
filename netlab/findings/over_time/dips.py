"""Dips with a period: streams whose rate falls again and again after equal times. Pure."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING

from netlab.experiment.records import FLOWS, Record, Status
from netlab.findings.evidence import number
from netlab.findings.finding import Finding, Kind, finding
from netlab.findings.sample import StreamSample
from netlab.findings.stops.data_stopped import group_of
from netlab.findings.trial_words import in_trials
from netlab.stats import median
from netlab.stats.periodic import PeriodicDips, periodic_dips

if TYPE_CHECKING:
    from netlab.results.run import Run

DEEP = 0.05
"""Share of the usual rate that a dip must lack."""
GRAINS = 3.0
"""So many of the receiver's largest calls a dip must lack: bytes come in lumps as large."""


@dataclass(frozen=True, slots=True)
class _Dipping:
    """A trial in one flow of which the rate dips."""

    record: Record
    dips: PeriodicDips
    interval_ns: float
    sent_again: int | None
    """Segments, over the whole window; ``None`` is not known, or UDP."""


def dips(run: Run, samples: Iterable[StreamSample], *, imported: bool) -> Iterator[Finding]:
    """One finding a cell and flow of which more than half of the trials dip."""
    if imported:
        return
    sent_again = {(each.cell, each.trial, each.flow): each.tcp.retransmissions for each in samples}
    found: dict[tuple[str, str], list[_Dipping]] = defaultdict(list)
    judged: dict[tuple[str, str], int] = defaultdict(int)
    for record in run.latest.values():
        if record.status is not Status.OK or record.test != "stream":
            continue
        for prefix, flow in FLOWS.items():
            series = record.values.get(f"{prefix}receiver_interval_bytes")
            interval_ns = number(record.values.get(f"{prefix}receiver_interval_ns"))
            if not isinstance(series, list) or not interval_ns:
                continue
            judged[record.cell, prefix] += 1
            seen = _seen(record, prefix, series)
            if seen is not None:
                again = sent_again.get((record.cell, record.trial, flow))
                found[record.cell, prefix].append(_Dipping(record, seen, interval_ns, again))
    for place, those in found.items():
        if 2 * len(those) > judged[place]:
            yield _finding(place[1], those, judged[place])


def _seen(record: Record, prefix: str, series: list[int] | list[float]) -> PeriodicDips | None:
    """The last interval has another length than the others, and is left out."""
    values = [float(each) for each in series[:-1]]
    found = periodic_dips(values)
    largest = number(record.values.get(f"{prefix}receiver_largest_receive_bytes"))
    if found is None or largest is None:
        return None
    grain = GRAINS * largest / median(values)
    return found if found.depth_share > max(DEEP, grain) else None


def _finding(prefix: str, those: list[_Dipping], number_of_trials: int) -> Finding:
    """Told by the trial in the middle by depth."""
    told = sorted(those, key=lambda each: each.dips.depth_share)[len(those) // 2]
    known = [each.sent_again for each in those if each.sent_again is not None]
    figures = {
        "period_ns": told.dips.period * told.interval_ns,
        "depth_share": told.dips.depth_share,
        "interval_ns": told.interval_ns,
        "trials": len(those),
        "of_trials": number_of_trials,
        "retransmissions": median(known) if known else None,
    }
    again = bool(known) and len(known) == len(those) and all(known)
    return finding(
        Kind.CONGESTION_DIPS if again else Kind.PERIODIC_DIPS,
        group_of(told.record, prefix),
        (told.record.cell,),
        figures,
        in_trials(len(those), number_of_trials),
        tuple((each.record.cell, each.record.trial) for each in those),
    )
