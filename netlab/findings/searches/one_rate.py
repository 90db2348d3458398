"""One rate over several frame sizes: in frames/s, or in bit/s by one way to count bytes.

A search tries rates of a grid and gives two bounds: the highest rate that passed, and the next rate
of the grid, which failed. Several sizes have the same rate if one value is between the bounds of
every size.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

from netlab.ethernet import FCS_BYTES, GAP_BYTES, HEADER_BYTES, PREAMBLE_BYTES
from netlab.findings.searches.sample import SizeSample

SIZES, SPAN = 3, 4
"""Minimum number of frame sizes that share a rate, and minimum ratio of the largest size to the
smallest."""

BELOW = 0.95
"""Each rate must be below this share of the line rate."""

SAME = 0.01
"""Maximum gap between the bounds of two sizes, as a share, that the scatter of trials explains."""

CLOSE_FRAMES, CLOSE_BITS = 0.10, 0.05
"""Maximum distance between two close bounds of a size, as a share of the rate: for a rate in
frames/s, and for a rate in bit/s. At least three sizes must have close bounds, because any rates
would agree with a coarser grid. If the sizes span a factor of four, rates by different ways to
count bits differ by at least 4 %."""

ACCOUNTS: Mapping[str, int] = {
    "wire": PREAMBLE_BYTES + GAP_BYTES,
    "frames": 0,
    "frames-without-fcs": -FCS_BYTES,
    "packets": -FCS_BYTES - HEADER_BYTES,
}
"""Way to count the bytes of a frame → its bytes beyond the frame size (with header and FCS)."""


@dataclass(frozen=True, slots=True)
class OneRate:
    """A rate that several frame sizes share."""

    sizes: tuple[SizeSample, ...]
    per_s: float
    """Frames/s or bit/s: the highest rate that passed at a size with close bounds."""
    accounts: tuple[str, ...] = ()
    """For bits: every way to count bytes by which the sizes have one rate."""


def one_frame_rate(sizes: Sequence[SizeSample]) -> OneRate | None:
    """The longest run of neighbouring sizes with one frame rate; ``None`` if there is none."""
    return _longest_run(sizes, _frames)


def one_bit_rate(sizes: Sequence[SizeSample]) -> OneRate | None:
    """The longest run of neighbouring sizes with one bit rate; ``None`` if there is none."""
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
    """The rate that is between the bounds of every size; ``None`` if there is none.

    Each frame counts with the weight of its size: 1 for frames/s, its bits for bit/s. The sizes
    with close bounds must show the rate by themselves; the other sizes must not contradict it.
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
