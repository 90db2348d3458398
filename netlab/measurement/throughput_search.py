"""The test ``throughput_search``: the highest rate that a device forwards without loss (RFC 2544).

``rate_search.py`` chooses the rates, ``search_trial.py`` measures one load of frames. If requested,
loss at tenths of the line rate, latency (26.2) and back-to-back frames (26.4, RFC 9004) follow.
RFC 2544 times one marked frame of the load. Here requests of the same length are sent in addition:
about one frame in a hundred, 48 to 962 a second, and no more than one frame in five. If the load
goes one way, the answers come back over an almost idle path.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from fractions import Fraction
from typing import Any, Literal

from netlab import clock
from netlab.errors import ProbeError
from netlab.ethernet import udp_message_in_frame
from netlab.experiment.schedule import Trial
from netlab.kinds import RoundTrip, ThroughputSearch
from netlab.kinds.throughput_search import settings
from netlab.kinds.throughput_search.rate_search import (
    VERDICTS,
    NextRate,
    RateGrid,
    Search,
    SearchResult,
    TryVerdict,
)
from netlab.measurement import search_trial
from netlab.measurement.conversation import Conversation, drive
from netlab.measurement.ends import PAIR_GONE, Ends, OnGoodput, alone
from netlab.measurement.host_watch import WHOSE, share_a_machine
from netlab.measurement.round_trip import Exchange, exchange_of
from netlab.measurement.search_trial import LineRate, OfferedLoad, TrialResult, TrialRunner
from netlab.measurement.stream import SENDERS
from netlab.stats import mean
from netlab.stats.histogram import from_pairs
from netlab.trial.host_counters import PLACES, WAYS, Watched, busiest
from netlab.trial.record import Value
from netlab.units import format_share

AT_LINE_RATE = 0.99
"""Minimum rate of a burst, as a share of the line rate; a slower burst does not count."""
FIRST_BURST_S = 0.02
"""Duration of the first burst. A short delay in our own hosts makes a shorter burst too slow, so
shorter bursts are sent only if no longer burst passes the device without loss."""
INVALID = 3
"""Maximum number of attempts at a burst that fails because of our own hosts. If the last attempt
fails too, nothing is known about the device."""

BurstOutcome = Literal["passed", "lost", "receiver-bound", "generator-bound", "failed"]
"""``passed`` and ``lost``: the device passed or lost the burst; ``receiver-bound``: our receiver
lost frames; ``generator-bound``: our sender was too slow; ``failed``: the trial has no result."""


class _SpoiledError(Exception):
    """A burst without a result for the device; ``args[0]`` is its outcome."""


def back_to_back(runner: TrialRunner, times: int, found_share: float) -> dict[str, Value]:
    """Values of the longest burst, which is searched ``times`` times.

    ``found_share``: the share of the line rate that the device forwards without loss; 0 if it does
    not forward even the lowest rate without loss. A device that forwards the full line rate takes
    any burst, so no burst is tried. If our own hosts lose frames or send too slowly, the search
    stops, and only the searches that were complete before count.
    """
    if found_share >= 1:
        return {"back_to_back_limit": "line rate"}
    setup, line_per_s = runner.setup, runner.line.frames_per_s
    least = max(settings.LEAST_BURST_FRAMES, setup.streams)
    first = max(least, round(FIRST_BURST_S * line_per_s))
    most = max(first, round(settings.LONGEST_BURST_S * line_per_s))

    def passes(frames: int) -> bool:
        for _ in range(INVALID):
            outcome = _burst(runner, frames)
            if outcome in ("passed", "lost"):
                return outcome == "passed"
        raise _SpoiledError(outcome)

    bursts: list[int] = []
    try:
        runner.learn(OfferedLoad(most, line_per_s, settings.LEARN_S))
        for _ in range(times):
            guess = bursts[-1] if bursts else 0
            bursts.append(longest(passes, least=least, first=first, most=most, guess=guess))
    except (_SpoiledError, ProbeError) as error:
        if not bursts:
            outcome = error.args[0] if isinstance(error, _SpoiledError) else "failed"
            return {"back_to_back_limit": outcome}
    values: dict[str, Value] = {"back_to_back_each_frames": bursts}
    if min(bursts) == most:
        return values | {"back_to_back_limit": "line rate", "back_to_back_frames": float(most)}
    longest_mean = mean([float(frames) for frames in bursts])
    values |= {"back_to_back_limit": "device", "back_to_back_frames": longest_mean}
    # The device forwards frames while a burst arrives; only the rest waits in it (RFC 9004).
    return values | {"back_to_back_waiting_frames": longest_mean * (1 - found_share)}


def longest(
    passes: Callable[[int], bool], *, least: int, first: int, most: int, guess: int = 0
) -> int:
    """The largest number of frames from ``least`` to ``most`` that passes; 0 if no number passes.

    The number starts at ``first`` and is doubled until a burst does not pass; then a bisection
    follows. If there is a ``guess``, the guess and the numbers next to it are tried first. A burst
    that is longer than a failed burst is assumed to fail.
    """
    passing, failing = least - 1, most + 1
    near = [size for size in (guess, guess + 1, guess - 1) if least <= size <= most and guess]
    while failing - passing > 1:
        unbounded = min(most, max(first, 2 * passing))
        between = unbounded if failing > most else (passing + failing) // 2
        frames = next((size for size in near if passing < size < failing), between)
        if passes(frames):
            passing = frames
        else:
            failing = frames
    return passing if passing >= least else 0


def _burst(runner: TrialRunner, frames: int) -> BurstOutcome:
    """Send one burst and return its outcome."""
    line_per_s = runner.line.frames_per_s
    load = OfferedLoad(frames, None if runner.link_paces else line_per_s, frames / line_per_s)
    try:
        accounts = runner.offer(load).accounts
    except ProbeError:
        return "failed"
    if any(counts.lost > counts.own_drops for counts in accounts):
        return "lost"
    if any(counts.lost for counts in accounts):
        return "receiver-bound"
    least_per_s = AT_LINE_RATE * line_per_s
    slow = any((counts.sent_per_s() or line_per_s) < least_per_s for counts in accounts)
    return "generator-bound" if slow else "passed"


REQUEST_SHARE = 0.01 * 0.9618
MOST_REQUEST_SHARE = 0.2 * 0.9618
"""Share of requests among the frames: about one in a hundred, up to one in five at low rates. The
shares are not round numbers: otherwise every request would be sent at the same point between two
load frames."""

LEAST_REQUESTS_PER_S = 48.09
MOST_REQUESTS_PER_S = 961.8

TIMEOUT_S = 1.0


def device_latency(runner: TrialRunner, found_per_s: float) -> dict[str, Value]:
    """Values of round trips at the found rate (``found_per_s`` frames/s each way) and below it.

    A load at which no round trip was completed is listed as failed and has no other values.
    """
    latencies: list[Mapping[str, float | None]] = []
    failed: list[float] = []
    for share in settings.LATENCY_LOAD_SHARES:
        clock.sleep(runner.setup.settle_s)
        runner.participant.meet(None)
        try:
            latencies.append(_at(runner, share, share * found_per_s))
        except ProbeError:
            failed.append(share)
    return latency_values(latencies, failed)


def latency_values(
    latencies: Sequence[Mapping[str, float | None]], failed: Sequence[float]
) -> dict[str, Value]:
    """Lists with one entry per load; without those of which a load has no value."""
    values: dict[str, Value] = {"latency_failed_share": list(failed)} if failed else {}
    for name in latencies[0] if latencies else ():
        of_loads: Any = [at_load[name] for at_load in latencies]
        if None not in of_loads:
            values[f"latency_{name}"] = of_loads
    return values


def latency_at(
    share: float, asked: Mapping[str, Any], lost_frames: int | None
) -> dict[str, float | None]:
    """The round trips at one load, a ``share`` of the found rate; ``None``: unknown, as a
    percentile of too few round trips. ``lost_frames``: of the load, both ways together.
    """
    histogram = from_pairs(asked["rtt_histogram"], asked["rtt_histogram_bits"])
    return {
        "found_share": share,
        "count": int(asked["rtt_count"]),
        "lost_requests": int(asked["lost_messages"]),
        "min_ns": int(asked["rtt_min_ns"]),
        "mean_ns": float(asked["rtt_mean_ns"]),
        "max_ns": int(asked["rtt_max_ns"]),
        "lost_frames": lost_frames,
        "p50_ns": histogram.percentile(Fraction(1, 2)),
        "p99_ns": histogram.percentile(Fraction(99, 100)),
    }


def _at(runner: TrialRunner, share: float, per_s: float) -> dict[str, float | None]:
    """Measure round trips at ``per_s`` frames/s; ProbeError if no round trip is completed."""
    setup = runner.setup
    requests_per_s = requests_of(per_s)
    load_per_s = per_s - requests_per_s
    duration_s = setup.duration_s or 0.0
    frames = max(2, setup.streams, round(load_per_s * (duration_s + 2 * settings.AROUND_S)))
    load = OfferedLoad(frames, load_per_s, frames / load_per_s)
    runner.learn(load)
    exchange = _exchange(runner, requests_per_s, duration_s)
    flows = search_trial.flows_of(setup, runner.ends, load, residual_s=setup.residual_s)
    together: list[Conversation] = [*flows, exchange]
    drive(together, search_trial.lives_s(setup, load.duration_s), runner.on_progress)
    of_asker = exchange.asker.result or {}
    if not of_asker.get("rtt_count"):
        detail = "no request was answered under load"
        raise ProbeError(runner.ends.client.host.name, "no-answer", detail=detail)
    results = [flow.receiver.result or {} for flow in flows]
    losses = [int(result["lost_messages"]) for result in results if "lost_messages" in result]
    return latency_at(share, of_asker, sum(losses) if len(losses) == len(flows) else None)


def requests_of(per_s: float) -> float:
    """Requests per second among ``per_s`` frames per second."""
    target_per_s = max(LEAST_REQUESTS_PER_S, REQUEST_SHARE * per_s)
    return min(MOST_REQUESTS_PER_S, MOST_REQUEST_SHARE * per_s, target_per_s)


def _exchange(runner: TrialRunner, requests_per_s: float, duration_s: float) -> Exchange:
    setup = runner.setup
    asking = RoundTrip(
        # Round trips fill no buffer: the default buffers are enough.
        **setup.passed_on(RoundTrip, but={"duration_s", "socket_buffer_bytes"}),
        message_bytes=udp_message_in_frame(setup.frame_bytes, ip_version=setup.ip_version),
        message_rate_per_s=requests_per_s,
        duration_s=duration_s,
        warm_up_s=settings.AROUND_S,
        timeout_s=TIMEOUT_S,
    )
    return exchange_of(
        asking, runner.ends, within_s=search_trial.lives_s(setup, duration_s) + TIMEOUT_S
    )


def of_tries(prefix: str, line_per_s: float, trials: Sequence[TrialResult]) -> dict[str, Value]:
    """Lists with an entry for each trial, in the order of the trials. Counts of frames are sums
    over both directions. ``queue_ns`` is the queue of the direction that has the longer queue.
    """
    of_trials = [trial.own.accounts for trial in trials]
    values: dict[str, Value] = {
        "line_share": [float(trial.share) for trial in trials],
        "duration_s": [trial.load.duration_s for trial in trials],
        "sent_frames": [sum(a.sent for a in accounts) for accounts in of_trials],
        "received_frames": [sum(a.received for a in accounts) for accounts in of_trials],
        "own_drops": [sum(a.own_drops for a in accounts) for accounts in of_trials],
        "queue_ns": [max(a.queue_ns(line_per_s) for a in accounts) for accounts in of_trials],
        "verdict": [VERDICTS.index(trial.verdict) for trial in trials],
    }
    return {prefix + name: value for name, value in values.items()}


def of_hosts(
    trials: Sequence[TrialResult], confirming: Sequence[TrialResult], ends: Ends
) -> dict[str, Value]:
    """For each host: its CPU load, its dropped frames, and the pause frames of its interfaces.

    The CPU load is that of the last of the ``confirming`` trials (the trials that passed at the
    rate that the search found). The load of the busiest core is also listed for every trial.
    """
    agents = [ends.client, ends.agent_of_server, *ends.observed]
    values: dict[str, Value] = {"one_machine": share_a_machine(agents)}
    for key, first in trials[0].own.hosts.items():
        hosts = [trial.own.hosts[key] for trial in trials]
        if key not in WHOSE:
            values[f"{key}_host"] = first.name
        confirming_cpus = (trial.own.hosts[key].cpu for trial in reversed(confirming))
        last_cpu = next(filter(None, confirming_cpus), None)
        if last_cpu is not None:
            values[f"{key}_busy_share"] = last_cpu.busy_share
            values[f"{key}_busiest_core_share"] = last_cpu.busiest_core_share
            values[f"{key}_busiest_core"] = last_cpu.busiest_core
        known_cpus = [host.cpu for host in hosts if host.cpu is not None]
        if len(known_cpus) == len(trials):
            busy = [cpu.busiest_core_share for cpu in known_cpus]
            values[f"trial_{key}_busiest_core_share"] = busy
        # One disturbed trial can change the result of a search, so the worst value is kept.
        stolen = [cpu.steal_share for cpu in known_cpus if cpu.steal_share is not None]
        if stolen:
            values[f"{key}_host_steal_share"] = max(stolen)
        for place in PLACES:
            drops = [host.dropped.get(place) for host in hosts]
            values |= _counts(f"{key}_{place}_dropped_frames", drops)
        for way in WAYS:
            pauses = [host.pauses.get(way) for host in hosts]
            values |= _counts(f"{key}_pause_frames_{way}", pauses)
    return values


def _counts(name: str, by_trial: Sequence[int | None]) -> dict[str, Value]:
    """The sum of the counts, and their list if the sum is not 0; nothing if a count is missing."""
    frame_counts = [frames for frames in by_trial if frames is not None]
    if not frame_counts or len(frame_counts) < len(by_trial):
        return {}
    every: dict[str, Value] = {f"trial_{name}": frame_counts} if any(frame_counts) else {}
    return {name: sum(frame_counts), **every}


def values_of(trial: Trial, ends: Ends, live: OnGoodput) -> dict[str, Value]:
    """The values of a search; ProbeError if the measuring hosts limited every trial."""
    setup = trial.cell.setup
    assert isinstance(setup, ThroughputSearch)  # noqa: S101  (for the type checker)
    line = search_trial.line_of(setup, ends)
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
    cpu = None if limiting is None else limiting.cpu
    if result.number is None and result.limit != "device":
        lowest = format_share(float(grid.share(1)))
        detail = f"{result.limit} at every rate tried, down to {lowest} of the line rate"
        if limiting is not None and cpu is not None:
            busy = f"{100 * cpu.busiest_core_share:.0f} %"
            detail += f"; busiest core: CPU {cpu.busiest_core} of {limiting.name}, {busy}"
        raise ProbeError(ends.client.host.name, "tester-bound", detail=detail)
    values = _of_result(result, grid, line, trials) | of_tries("trial_", line.frames_per_s, trials)
    values |= of_hosts(trials, _confirming(result, grid, trials), ends)
    if limiting is not None and cpu is not None:
        values |= {"limit_host": limiting.name, "limit_core": cpu.busiest_core}
        values["limit_core_share"] = cpu.busiest_core_share
    values |= trials[-1].own.effective
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
        if known_rates := [rate for rate in rates if rate is not None]:
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
    it; ``None``: unknown. A device can be the result only if it is an observed host.
    """
    senders = tuple(SENDERS[setup.direction].values())
    receivers = WHOSE if len(senders) > 1 else tuple(end for end in WHOSE if end not in senders)
    observed = tuple(key for key in trials[0].own.hosts if key not in WHOSE)
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


def _losses(runner: TrialRunner) -> tuple[list[TrialResult], Fraction | None]:
    """Trials for the frame loss rate (RFC 2544, 26.3), from the line rate down in steps of a tenth
    of the line rate, until two trials in a row have no loss. If a trial has no result, the series
    ends and the share of this trial is returned as well; the found rate stays valid. Raises
    ProbeError only if a pair left the search.
    """
    trials: list[TrialResult] = []
    for tenths in range(settings.LOSS_STEPS, 0, -1):
        clock.sleep(runner.setup.settle_s)
        try:
            trials.append(runner.trial(Fraction(tenths, settings.LOSS_STEPS), full=True))
        except ProbeError as fault:
            if fault.word == PAIR_GONE:
                raise
            return trials, Fraction(tenths, settings.LOSS_STEPS)
        if [trial.lost for trial in trials[-2:]] == [0, 0]:
            break
    return trials, None
