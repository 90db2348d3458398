"""The TCP streams that are compared with a target, by direction and socket buffer.

A target, stated in the matrix, is a rate that TCP should reach over a round trip longer than the
measured one.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from netlab.experiment.records import PREFIXES, Record, as_whole
from netlab.findings.distance.losses import PathLoss, path_loss
from netlab.findings.distance.windows import BuffersInEffect
from netlab.findings.sample import StreamSample
from netlab.findings.streams.trial_counts import trials_of

Latest = Mapping[tuple[str, int], Record]


@dataclass(frozen=True, slots=True, kw_only=True)
class OneWay:
    """The trials of TCP from one host to another with one socket buffer size, with evidence."""

    samples: tuple[StreamSample, ...]
    asked_bytes: int | None
    """The requested socket buffer; ``None``: none was requested, and the systems choose it."""
    buffers: BuffersInEffect
    segment_bytes: int | None
    """Payload per packet; the smallest value of all trials."""
    loss: PathLoss

    @property
    def best_bit_per_s(self) -> float:
        """The highest throughput of the trials."""
        return max(sample.throughput_bit_per_s for sample in self.samples)

    @property
    def trials(self) -> tuple[tuple[str, int], ...]:
        """(cell, trial) of each trial, once."""
        return trials_of(self.samples)

    @property
    def cells(self) -> tuple[str, ...]:
        """The key of each cell, once."""
        return tuple(dict.fromkeys(sample.cell for sample in self.samples))


def one_ways(samples: Sequence[StreamSample], latest: Latest) -> Iterator[OneWay]:
    """Every combination of pairing, direction and socket buffer size, over a cable.

    Only trials with one TCP stream that is neither paced nor imported count. The loss, however, is
    counted over all streams of the pairing in that direction, including UDP.
    """
    segments = {key: n for key, n in _segments(samples, latest) if n is not None}
    ways: dict[tuple[str, str, str, str], list[StreamSample]] = {}
    for sample in samples:
        if not sample.imported and not sample.same_host:
            key = (sample.pairing, sample.flow, sample.sender.host, sample.receiver.host)
            ways.setdefault(key, []).append(sample)
    for of_way in ways.values():
        loss = path_loss(of_way, segments)
        for size, samples_of_size in _by_buffer(of_way, latest).items():
            values = [_values(sample, latest) for sample in samples_of_size]
            yield OneWay(
                samples=tuple(samples_of_size),
                asked_bytes=size,
                buffers=_buffers(size, samples_of_size, values),
                segment_bytes=_least(
                    as_whole(flow.get("sender_tcp_end_snd_mss")) for flow in values
                ),
                loss=loss,
            )


def _by_buffer(
    samples: Iterable[StreamSample], latest: Latest
) -> dict[int | None, list[StreamSample]]:
    by_size: dict[int | None, list[StreamSample]] = {}
    for sample in samples:
        if sample.protocol == "TCP" and sample.streams == 1 and not sample.paced:
            size = latest[sample.cell, sample.trial].settings.get("socket_buffer_bytes")
            by_size.setdefault(size if isinstance(size, int) else None, []).append(sample)
    return by_size


def _buffers(
    size: int | None, samples: Sequence[StreamSample], values: Sequence[Mapping[str, Any]]
) -> BuffersInEffect:
    windows = [
        sample.tcp.window_bytes
        for sample in samples
        if sample.tcp.window_bytes is not None and not sample.queue_full_share
    ]
    options = [
        text.split(",")
        for flow in values
        if isinstance(text := flow.get("sender_tcp_end_options"), str) and text
    ]
    return BuffersInEffect(
        auto_tuning=size is None,
        send_bytes=_least(sample.send_buffer_bytes for sample in samples),
        receive_bytes=_least(
            as_whole(flow.get("receiver_receive_buffer_bytes")) for flow in values
        ),
        announced_bytes=max(windows, default=None),
        window_scaling=all("wscale" in names for names in options) if options else None,
    )


def _values(sample: StreamSample, latest: Latest) -> Mapping[str, Any]:
    """The values of one flow (direction of data), by their names without the flow's prefix."""
    prefix = PREFIXES[sample.flow]
    values = latest[sample.cell, sample.trial].values
    return {name[len(prefix) :]: v for name, v in values.items() if name.startswith(prefix)}


def _segments(
    samples: Iterable[StreamSample], latest: Latest
) -> Iterator[tuple[tuple[str, int, str], int | None]]:
    for sample in samples:
        if sample.protocol == "TCP":
            values = _values(sample, latest)
            edges = [
                as_whole(values.get(f"sender_tcp_{at}_data_segs_out")) for at in ("begin", "end")
            ]
            segment_count = None if None in edges else (edges[1] or 0) - (edges[0] or 0)
            yield (sample.cell, sample.trial, sample.flow), segment_count


def _least(values: Iterable[int | None]) -> int | None:
    return min((value for value in values if value is not None), default=None)
