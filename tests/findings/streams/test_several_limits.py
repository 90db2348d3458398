"""A UDP stream with several limits: what its sender held back, what was lost, and where."""

from __future__ import annotations

from random import Random
from typing import Any

import pytest
from drawn_causes import STATED, framing, stream
from draws import chance, seeds
from made_samples import CEILING, IDLE, NONE_DROPPED, SECOND_NS, changed, losses_of, udp

from netlab.findings.derived import StreamSample
from netlab.findings.finding import Kind
from netlab.findings.limits import limits

SHARES = (0.0, 0.02, 0.1, 0.2, 0.4)
OF_PLACES = {
    "sending": {Kind.CPU_BOUND_SENDER},
    "path": {Kind.LOSS_LIMIT_PATH},
    "receiving": {Kind.LOSS_LIMIT_SOCKET, Kind.CPU_WAIT_RECEIVER_PROGRAMS},
}
WHOLE = round(CEILING / 8 / 1472)
"""Messages that the wire carries in the window of one second."""


def drawn(random: Random) -> dict[str, float]:
    """Stage → the share of what reaches it that it holds back."""
    return {stage: random.choice(SHARES) for stage in OF_PLACES}


def made(held_back: dict[str, float], *, starved: bool = False) -> StreamSample:
    sent = round((1 - held_back["sending"]) * WHOLE)
    on_path = round(held_back["path"] * sent)
    in_socket = round(held_back["receiving"] * (sent - on_path))
    arrived = sent - on_path - in_socket
    ends: dict[str, Any] = {}
    if held_back["sending"]:
        ends["sender"] = changed(IDLE, thread_ns=0.99 * SECOND_NS, run_queue_delay_ns=0)
    if starved:
        ends["receiver"] = changed(IDLE, run_queue_delay_ns=SECOND_NS // 2)
    return udp(
        sent=sent,
        throughput_bit_per_s=arrived * 8 * 1472.0,
        losses=losses_of(sent=sent, lost=sent - arrived, receive_queue=in_socket, local=0),
        drops=NONE_DROPPED,
        packets_a_message=1,
        **ends,
    )


def found(*samples: StreamSample) -> dict[Kind, float]:
    """Kind of each limit → its cost."""
    return {limit.kind: limit.evidence.get("costs_share", 0.0) for limit in limits(samples)}


@pytest.mark.parametrize("seed", seeds(200, 4000))
def test_each_stage_that_holds_back_a_tenth_is_named_with_its_own_cost(seed: int) -> None:
    held_back = drawn(chance(seed))
    costs = found(made(held_back))
    left = 1.0
    for stage, kinds in OF_PLACES.items():
        cost, left = left * held_back[stage], left * (1 - held_back[stage])
        named = kinds & {*costs}
        if cost >= 0.06:
            assert named, (held_back, costs)
        for kind in named:
            assert costs[kind] == pytest.approx(cost, abs=0.002), (held_back, costs)
    assert {*costs} <= {Kind.WIRE_CEILING, Kind.NOT_DETERMINED}.union(*OF_PLACES.values())


def test_a_receiver_without_a_cpu_is_the_cause_of_what_its_socket_drops_beside_loss() -> None:
    held_back = {"sending": 0.0, "path": 0.4, "receiving": 0.2}
    costs = found(made(held_back, starved=True))
    assert {*costs} == {Kind.LOSS_LIMIT_PATH, Kind.CPU_WAIT_RECEIVER_PROGRAMS}


def test_one_limit_of_a_stream_has_no_other_beside_it() -> None:
    for stage in OF_PLACES:
        held_back = dict.fromkeys(OF_PLACES, 0.0) | {stage: 0.3}
        assert len(found(made(held_back))) == 1, stage


# ---- a rate, and loss at any load ----------------------------------------------------------------


def crossing(trial: int, offered: float, rate: float, lost: float) -> StreamSample:
    """A stream with an offered rate, over a path with a limit and random loss behind it: shares."""
    sent = round(min(1.0, offered) * WHOLE)
    arrived = round((1 - lost) * min(sent, rate * WHOLE))
    return stream(
        *("UDP", 1472, trial, arrived * 8 * 1472.0),
        cell=f"at {offered}",
        offered_bit_per_s=offered * CEILING,
        calls=sent,
        losses=losses_of(sent=sent, lost=sent - arrived, receive_queue=0, local=0),
        drops=NONE_DROPPED,
        packets_a_message=1,
        sender=changed(IDLE, host="b"),
        receiver=changed(IDLE, host="a"),
    )


@pytest.mark.parametrize("lost", [0.0, 0.1, 0.4])
@pytest.mark.parametrize("rate", [1.0, 0.9, 0.6])
def test_a_rate_is_told_from_loss_at_any_load_by_a_lower_offered_rate(
    rate: float, lost: float
) -> None:
    samples = [crossing(n, at, rate, lost) for n in (1, 2, 3) for at in (0.4, 1.2)]
    found_limits = {limit.kind: limit for limit in limits(samples)}
    assert (Kind.RATE_LIMIT_EITHER in found_limits) is (rate < 1), found_limits
    assert (Kind.LOSS_LIMIT_PATH in found_limits) is (lost > 0)
    if rate < 1:
        its = found_limits[Kind.RATE_LIMIT_EITHER].evidence
        assert its["rate_limit_bit_per_s"] == pytest.approx(rate * 1e8, rel=0.005)
        assert its["costs_share"] == pytest.approx(1 - rate, abs=0.005)
    if lost:
        cells = {"at 0.4"} if rate < 1 else {"at 0.4", "at 1.2"}
        assert {*found_limits[Kind.LOSS_LIMIT_PATH].cells} == cells


def test_without_a_lower_offered_rate_loss_of_one_column_is_loss_on_the_path() -> None:
    samples = [crossing(n, 1.2, 0.6, 0.1) for n in (1, 2, 3)]
    assert {limit.kind for limit in limits(samples)} == {Kind.LOSS_LIMIT_PATH}


# ---- a rate in some trials -----------------------------------------------------------------------


@pytest.mark.parametrize("seed", seeds(60, 1500))
def test_a_rate_that_limits_some_trials_of_all_cells_is_told_with_these_trials(seed: int) -> None:
    random = chance(seed)
    sizes = random.sample([512, 900, 1200, 1472], random.randint(1, 3))
    numbers = frozenset(random.sample(range(1, 5), random.randint(1, 3)))
    is_same = random.random() < 0.7
    rate = random.choice((0.9, 0.6))

    def of(size: int, number: int) -> StreamSample:
        # Another cause has another rate in each trial.
        share = rate if is_same else random.uniform(0.5, 0.9)
        share = share if number in numbers else 1.0
        bit_per_s = share * framing("UDP", size).ceiling_share * STATED * random.uniform(0.9995, 1)
        ends = {"sender": changed(IDLE, host="b"), "receiver": changed(IDLE, host="a")}
        return stream("UDP", size, number, bit_per_s, **ends)

    warned = [
        limit
        for limit in limits([of(size, number) for number in (1, 2, 3, 4) for size in sizes])
        if limit.kind.severity == "warning"
    ]
    if is_same and len(numbers) * len(sizes) >= 3:
        (limit,) = warned
        assert {number for _cell, number in limit.trials} == numbers
        assert limit.evidence["rate_limit_bit_per_s"] == pytest.approx(rate * 1e8, rel=0.005)
        assert limit.evidence["of_trials"] == 4 * len(sizes)
    else:
        assert warned == []
