"""Back-to-back frames: the longest burst at line rate that a device takes without loss (RFC 2544,
26.4), and what of it waited in the device (RFC 9004).
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Literal

from netlab.errors import ProbeError
from netlab.experiment.estimate import LEARN_S, LEAST_BURST_FRAMES, LONGEST_BURST_S
from netlab.experiment.records import Value
from netlab.experiment.trial_verdict import Counts
from netlab.measurement.rfc2544.offered_load import OfferedLoad, learn
from netlab.measurement.rfc2544.trial import TrialRunner
from netlab.stats import mean

AT_LINE_RATE = 0.99
"""A burst that went out more slowly than this share of the line rate is none."""

FIRST_BURST_S = 0.02
"""The first burst at line rate takes so long: a shorter one that our hosts are held up in for a
moment is too slow, and is sent only where a device takes no longer one.
"""

INVALID = 3
"""A burst that our own hosts spoil so often says nothing of the device."""

BurstOutcome = Literal["passed", "lost", "receiver-bound", "generator-bound", "failed"]
"""``failed``: the trial came to nothing."""


class _SpoiledError(Exception):
    """A burst says nothing of the device; ``args[0]`` is the outcome that says why."""


def back_to_back(runner: TrialRunner, times: int, found_share: float) -> dict[str, Value]:
    """The longest burst, searched for ``times`` times, and what became of it.

    ``found_share``: of the line rate, what the device forwards without loss; 0: not even the lowest
    rate. Forwarding all of it, it takes any burst: none is tried. Where our own hosts lose frames
    or cannot send so fast, nothing is known of the device beyond the searches that ended before.
    """
    if found_share >= 1:
        return {"back_to_back_limit": "line rate"}
    setup, line_per_s = runner.setup, runner.line.frames_per_s
    least = max(LEAST_BURST_FRAMES, setup.streams)
    first = max(least, round(FIRST_BURST_S * line_per_s))
    most = max(first, round(LONGEST_BURST_S * line_per_s))

    def passes(frames: int) -> bool:
        for _ in range(INVALID):
            outcome = _tried(runner, frames)
            if outcome in ("passed", "lost"):
                return outcome == "passed"
        raise _SpoiledError(outcome)

    found: list[int] = []
    try:
        learn(setup, runner.ends, OfferedLoad(most, line_per_s, LEARN_S), line_per_s)
        for _ in range(times):
            guess = found[-1] if found else 0
            found.append(longest(passes, least=least, first=first, most=most, guess=guess))
    except (_SpoiledError, ProbeError) as spoiled:
        if not found:
            outcome = spoiled.args[0] if isinstance(spoiled, _SpoiledError) else "failed"
            return {"back_to_back_limit": outcome}
    values: dict[str, Value] = {"back_to_back_each_frames": found}
    if min(found) == most:
        return values | {"back_to_back_limit": "line rate", "back_to_back_frames": float(most)}
    longest_mean = mean([float(frames) for frames in found])
    values |= {"back_to_back_limit": "device", "back_to_back_frames": longest_mean}
    # While a burst comes in, the device sends on: what waits in it is the rest (RFC 9004).
    return values | {"back_to_back_waiting_frames": longest_mean * (1 - found_share)}


def longest(
    passes: Callable[[int], bool], *, least: int, first: int, most: int, guess: int = 0
) -> int:
    """The most frames, from ``least`` to ``most``, for which ``passes``; 0 where none does.

    From the ``first`` on lengths are doubled until one does not pass, then halved in between; with
    a ``guess`` it and its neighbours come before. What is longer than one that failed is taken to
    fail.
    """
    passing, failing = least - 1, most + 1
    near = [each for each in (guess, guess + 1, guess - 1) if least <= each <= most and guess]
    while failing - passing > 1:
        unbounded = min(most, max(first, 2 * passing))
        between = unbounded if failing > most else (passing + failing) // 2
        at = next((each for each in near if passing < each < failing), between)
        if passes(at):
            passing = at
        else:
            failing = at
    return passing if passing >= least else 0


def _tried(runner: TrialRunner, frames: int) -> BurstOutcome:
    """One burst, and who lost frames of it, if any."""
    line_per_s = runner.line.frames_per_s
    load = OfferedLoad(frames, None if runner.link_paces else line_per_s, frames / line_per_s)
    try:
        return _outcome(runner.offer(load).accounts, line_per_s)
    except ProbeError:
        return "failed"


def _outcome(accounts: tuple[Counts, ...], line_per_s: float) -> BurstOutcome:
    slow = any((each.sent_per_s() or line_per_s) < AT_LINE_RATE * line_per_s for each in accounts)
    if any(counts.lost > counts.own_drops for counts in accounts):
        return "lost"
    if any(counts.lost for counts in accounts):
        return "receiver-bound"
    return "generator-bound" if slow else "passed"
