"""The test ``throughput_search``: the highest rate that a device forwards without loss (RFC 2544).

``rate_search.py`` chooses the next rate and decides when the search is over; ``trial.py`` measures
one trial: one load of frames at one rate, as in RFC 2544. The record of the search has every trial.
If the matrix requests them, the standard's other tests follow: frame loss rate from the line rate
down, latency at the found rate and below it, and back-to-back frames at line rate.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from fractions import Fraction

from netlab import clock
from netlab.errors import ProbeError
from netlab.experiment.estimate import LOSS_STEPS
from netlab.experiment.host_counters import Watched, busiest
from netlab.experiment.kinds import ThroughputSearch
from netlab.experiment.rate_search import NextRate, RateGrid, Search, SearchResult, TryVerdict
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
    """The values of a search; ProbeError if the measuring hosts, and not the device, limited every
    trial.
    """
    setup = trial.cell.setup
    assert isinstance(setup, ThroughputSearch)  # noqa: S101  (for the type checker)
    line = line_of(setup, ends)
    grid = RateGrid(Fraction(repr(setup.resolution)))
    participant = ends.participant or alone()
    runner = TrialRunner(setup, trial.cell, ends, live, line, participant=participant)
    search = Search.over(grid, short=setup.search_duration_s is not None)
    trials: list[TrialResult] = []
    while isinstance(step := search.next(), NextRate):
        if trials:
            clock.sleep(setup.settle_s)
        trials.append(runner.trial(grid.share(step.number), full=step.full))
        search = search.after(trials[-1].as_try(step))
    result = step
    limiting = _limiting(result, setup, trials)
    if result.number is None and result.limit != "device":
        lowest = format_share(float(grid.share(1)))
        detail = f"{result.limit} at every rate tried, down to {lowest} of the line rate"
        raise ProbeError(
            ends.client.host.name, "tester-bound", detail=detail + _busiest_core(limiting)
        )
    values = _of_result(result, grid, line, trials) | of_tries("trial_", line.frames_per_s, trials)
    values |= of_hosts(trials, _confirming(result, grid, trials), ends) | _of_limiting(limiting)
    values |= trials[-1].effective
    if runner.other_link:
        values["link_paced"] = False
    if setup.together:
        values["pairs"] = len(trials[-1].said)
    return values | _further(result, grid, runner)


def _further(search_result: SearchResult, grid: RateGrid, runner: TrialRunner) -> dict[str, Value]:
    """Values of the standard's other tests that the matrix requests."""
    setup, line_per_s = runner.setup, runner.line.frames_per_s
    values: dict[str, Value] = {}
    if setup.frame_loss:
        losses, failed = _losses(runner)
        values |= of_tries("loss_", line_per_s, losses) if losses else {}
        values |= {} if failed is None else {"loss_failed_share": float(failed)}
    if setup.latency and search_result.number is not None:
        per_s = float(grid.share(search_result.number)) * line_per_s
        values |= device_latency(runner, per_s)
    if setup.back_to_back is not None:
        share = 0.0 if search_result.number is None else float(grid.share(search_result.number))
        for is_own_turn in runner.participant.turns():
            if is_own_turn:
                values |= back_to_back(runner, setup.back_to_back, share)
    return values


def _of_result(
    search_result: SearchResult, grid: RateGrid, line: LineRate, trials: Sequence[TrialResult]
) -> dict[str, Value]:
    """The main values of the search: the found rate, its upper bound, and what limited the rate."""
    values: dict[str, Value] = {}
    if search_result.number is not None:
        share = float(grid.share(search_result.number))
        values |= {"frames_per_s": share * line.frames_per_s, "line_share": share}
        rates = [trial.sent_per_s for trial in _confirming(search_result, grid, trials)]
        known_rates = [rate for rate in rates if rate is not None]
        if known_rates:
            values["sent_frames_per_s"] = min(known_rates)
    if search_result.upper is not None:
        share = float(grid.share(search_result.upper))
        values |= {"upper_frames_per_s": share * line.frames_per_s, "upper_line_share": share}
    return values | {
        "limit": search_result.limit,
        "monotone": search_result.monotone,
        "line_rate_bit_per_s": line.bit_per_s,
        "line_rate_from": line.source,
        "line_frames_per_s": line.frames_per_s,
    }


def _confirming(
    search_result: SearchResult, grid: RateGrid, trials: Sequence[TrialResult]
) -> list[TrialResult]:
    """The trials of full length that passed at the found rate."""
    if search_result.number is None:
        return []
    confirmation = grid.share(search_result.number), True, "passed"
    return [trial for trial in trials if (trial.share, trial.full, trial.verdict) == confirmation]


def _limiting(
    search_result: SearchResult, setup: ThroughputSearch, trials: Sequence[TrialResult]
) -> Watched | None:
    """The host that limited the rate, with its highest load in the trials that failed because of
    this host.

    A device can be the result only if it is an observed host. ``None``: unknown, or no host
    limited the rate.
    """
    senders = SENDERS[setup.direction]
    receivers = WHOSE if len(senders) > 1 else tuple(end for end in WHOSE if end not in senders)
    observed = tuple(key for key in trials[0].hosts if key not in WHOSE)
    # If pairs search together, the host of any pair may have been the limit.
    results = [result for trial in trials for result in trial.said]
    blamed: Mapping[str, tuple[tuple[TryVerdict, ...], tuple[str, ...]]] = {
        "generator-bound": (("generator-bound",), senders),
        "receiver-bound": (("tester-loss",), receivers),
        "device": (("lost", "absorbed"), observed),
    }
    verdicts, keys = blamed.get(search_result.limit, ((), ()))
    failed = [result for result in results if result.verdict in verdicts]
    return busiest(result.hosts[key] for result in failed for key in keys)


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
    """Trials for the frame loss rate (RFC 2544, 26.3), from the line rate down in steps of a tenth
    of the line rate, until two trials in a row have no loss. If a trial has no result, the series
    ends and the share of this trial is returned as well; the found rate stays valid. Raises
    ProbeError only if a pair left the search.
    """
    trials: list[TrialResult] = []
    for tenths in range(LOSS_STEPS, 0, -1):
        clock.sleep(runner.setup.settle_s)
        try:
            trials.append(runner.trial(Fraction(tenths, LOSS_STEPS), full=True))
        except ProbeError as fault:
            if fault.word == PAIR_GONE:
                raise
            return trials, Fraction(tenths, LOSS_STEPS)
        if [trial.lost for trial in trials[-2:]] == [0, 0]:
            break
    return trials, None
