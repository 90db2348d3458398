"""How data arrive, made up: the bytes of equal times of a window of one second."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise
from random import Random
from typing import Any

from made_samples import losses_of, tcp, udp

from netlab.findings.derived import StreamSample
from netlab.trial.record import FlowValues

INTERVAL_NS = 10_000_000
MESSAGE = 1000


def measured(values: Sequence[float], call: float = MESSAGE, **more: Any) -> FlowValues:
    """``call``: mean bytes of a receive call. Another time, the incomplete last one, is added."""
    series = [*map(round, values), 1]
    total = sum(series)
    figures: dict[str, Any] = {
        "receiver_interval_ns": INTERVAL_NS,
        "receiver_interval_bytes": series,
        "receiver_received_bytes": total,
        "receiver_marks": total / call,
    }
    return FlowValues(figures | more, "")


def of_udp(
    values: Sequence[float], *, lost: float = 0.0, call: float = MESSAGE, **more: Any
) -> StreamSample:
    """A stream of messages, of which a share was lost."""
    sent = round(sum(values) / MESSAGE / (1 - lost))
    losses = losses_of(sent=sent, lost=round(sent * lost), receive_queue=0, local=0)
    return udp(
        **({"message_bytes": MESSAGE, "losses": losses} | more), measured=measured(values, call)
    )


def of_tcp(values: Sequence[float], *, call: float = MESSAGE, **more: Any) -> StreamSample:
    return tcp(**more, measured=measured(values, call))


def steady(each: float, number: int = 100, begin: float = 0.0) -> list[float]:
    """Bytes of messages at a constant rate: so many in each time, and a beat of one of them."""
    edges = [int(begin + each * at) for at in range(number + 1)]
    return [float(MESSAGE * (b - a)) for a, b in pairwise(edges)]


def lossy(random: Random, each: float, share: float, number: int = 100) -> list[float]:
    """The same, without a share of the messages that chance chose."""
    return [
        float(MESSAGE * sum(random.random() >= share for _ in range(round(value / MESSAGE))))
        for value in steady(each, number, random.random())
    ]


def paused(
    values: Sequence[float], begins: Sequence[int], lasts: int, *, kept: bool
) -> list[float]:
    """The same with pauses; ``kept``: what was held back arrives after it, else it is missing."""
    others = [*values]
    for begin in begins:
        held = sum(others[begin : begin + lasts])
        others[begin : begin + lasts] = [0.0] * lasts
        others[begin + lasts] += held * kept
    return others


def at_two_rates(
    values: Sequence[float], period: int, slow: int, depth: float, begin: int = 0
) -> list[float]:
    """The same with a lower rate in some of the times of each period."""
    return [value * (1 - depth * ((at + begin) % period < slow)) for at, value in enumerate(values)]
