"""The test ``throughput_search``: the highest rate that a device forwards without loss (RFC 2544).

Which rate is tried next, and when the search is over: ``rate_search.py``. One trial: ``trial.py``.
Every trial is in the record. Where the matrix asks for them the standard's other tests follow, with
the rate that was found: frame loss rate, latency under load, back-to-back frames.
"""

from __future__ import annotations

import time
from collections.abc import Mapping, Sequence
from fractions import Fraction

from netlab.errors import ProbeError
from netlab.experiment.estimate import LOSS_STEPS
from netlab.experiment.host_counters import Watched, busiest
from netlab.experiment.kinds import ThroughputSearch
from netlab.experiment.rate_search import Found, NextRate, RateGrid, Search, TryVerdict
from netlab.experiment.records import Value
from netlab.experiment.schedule import Trial
from netlab.measurement.ends import Ends, OnGoodput
from netlab.measurement.host_watch import WHOSE
from netlab.measurement.rendezvous import PAIR_GONE, alone
from netlab.measurement.rfc2544.back_to_back import back_to_back
from netlab.measurement.rfc2544.device_latency import device_latency
from netlab.measurement.rfc2544.offered_load import SENDERS
from netlab.measurement.rfc2544.trial import LineRate, TrialResult, TrialRunner, line_of
from netlab.measurement.rfc2544.trial_lists import of_hosts, of_tries
from netlab.units import format_share


def values_of(trial: Trial, ends: Ends, live: OnGoodput) -> dict[str, Value]:
    """What a search found; ProbeError where it says nothing of the device."""
    setup = trial.cell.setup
    assert isinstance(setup, ThroughputSearch)  # noqa: S101  (told to the type checker)
    line = line_of(setup, ends)
    grid = RateGrid(Fraction(repr(setup.resolution)))
    participant = ends.participant or alone()
    runner = TrialRunner(setup, trial.cell, ends, live, line, participant=participant)
    search = Search.over(grid, short=setup.search_duration_s is not None)
    tried: list[TrialResult] = []
    while isinstance(asked := search.next(), NextRate):
        if tried:
            time.sleep(setup.settle_s)
        tried.append(runner.trial(grid.share(asked.number), full=asked.full))
        search = search.told(tried[-1].as_try(asked))
    limiting = _limiting(asked, setup, tried)
    if asked.number is None and asked.limit != "device":
        lowest = format_share(float(grid.share(1)))
        detail = f"{asked.limit} at every rate tried, down to {lowest} of the line rate"
        raise ProbeError(
            ends.client.host.name, "tester-bound", detail=detail + _busiest_core(limiting)
        )
    values = _of_result(asked, grid, line, tried) | of_tries("trial_", line.frames_per_s, tried)
    values |= of_hosts(tried, _confirming(asked, grid, tried), ends) | _of_limiting(limiting)
    values |= tried[-1].effective
    if runner.other_link:
        values["link_paced"] = False
    if setup.together:
        values["pairs"] = len(tried[-1].said)
    return values | _further(asked, grid, runner)


def _further(found: Found, grid: RateGrid, runner: TrialRunner) -> dict[str, Value]:
    """What the matrix asks for beside the rate."""
    setup, line_per_s = runner.setup, runner.line.frames_per_s
    values: dict[str, Value] = {}
    if setup.frame_loss:
        losses, failed = _losses(runner)
        values |= of_tries("loss_", line_per_s, losses) if losses else {}
        values |= {} if failed is None else {"loss_failed_share": float(failed)}
    if setup.latency and found.number is not None:
        per_s = float(grid.share(found.number)) * line_per_s
        values |= device_latency(runner, per_s)
    if setup.back_to_back is not None:
        share = 0.0 if found.number is None else float(grid.share(found.number))
        for mine in runner.participant.turns():
            if mine:
                values |= back_to_back(runner, setup.back_to_back, share)
    return values


def _of_result(
    found: Found, grid: RateGrid, line: LineRate, tried: Sequence[TrialResult]
) -> dict[str, Value]:
    """The headline, both bounds and what they mean."""
    values: dict[str, Value] = {}
    if found.number is not None:
        share = float(grid.share(found.number))
        values |= {"frames_per_s": share * line.frames_per_s, "line_share": share}
        rates = [each.sent_per_s for each in _confirming(found, grid, tried)]
        known = [rate for rate in rates if rate is not None]
        if known:
            values["sent_frames_per_s"] = min(known)
    if found.upper is not None:
        share = float(grid.share(found.upper))
        values |= {"upper_frames_per_s": share * line.frames_per_s, "upper_line_share": share}
    return values | {
        "limit": found.limit,
        "monotone": found.monotone,
        "line_rate_bit_per_s": line.bit_per_s,
        "line_rate_from": line.source,
        "line_frames_per_s": line.frames_per_s,
    }


def _confirming(found: Found, grid: RateGrid, tried: Sequence[TrialResult]) -> list[TrialResult]:
    """The trials of full length that passed at the rate found."""
    if found.number is None:
        return []
    wanted = grid.share(found.number), True, "passed"
    return [each for each in tried if (each.share, each.full, each.verdict) == wanted]


def _limiting(
    found: Found, setup: ThroughputSearch, tried: Sequence[TrialResult]
) -> Watched | None:
    """The host that was the limit, as busy as it ever was in the trials that failed for it.

    Of a device only where it is observed; ``None``: not known, or there was no limit.
    """
    senders = SENDERS[setup.direction]
    receivers = WHOSE if len(senders) > 1 else tuple(each for each in WHOSE if each not in senders)
    observed = tuple(key for key in tried[0].hosts if key not in WHOSE)
    # Of pairs that search together, any host may have been the one.
    said = [each for trial in tried for each in trial.said]
    blamed: Mapping[str, tuple[tuple[TryVerdict, ...], tuple[str, ...]]] = {
        "generator-bound": (("generator-bound",), senders),
        "receiver-bound": (("tester-loss",), receivers),
        "device": (("lost", "absorbed"), observed),
    }
    verdicts, keys = blamed.get(found.limit, ((), ()))
    return busiest(each.hosts[key] for each in said if each.verdict in verdicts for key in keys)


def _of_limiting(host: Watched | None) -> dict[str, Value]:
    if host is None or host.cpu is None:
        return {}
    return {
        "limit_host": host.name,
        "limit_core": host.cpu.busiest_core,
        "limit_core_share": host.cpu.busiest_core_share,
    }


def _busiest_core(host: Watched | None) -> str:
    if host is None or host.cpu is None:
        return ""
    busy = f"{100 * host.cpu.busiest_core_share:.0f} %"
    return f"; busiest core: CPU {host.cpu.busiest_core} of {host.name}, {busy}"


def _losses(runner: TrialRunner) -> tuple[list[TrialResult], Fraction | None]:
    """Trials for the frame loss rate (26.3): from the line rate down in steps of a tenth of it,
    until two of them in a row lost nothing. With the share at which one came to nothing, where
    that ended it: the rate that was found stands all the same, but where a pair left the search.
    """
    tried: list[TrialResult] = []
    for tenths in range(LOSS_STEPS, 0, -1):
        time.sleep(runner.setup.settle_s)
        try:
            tried.append(runner.trial(Fraction(tenths, LOSS_STEPS), full=True))
        except ProbeError as fault:
            if fault.word == PAIR_GONE:
                raise
            return tried, Fraction(tenths, LOSS_STEPS)
        if [each.lost for each in tried[-2:]] == [0, 0]:
            break
    return tried, None
