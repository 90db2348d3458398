"""Round trips during a load: how long frames take through a loaded device (RFC 2544, 26.2).

RFC 2544 marks one frame of the load, and takes the times when it is sent and when it arrives. Here
requests of the same length are sent in addition to the load, and a mirror (a program that answers
requests) at the other end answers them. The round trip is measured by the clock of the asking end.
Requests and load together have the rate of the trial. About one frame in a hundred is a request. At
low rates the share is higher: 48 requests per second, but no more than one frame in five. At high
rates the share is lower: there are at most 962 requests per second. If the load goes one way, the
answers come back over an almost idle path.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

from netlab import clock
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
"""Share of requests among the frames: about one in a hundred, up to one in five at low rates. The
shares are not round numbers: otherwise every request would be sent at the same point between two
load frames."""

LEAST_REQUESTS_PER_S = 48.09
MOST_REQUESTS_PER_S = 961.8

TIMEOUT_S = 1.0

P99 = Fraction(99, 100)


@dataclass(frozen=True, slots=True)
class LatencyAtLoad:
    """The round trips at one load."""

    share: float
    """The load as a share of the found rate (the result of the throughput search)."""
    asked: Mapping[str, Any]
    """Result of the asking probe."""
    lost_frames: int | None
    """Lost frames of the load, both ways together; ``None``: unknown."""


def device_latency(runner: TrialRunner, found_per_s: float) -> dict[str, Value]:
    """Values of round trips at the found rate (``found_per_s`` frames/s each way) and below it.

    A load at which no round trip was completed is listed as failed and has no other values.
    """
    latencies: list[LatencyAtLoad] = []
    failed: list[float] = []
    for share in LATENCY_LOAD_SHARES:
        clock.sleep(runner.setup.settle_s)
        runner.participant.meet(None)
        try:
            latencies.append(_at(runner, share, share * found_per_s))
        except ProbeError:
            failed.append(share)
    return values_of(latencies, failed)


def values_of(latencies: Sequence[LatencyAtLoad], failed: Sequence[float]) -> dict[str, Value]:
    """Lists with one entry per load. A percentile is left out if a load had too few round trips."""
    values: dict[str, Value] = {}
    if failed:
        values["latency_failed_share"] = list(failed)
    if not latencies:
        return values
    histograms = [
        from_pairs(at_load.asked["rtt_histogram"], at_load.asked["rtt_histogram_bits"])
        for at_load in latencies
    ]
    results = [at_load.asked for at_load in latencies]
    values |= {
        "latency_found_share": [at_load.share for at_load in latencies],
        "latency_count": [int(result["rtt_count"]) for result in results],
        "latency_lost_requests": [int(result["lost_messages"]) for result in results],
        "latency_min_ns": [int(result["rtt_min_ns"]) for result in results],
        "latency_mean_ns": [float(result["rtt_mean_ns"]) for result in results],
        "latency_max_ns": [int(result["rtt_max_ns"]) for result in results],
    }
    losses = [at_load.lost_frames for at_load in latencies if at_load.lost_frames is not None]
    if len(losses) == len(latencies):
        values["latency_lost_frames"] = losses
    for name, share in (("p50", Fraction(1, 2)), ("p99", P99)):
        percentiles = [histogram.percentile(share) for histogram in histograms]
        known_percentiles = [percentile for percentile in percentiles if percentile is not None]
        if len(known_percentiles) == len(percentiles):
            values[f"latency_{name}_ns"] = known_percentiles
    return values


def _at(runner: TrialRunner, share: float, per_s: float) -> LatencyAtLoad:
    """Measure round trips at ``per_s`` frames/s; ProbeError if no round trip is completed."""
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
    of_asker = exchange.asker.result or {}
    if not of_asker.get("rtt_count"):
        detail = "no request was answered under load"
        raise ProbeError(runner.ends.client.host.name, "no-answer", detail=detail)
    results = [flow.receiver.result or {} for flow in flows]
    losses = [int(result["lost_messages"]) for result in results if "lost_messages" in result]
    return LatencyAtLoad(share, of_asker, sum(losses) if len(losses) == len(flows) else None)


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
        warm_up_s=AROUND_S,
        timeout_s=TIMEOUT_S,
    )
    return exchange_of(asking, runner.ends, within_s=lives_s(setup, duration_s) + TIMEOUT_S)
