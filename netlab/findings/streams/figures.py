"""Figures: the evidence for each kind of finding about streams, as medians over trials. No I/O.

A trial is one execution of a test.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from operator import attrgetter
from statistics import median

from netlab.findings.finding import Kind
from netlab.findings.sample import StreamSample
from netlab.findings.streams.parts import cost_of
from netlab.findings.streams.path_limits import frames_per_s
from netlab.findings.traffic import way

_Figure = Callable[[StreamSample], float | int | None]

_SAME = (
    *("throughput_bit_per_s", "ceiling_bit_per_s", "ceiling_share", "highest_ceiling_bit_per_s"),
    *("offered_bit_per_s", "calls_per_s", "in_calls_share", "in_ordinary_calls_share"),
    *("queue_full_share", "window_limit_bit_per_s", "send_buffer_bytes", "lost_share"),
    *("path_mtu_bytes", "link_mtu_bytes", "useful_share"),
)
_OF_ENDS = ("run_queue_share", "throttled_share", "steal_share", "busiest_core_share")


def _others_bit_per_s(sample: StreamSample) -> float | None:
    traffic = sample.reported_others
    if traffic is not None:
        return traffic.bit_per_s
    framing = sample.framing
    return None if framing is None else sample.likely_others_share * framing.link_rate_bit_per_s


def _filled_share(sample: StreamSample) -> float | None:
    traffic = sample.reported_others
    if traffic is not None:
        return traffic.filled_share
    share = sample.ceiling_share
    return None if share is None else share + sample.likely_others_share


FIGURES: Mapping[str, _Figure] = {
    **{name: attrgetter(name) for name in _SAME},
    **{f"sender_{name}": attrgetter(f"sender.{name}") for name in _OF_ENDS},
    **{f"receiver_{name}": attrgetter(f"receiver.{name}") for name in _OF_ENDS},
    "send_call_median_ns": lambda sample: sample.call_percentile_ns(0.5),
    "send_call_p90_ns": lambda sample: sample.call_percentile_ns(0.9),
    "send_room_share": lambda sample: sample.room_share,
    "thread_share": lambda sample: sample.sender.thread_share,
    "receiver_thread_share": lambda sample: sample.receiver.thread_share,
    "rwnd_limited_share": lambda sample: sample.tcp_share(sample.tcp.rwnd_limited_us),
    "sndbuf_limited_share": lambda sample: sample.tcp_share(sample.tcp.sndbuf_limited_us),
    "cwnd_limited_share": lambda sample: sample.tcp_share(sample.cwnd_limited_us),
    "retransmissions": lambda sample: sample.tcp.retransmissions,
    "window_bytes": lambda sample: sample.tcp.window_bytes,
    "min_rtt_us": lambda sample: sample.tcp.min_rtt_us,
    "lost_messages": lambda sample: sample.losses.lost,
    "receive_queue_drops": lambda sample: sample.losses.receive_queue,
    "local_drops": lambda sample: sample.losses.local,
    "frames_per_s": frames_per_s,
    "other_bit_per_s": _others_bit_per_s,
    "link_filled_share": _filled_share,
}
"""Name of a figure, with its unit at the end → its value for one stream."""


_ALWAYS = ("throughput_bit_per_s", "ceiling_bit_per_s", "ceiling_share")


def evidence(kind: Kind, trials: Iterable[StreamSample]) -> dict[str, float | None]:
    """Medians over the trials; ``None`` for a figure that is missing in some trial."""
    samples = tuple(trials)
    medians: dict[str, float | None] = {}
    for name in (*_ALWAYS, *kind.figures):
        values = [FIGURES[name](sample) for sample in samples]
        known_values = [value for value in values if value is not None]
        medians[name] = (
            median(known_values) if known_values and len(known_values) == len(values) else None
        )
    if kind.limit is not None and kind.severity == "warning" and samples:
        medians["costs_share"] = median(cost_of(kind, sample) for sample in samples)
    return medians


def words(kind: Kind, trials: Iterable[StreamSample]) -> dict[str, str]:
    """Evidence that is not a number, if it is the same in all of these trials."""
    if kind is not Kind.OTHER_TRAFFIC:
        return {}
    traffic_of_trials = [sample.reported_others for sample in trials]
    places = {
        (traffic.host, traffic.receiving) for traffic in traffic_of_trials if traffic is not None
    }
    if len(places) != 1 or None in traffic_of_trials:
        return {}
    ((host, receiving),) = places
    return {"at_host": host, "way": way(receiving=receiving)}
