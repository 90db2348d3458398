"""One TCP flow through one queue, made up: what its sender says of itself every 10 ms."""

from __future__ import annotations

from dataclasses import dataclass
from random import Random

from netlab.results.tcp_series import TcpSeries

MSS = 1448
STEP_US = 10_000


def chance(seed: int) -> Random:
    """Drawn numbers that come again."""
    return Random(seed)  # noqa: S311


@dataclass(frozen=True, slots=True)
class MadePath:
    """A bottleneck with a queue, and what goes wrong on it."""

    rate: float
    """Bytes a microsecond."""
    base_us: float
    """The round trip without a queue."""
    room: float
    """Bytes that the queue holds."""
    losses: float = 0.0
    """Of segments that are lost whatever the queue holds."""
    jitter_us: float = 0.0
    window: float = 1e12
    """What may be on its way at most (a socket's buffer)."""


def flow(path: MadePath, draw: Random, duration_us: int = 10_000_000) -> TcpSeries:
    """A flow whose window grows by a segment a round trip, and shrinks to 70 % by a loss."""
    cwnd, delivered, losses = 10.0 * MSS, 0.0, 0
    quiet_until = -1e9
    slow_start = True
    times, cwnds, rtts, retransmissions, bytes_ = [], [], [], [], []
    smoothed = path.base_us
    for now in range(-2_000_000, duration_us + 1, STEP_US):  # a warm-up before
        on_its_way = min(cwnd, path.window)
        queue_bytes = min(max(0.0, on_its_way - path.rate * path.base_us), path.room)
        rtt = path.base_us + queue_bytes / path.rate + abs(draw.gauss(0, path.jitter_us))
        smoothed += (rtt - smoothed) * min(1.0, STEP_US / rtt)
        rate = min(path.rate, on_its_way / path.base_us)
        if now >= 0:
            times.append(now)
            cwnds.append(int(cwnd))
            rtts.append(int(smoothed))
            retransmissions.append(losses)
            bytes_.append(int(delivered))
            delivered += rate * STEP_US
        full = on_its_way - path.rate * path.base_us > path.room
        chance = path.losses * rate * STEP_US / MSS
        if (full or draw.random() < chance) and now > quiet_until:
            cwnd, slow_start = max(2 * MSS, cwnd * 0.7), False
            quiet_until = now + rtt
            losses += 1 if now >= 0 else 0
        elif cwnd <= path.window:
            cwnd += (cwnd if slow_start else MSS) * STEP_US / rtt
    return TcpSeries(
        time_us=times,
        cwnd_bytes=cwnds,
        rtt_us=rtts,
        retransmissions=retransmissions,
        delivered_bytes=bytes_,
    )
