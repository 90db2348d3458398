"""Round trips beside a load: how long frames take through a device that has work (RFC 2544, 26.2).

The standard marks one frame of the load and stamps it twice. Here requests of the same length go
beside the load, a mirror at the other end answers each, and the round trip is timed by the clock
that asked: requests and load together are the rate named, one request among a hundred frames and
48 a second, where that is no more than one in five.
Where the load goes one way, the answers come back over a path that has next to nothing to carry.
"""

from __future__ import annotations

import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

from netlab.errors import ProbeError
from netlab.ethernet import udp_message_in_frame
from netlab.experiment.estimate import AROUND_S, LATENCY_LOAD_SHARES
from netlab.experiment.kinds import RoundTrip
from netlab.experiment.records import Value
from netlab.measurement.conversation import Conversation, drive
from netlab.measurement.rfc2544.offered_load import OfferedLoad, flows_of, learn, lives_s
from netlab.measurement.rfc2544.trial import TrialRunner
from netlab.measurement.round_trips.exchange import Exchange, exchange_of
from netlab.stats.histogram import from_pairs

REQUEST_SHARE = 0.01 * 0.9618
MOST_REQUEST_SHARE = 0.2 * 0.9618
"""Of the frames, how many are requests: about one in a hundred; more where these are few. No round
numbers, or every request would meet the load at the same place between two of its frames."""

LEAST_REQUESTS_PER_S = 48.09
MOST_REQUESTS_PER_S = 961.8

TIMEOUT_S = 1.0

P99 = Fraction(99, 100)


@dataclass(frozen=True, slots=True)
class LatencyAtLoad:
    """The round trips at one load."""

    share: float
    """Of the rate found."""
    asked: Mapping[str, Any]
    """What the probe that asks said."""
    lost_frames: int | None
    """Of the load beside it, both ways together; ``None``: not known."""


def device_latency(runner: TrialRunner, found_per_s: float) -> dict[str, Value]:
    """Round trips at the rate found, ``found_per_s`` frames a second each way, and at parts of it.

    A load at which no round trip came to an end is named as failed, and has no figures.
    """
    measured: list[LatencyAtLoad] = []
    failed: list[float] = []
    for share in LATENCY_LOAD_SHARES:
        time.sleep(runner.setup.settle_s)
        runner.participant.meet(None)
        try:
            measured.append(_at(runner, share, share * found_per_s))
        except ProbeError:
            failed.append(share)
    return values_of(measured, failed)


def values_of(measured: Sequence[LatencyAtLoad], failed: Sequence[float]) -> dict[str, Value]:
    """Lists with a place a load; a percentile that so few round trips do not have is left out."""
    values: dict[str, Value] = {}
    if failed:
        values["latency_failed_share"] = list(failed)
    if not measured:
        return values
    histograms = [
        from_pairs(each.asked["rtt_histogram"], each.asked["rtt_histogram_bits"])
        for each in measured
    ]
    values |= {
        "latency_found_share": [each.share for each in measured],
        "latency_count": [int(each.asked["rtt_count"]) for each in measured],
        "latency_lost_requests": [int(each.asked["lost_messages"]) for each in measured],
        "latency_min_ns": [int(each.asked["rtt_min_ns"]) for each in measured],
        "latency_mean_ns": [float(each.asked["rtt_mean_ns"]) for each in measured],
        "latency_max_ns": [int(each.asked["rtt_max_ns"]) for each in measured],
    }
    lost = [each.lost_frames for each in measured if each.lost_frames is not None]
    if len(lost) == len(measured):
        values["latency_lost_frames"] = lost
    for name, share in (("p50", Fraction(1, 2)), ("p99", P99)):
        found = [histogram.percentile(share) for histogram in histograms]
        known = [each for each in found if each is not None]
        if len(known) == len(found):
            values[f"latency_{name}_ns"] = known
    return values


def _at(runner: TrialRunner, share: float, per_s: float) -> LatencyAtLoad:
    """Round trips at so many frames a second; ProbeError where none came to an end."""
    setup = runner.setup
    requests_per_s = requests_of(per_s)
    load_per_s = per_s - requests_per_s
    duration_s = setup.duration_s or 0.0
    frames = max(2, setup.streams, round(load_per_s * (duration_s + 2 * AROUND_S)))
    load = OfferedLoad(frames, load_per_s, frames / load_per_s)
    learn(setup, runner.ends, load, runner.line.frames_per_s)
    exchange = _exchange(runner, requests_per_s, duration_s)
    flows = flows_of(setup, runner.ends, load, residual_s=setup.residual_s)
    together: list[Conversation] = [*flows, exchange]
    drive(together, lives_s(setup, load.duration_s), runner.on_progress)
    asked = exchange.asker.result or {}
    if not asked.get("rtt_count"):
        raise ProbeError(runner.ends.client.host.name, "no-answer", detail="under load")
    said = [flow.receiver.result or {} for flow in flows]
    lost = [int(each["lost_messages"]) for each in said if "lost_messages" in each]
    return LatencyAtLoad(share, asked, sum(lost) if len(lost) == len(flows) else None)


def requests_of(per_s: float) -> float:
    """Requests a second among so many frames."""
    wanted = max(LEAST_REQUESTS_PER_S, REQUEST_SHARE * per_s)
    return min(MOST_REQUESTS_PER_S, MOST_REQUEST_SHARE * per_s, wanted)


def _exchange(runner: TrialRunner, requests_per_s: float, duration_s: float) -> Exchange:
    setup = runner.setup
    asking = RoundTrip(
        # Round trips wait for one another, and fill no buffer: the systems' own do.
        **setup.passed_on(RoundTrip, but={"duration_s", "socket_buffer_bytes"}),
        message_bytes=udp_message_in_frame(setup.frame_bytes, ip_version=setup.ip_version),
        message_rate_per_s=requests_per_s,
        duration_s=duration_s,
        warm_up_s=AROUND_S,
        timeout_s=TIMEOUT_S,
    )
    return exchange_of(asking, runner.ends, within_s=lives_s(setup, duration_s) + TIMEOUT_S)
