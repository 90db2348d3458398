"""Which connections a target is asked of: streams of TCP one way, with what is known. Pure."""

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
    """TCP with buffers of one size from one host to another: its trials, and what they show."""

    samples: tuple[StreamSample, ...]
    asked_bytes: int | None
    """The socket buffer asked for; ``None``: the systems'."""
    buffers: BuffersInEffect
    segment_bytes: int | None
    """Payload of a packet, the least of all trials."""
    loss: PathLoss

    @property
    def best_bit_per_s(self) -> float:
        """The most that one of its trials came to."""
        return max(each.throughput_bit_per_s for each in self.samples)

    @property
    def trials(self) -> tuple[tuple[str, int], ...]:
        """Each once."""
        return trials_of(self.samples)

    @property
    def cells(self) -> tuple[str, ...]:
        """Each once."""
        return tuple(dict.fromkeys(each.cell for each in self.samples))


def one_ways(samples: Sequence[StreamSample], latest: Latest) -> Iterator[OneWay]:
    """One a pairing, direction and size of the socket buffers, over a cable; unpaced single streams
    of TCP that are not imported. Loss is that of all streams of the pairing in that direction.
    """
    segments = {key: n for key, n in _segments(samples, latest) if n is not None}
    ways: dict[tuple[str, str, str, str], list[StreamSample]] = {}
    for each in samples:
        if not each.imported and not each.same_host:
            key = (each.pairing, each.flow, each.sender.host, each.receiver.host)
            ways.setdefault(key, []).append(each)
    for of_way in ways.values():
        loss = path_loss(of_way, segments)
        for size, those in _by_buffer(of_way, latest).items():
            told = [_told(each, latest) for each in those]
            yield OneWay(
                samples=tuple(those),
                asked_bytes=size,
                buffers=_buffers(size, those, told),
                segment_bytes=_least(as_whole(each.get("sender_tcp_end_snd_mss")) for each in told),
                loss=loss,
            )


def _by_buffer(
    samples: Iterable[StreamSample], latest: Latest
) -> dict[int | None, list[StreamSample]]:
    found: dict[int | None, list[StreamSample]] = {}
    for each in samples:
        if each.protocol == "TCP" and each.streams == 1 and not each.paced:
            size = latest[each.cell, each.trial].settings.get("socket_buffer_bytes")
            found.setdefault(size if isinstance(size, int) else None, []).append(each)
    return found


def _buffers(
    size: int | None, samples: Sequence[StreamSample], told: Sequence[Mapping[str, Any]]
) -> BuffersInEffect:
    windows = [
        each.tcp.window_bytes
        for each in samples
        if each.tcp.window_bytes is not None and not each.queue_full_share
    ]
    options = [
        text.split(",")
        for each in told
        if isinstance(text := each.get("sender_tcp_end_options"), str) and text
    ]
    return BuffersInEffect(
        tuned=size is None,
        send_bytes=_least(each.send_buffer_bytes for each in samples),
        receive_bytes=_least(as_whole(each.get("receiver_receive_buffer_bytes")) for each in told),
        announced_bytes=max(windows, default=None),
        scaled=all("wscale" in each for each in options) if options else None,
    )


def _told(sample: StreamSample, latest: Latest) -> Mapping[str, Any]:
    """The values of one flow, by their names without its prefix."""
    prefix = PREFIXES[sample.flow]
    values = latest[sample.cell, sample.trial].values
    return {name[len(prefix) :]: v for name, v in values.items() if name.startswith(prefix)}


def _segments(
    samples: Iterable[StreamSample], latest: Latest
) -> Iterator[tuple[tuple[str, int, str], int | None]]:
    for each in samples:
        if each.protocol == "TCP":
            told = _told(each, latest)
            edges = [
                as_whole(told.get(f"sender_tcp_{at}_data_segs_out")) for at in ("begin", "end")
            ]
            sent = None if None in edges else (edges[1] or 0) - (edges[0] or 0)
            yield (each.cell, each.trial, each.flow), sent


def _least(values: Iterable[int | None]) -> int | None:
    return min((each for each in values if each is not None), default=None)
