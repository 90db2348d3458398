"""One rate over several frame sizes: frames a second, or bits a second by some way to count. Pure.

A search tells a rate between two bounds: one that passed, and the next of its grid that did not.
Rates are the same where one figure lies between the bounds of every size.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

from netlab.ethernet import FCS_BYTES, GAP_BYTES, HEADER_BYTES, PREAMBLE_BYTES
from netlab.findings.searches.sample import SizeSample

SIZES, SPAN = 3, 4
"""Least frame sizes that share a rate, and the least factor that they lie apart."""

BELOW = 0.95
"""Each of them below so much of the line rate."""

SAME = 0.01
"""By what share the bounds of two sizes may miss each other: trials scatter."""

CLOSE_FRAMES, CLOSE_BITS = 0.10, 0.05
"""The bounds of three sizes at least may lie so far apart, as a share of the rate: with a coarser
grid any rates would do. Ways to count bits lie 4 % and more apart over a factor of four."""

ACCOUNTS: Mapping[str, int] = {
    "wire": PREAMBLE_BYTES + GAP_BYTES,
    "frames": 0,
    "frames-without-fcs": -FCS_BYTES,
    "packets": -FCS_BYTES - HEADER_BYTES,
}
"""Way to count the bytes of a frame → how many more it counts than the frame's size, in which
header and FCS are counted."""


@dataclass(frozen=True, slots=True)
class OneRate:
    """A rate that some sizes share."""

    sizes: tuple[SizeSample, ...]
    per_s: float
    """Frames or bits a second: the most that all of them show to pass at one of them."""
    accounts: tuple[str, ...] = ()
    """Of bits: each way to count by which it is one rate."""


def one_frame_rate(sizes: Sequence[SizeSample]) -> OneRate | None:
    """The longest run of neighbouring sizes with one frame rate; ``None`` where there is none."""
    return _longest_run(sizes, _frames)


def one_bit_rate(sizes: Sequence[SizeSample]) -> OneRate | None:
    """The longest run of neighbouring sizes with one rate in bit/s by some way to count."""
    return _longest_run(sizes, _bits)


def _longest_run(
    sizes: Sequence[SizeSample], rate_of: Callable[[tuple[SizeSample, ...]], OneRate | None]
) -> OneRate | None:
    runs = [
        rate
        for start in range(len(sizes))
        for end in range(start + SIZES, len(sizes) + 1)
        if sizes[end - 1].frame_bytes >= SPAN * sizes[start].frame_bytes
        and (rate := rate_of(tuple(sizes[start:end]))) is not None
    ]
    return max(runs, key=lambda rate: len(rate.sizes), default=None)


def _frames(sizes: tuple[SizeSample, ...]) -> OneRate | None:
    per_s = _common(sizes, lambda _: 1.0, CLOSE_FRAMES)
    return None if per_s is None else OneRate(sizes, per_s)


def _bits(sizes: tuple[SizeSample, ...]) -> OneRate | None:
    rates = {
        account: rate
        for account, more in ACCOUNTS.items()
        if (rate := _common(sizes, _bits_of(more), CLOSE_BITS)) is not None
    }
    if not rates:
        return None
    return OneRate(sizes, next(iter(rates.values())), tuple(rates))


def _bits_of(more_bytes: int) -> Callable[[int], float]:
    return lambda frame_bytes: 8.0 * (frame_bytes + more_bytes)


def _common(
    sizes: tuple[SizeSample, ...], weight: Callable[[int], float], close: float
) -> float | None:
    """What lies between the bounds of every size, each frame weighed by its size.

    Sizes of near bounds must show it by themselves; of the others nothing may speak against it.
    """
    bounds: dict[int, tuple[float, float]] = {}
    near: list[int] = []
    for size in sizes:
        low, high, line = size.per_s, size.upper_per_s, size.line_per_s
        if not low or high is None or not line or low >= BELOW * line:
            return None
        frame_weight = weight(size.frame_bytes)
        bounds[size.frame_bytes] = frame_weight * low, frame_weight * high
        near += [size.frame_bytes] if high <= (1 + close) * low else []
    if len(near) < SIZES or near[-1] < SPAN * near[0]:
        return None
    most_passed = max(low for low, _ in bounds.values())
    least_failed = min(high for _, high in bounds.values())
    if most_passed > (1 + SAME) * least_failed:
        return None
    return max(bounds[frame_bytes][0] for frame_bytes in near)
