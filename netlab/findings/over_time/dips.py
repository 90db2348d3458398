"""Periodic dips: streams whose rate falls repeatedly at equal intervals."""

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
from netlab.stats.trends import PeriodicDips, periodic_dips

if TYPE_CHECKING:
    from netlab.results.run import Run

DEEP = 0.05
"""Minimum depth of a dip, as a share of the usual rate."""
GRAINS = 3.0
"""Minimum depth of a dip, in multiples of the bytes of the largest receive call: data arrive in
portions of this size."""


@dataclass(frozen=True, slots=True)
class _Dipping:
    """A trial whose rate dips in one flow."""

    record: Record
    dips: PeriodicDips
    interval_ns: float
    sent_again: int | None
    """Segments retransmitted in the whole measured time; ``None``: not known, or UDP."""


def dips(run: Run, samples: Iterable[StreamSample], *, imported: bool) -> Iterator[Finding]:
    """One finding per cell (combination of settings) and flow (direction of data), if more than
    half of the trials have dips.
    """
    if imported:
        return
    sent_again = {
        (sample.cell, sample.trial, sample.flow): sample.tcp.retransmissions for sample in samples
    }
    dipping: dict[tuple[str, str], list[_Dipping]] = defaultdict(list)
    judged_trials: dict[tuple[str, str], int] = defaultdict(int)
    for record in run.latest.values():
        if record.status is not Status.OK or record.test != "stream":
            continue
        for prefix, flow in FLOWS.items():
            series = record.values.get(f"{prefix}receiver_interval_bytes")
            interval_ns = number(record.values.get(f"{prefix}receiver_interval_ns"))
            if not isinstance(series, list) or not interval_ns:
                continue
            judged_trials[record.cell, prefix] += 1
            trial_dips = _dips_of_trial(record, prefix, series)
            if trial_dips is not None:
                retransmitted = sent_again.get((record.cell, record.trial, flow))
                dipping[record.cell, prefix].append(
                    _Dipping(record, trial_dips, interval_ns, retransmitted)
                )
    for cell_and_flow, trials in dipping.items():
        if 2 * len(trials) > judged_trials[cell_and_flow]:
            yield _finding(cell_and_flow[1], trials, judged_trials[cell_and_flow])


def _dips_of_trial(
    record: Record, prefix: str, series: list[int] | list[float]
) -> PeriodicDips | None:
    """The periodic dips of one flow; ``None`` if they are not deep enough. The flow's last
    interval, which has another length, is left out.
    """
    values = [float(value) for value in series[:-1]]
    period = periodic_dips(values)
    largest = number(record.values.get(f"{prefix}receiver_largest_receive_bytes"))
    if period is None or largest is None:
        return None
    grain = GRAINS * largest / median(values)
    return period if period.depth_share > max(DEEP, grain) else None


def _finding(prefix: str, trials: list[_Dipping], number_of_trials: int) -> Finding:
    """The finding about one cell and flow. Its figures are those of the trial with the median
    depth.
    """
    middle = sorted(trials, key=lambda trial: trial.dips.depth_share)[len(trials) // 2]
    retransmissions = [trial.sent_again for trial in trials if trial.sent_again is not None]
    figures = {
        "period_ns": middle.dips.period * middle.interval_ns,
        "depth_share": middle.dips.depth_share,
        "interval_ns": middle.interval_ns,
        "trials": len(trials),
        "of_trials": number_of_trials,
        "retransmissions": median(retransmissions) if retransmissions else None,
    }
    all_retransmitted = (
        bool(retransmissions) and len(retransmissions) == len(trials) and all(retransmissions)
    )
    return finding(
        Kind.DIPS_CONGESTION if all_retransmitted else Kind.DIPS_UNEXPLAINED,
        group_of(middle.record, prefix),
        (middle.record.cell,),
        figures,
        in_trials(len(trials), number_of_trials),
        tuple((trial.record.cell, trial.record.trial) for trial in trials),
    )
