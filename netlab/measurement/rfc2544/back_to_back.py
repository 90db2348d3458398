"""Back-to-back frames: the longest burst at line rate that a device takes without loss (RFC 2544,
26.4), and how many of its frames waited in the device (RFC 9004).
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Literal

from netlab.errors import ProbeError
from netlab.experiment.estimate import LEARN_S, LEAST_BURST_FRAMES, LONGEST_BURST_S
from netlab.experiment.rate_search import Counts
from netlab.experiment.records import Value
from netlab.measurement.rfc2544.offered_load import OfferedLoad, learn
from netlab.measurement.rfc2544.trial import TrialRunner
from netlab.stats import mean

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
    least = max(LEAST_BURST_FRAMES, setup.streams)
    first = max(least, round(FIRST_BURST_S * line_per_s))
    most = max(first, round(LONGEST_BURST_S * line_per_s))

    def passes(frames: int) -> bool:
        for _ in range(INVALID):
            outcome = _burst(runner, frames)
            if outcome in ("passed", "lost"):
                return outcome == "passed"
        raise _SpoiledError(outcome)

    bursts: list[int] = []
    try:
        learn(setup, runner.ends, OfferedLoad(most, line_per_s, LEARN_S), line_per_s)
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
        return _outcome(runner.offer(load).accounts, line_per_s)
    except ProbeError:
        return "failed"


def _outcome(accounts: tuple[Counts, ...], line_per_s: float) -> BurstOutcome:
    least_per_s = AT_LINE_RATE * line_per_s
    slow = any((counts.sent_per_s() or line_per_s) < least_per_s for counts in accounts)
    if any(counts.lost > counts.own_drops for counts in accounts):
        return "lost"
    if any(counts.lost for counts in accounts):
        return "receiver-bound"
    return "generator-bound" if slow else "passed"
