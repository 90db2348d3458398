"""Other traffic on a link that was not full, by host and direction."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from statistics import median

from netlab.findings.finding import Finding, Group, Kind, finding
from netlab.findings.sample import OtherTraffic, StreamSample
from netlab.findings.traffic.words import way
from netlab.findings.trial_words import in_trials


def filled_by_others(
    samples: Iterable[StreamSample],
) -> Mapping[tuple[str, int, str], OtherTraffic]:
    """(cell, trial, flow) → the other traffic that filled the rest of the link. A cell is one
    combination of settings, a flow one direction of data.
    """
    traffic_by_stream = {
        (sample.cell, sample.trial, sample.flow): sample.filled_by_others for sample in samples
    }
    return {key: traffic for key, traffic in traffic_by_stream.items() if traffic is not None}


def partial_traffic(
    samples: Iterable[StreamSample], limited: Iterable[Finding]
) -> Iterator[Finding]:
    """One finding per host and direction: the number of affected trials, and the median rate.

    Cells in which other traffic is the bottleneck, according to ``limited``, are left out.
    """
    filled_cells = {
        cell for limit in limited if limit.kind is Kind.OTHER_TRAFFIC for cell in limit.cells
    }
    of_host: dict[str, set[tuple[str, int]]] = {}
    rates: dict[tuple[str, bool], dict[tuple[str, int], float]] = {}
    for sample in samples:
        trial = sample.cell, sample.trial
        for end in sample.ends:
            of_host.setdefault(end.host, set()).add(trial)
        if sample.cell in filled_cells or sample.filled_by_others is not None:
            continue
        for traffic in sample.others:
            rates.setdefault((traffic.host, traffic.receiving), {})[trial] = traffic.bit_per_s
    for (host, receiving), trials in rates.items():
        number = len(of_host.get(host, ()))
        words = {"way": way(receiving=receiving), **in_trials(len(trials), number)}
        yield finding(
            Kind.OTHER_TRAFFIC_BESIDE,
            Group(host=host),
            tuple(dict.fromkeys(cell for cell, _trial in trials)),
            {"other_bit_per_s": median(trials.values()), "trials": len(trials)},
            words,
            tuple(trials),
        )
