"""Random runs with a known cause: the result of each trial follows from the cause."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import pairwise
from random import Random
from typing import Any

from made_samples import ACCOUNT, IDLE, SECOND_NS, changed, losses_of, tcp, udp

from netlab.ethernet import fragments
from netlab.findings.derived import StreamSample
from netlab.findings.finding import Kind
from netlab.findings.link_limits import APART
from netlab.findings.rates import Accounting, Framing
from netlab.findings.stream_limits import ON_WIRE

STATED = 1e8
TIMESTAMPS = (1500,)
SIZES = (128, 256, 512, 1024, 1472, 4096)


@dataclass(frozen=True)
class DrawnRun:
    """The streams of one run, and the warnings that are right about it, each with its trials."""

    cause: str
    samples: tuple[StreamSample, ...]
    right: frozenset[Kind]
    trials: int
    """The number of trials of the right warning."""


Drawn = Callable[[Random], DrawnRun]


def framing(protocol: str, size: int) -> Framing:
    payload = 1448 if protocol == "TCP" else size
    packets = TIMESTAMPS if protocol == "TCP" else fragments(size, mtu_bytes=1500)
    return Framing(payload_bytes=payload, packets=packets, vlan=False, link_rate_bit_per_s=STATED)


def stream(protocol: str, size: int, trial: int, throughput: float, **changes: Any) -> StreamSample:
    frames = framing(protocol, size)
    sent_count = throughput / (8 * size) / (1 - changes.pop("lost_share", 0.0))
    lost_count = round(sent_count - throughput / (8 * size))
    defaults: dict[str, Any] = {
        "cell": f"{protocol}-{size}",
        "trial": trial,
        "message_bytes": size,
        "throughput_bit_per_s": throughput,
        "ceiling_bit_per_s": STATED * frames.ceiling_share,
        "highest_ceiling_bit_per_s": STATED * frames.ceiling_share,
        "calls": round(sent_count),
        "framing": frames,
        "packets_a_message": len(frames.packets) if protocol == "UDP" else None,
    }
    if protocol == "UDP":
        defaults["losses"] = losses_of(
            sent=round(sent_count), lost=lost_count, receive_queue=0, local=0
        )
        return udp(**(defaults | changes))
    return tcp(**(defaults | changes))


def waiting(random: Random, most: float) -> dict[str, Any]:
    """Both ends without a CPU for some of the time, as on a busy machine; the threads wait for the
    wire anyway."""
    delays = [round(SECOND_NS * random.uniform(0, most)) for _ in range(2)]
    return {
        "sender": changed(IDLE, host="b", run_queue_delay_ns=delays[0]),
        "receiver": changed(IDLE, host="a", run_queue_delay_ns=delays[1]),
    }


def columns(random: Random) -> list[tuple[str, int]]:
    """TCP, UDP of one or several sizes, or both."""
    sizes = random.sample(SIZES, random.choice((1, 1, 3, 5)))
    protocols = random.choice(("TCP", "UDP", "both"))
    of_tcp = [("TCP", 1448)] if protocols != "UDP" else []
    return of_tcp + ([("UDP", size) for size in sizes] if protocols != "TCP" else [])


def at_rate(
    random: Random,
    share: float,
    accounting: Accounting,
    cells: Sequence[tuple[str, int]],
    longest_wait: float = 0.12,
) -> Iterator[StreamSample]:
    for protocol, size in cells:
        frames = framing(protocol, size)
        least = min(
            share * STATED / frames.counted_bytes(accounting),
            STATED / frames.counted_bytes(Accounting.WIRE),
        )
        for trial in range(1, 4):
            noise = 1 - random.uniform(0, 0.002)
            rate = noise * frames.payload_bytes * least
            yield stream(protocol, size, trial, rate, **waiting(random, longest_wait))


def clean(random: Random) -> DrawnRun:
    samples = at_rate(random, random.uniform(0.985, 1.0), Accounting.WIRE, columns(random))
    return DrawnRun("none", tuple(samples), frozenset(), 0)


def slower_link(random: Random) -> DrawnRun:
    """One column whose trials wait as long as the link costs may as well be of waits: its waits are
    shorter.
    """
    share = random.uniform(0.12, 0.95)
    cells = columns(random)
    longest_wait = min(0.12, 1 - share) if len(cells) == 1 else 0.12
    samples = tuple(at_rate(random, share, Accounting.WIRE, cells, longest_wait))
    right = {Kind.RATE_LIMIT_LINK, Kind.RATE_LIMIT_EITHER}
    return DrawnRun("slower link", samples, frozenset(right), len(samples))


def apart(random: Random, number: int) -> list[int]:
    """Sizes of any length whose wire ceilings differ enough to tell what a shaper counts."""
    while True:
        sizes = sorted(random.sample(range(64, 1473), number))
        shares = [framing("UDP", size).ceiling_share for size in sizes]
        if all(b >= (1 + APART) * a for a, b in pairwise(shares)):
            return sizes


def a_shaper(random: Random) -> DrawnRun:
    accounting = random.choice((Accounting.HEADED, Accounting.PACKET))
    cells = [("UDP", size) for size in apart(random, random.choice((3, 4)))]
    samples = tuple(at_rate(random, random.uniform(0.1, 0.6), accounting, cells))
    if random.random() < 0.5:  # the sender fills the wire, and the shaper drops the rest
        samples = tuple(
            stream("UDP", it.message_bytes, it.trial, it.throughput_bit_per_s, lost_share=lost)
            for it in samples
            for lost in [1 - random.uniform(0.998, 1.0) * (it.ceiling_share or 0)]
        )
    return DrawnRun("rate-limit/shaper", samples, frozenset({Kind.RATE_LIMIT_SHAPER}), len(samples))


def a_shaper_of_two_ceilings(random: Random) -> DrawnRun:
    """A cause that these few columns do not show."""
    cells = [("UDP", random.choice((256, 512))), ("UDP", random.choice((1024, 1472)))]
    samples = at_rate(random, random.uniform(0.1, 0.6), Accounting.PACKET, cells)
    return DrawnRun("shaper of two ceilings", tuple(samples), frozenset(), 0)


def starved(end: str) -> Drawn:
    def drawn(random: Random) -> DrawnRun:
        trials = random.choice((3, 5))
        number = random.randint(1, trials)
        samples = []
        for trial in range(1, trials + 1):
            w = random.uniform(0.1, 0.6) if trial <= number else random.uniform(0, 0.04)
            share = (1 - w if trial <= number else 1.0) * random.uniform(0.985, 1.0)
            waits = changed(IDLE, host=end, run_queue_delay_ns=round(w * SECOND_NS))
            costs_us = round(w * random.uniform(0.7, 1) * 1e6)
            account = changed(ACCOUNT, busy_us=1_000_000 - costs_us)
            if end == "receiver":
                account = changed(ACCOUNT, busy_us=1_000_000, rwnd_limited_us=costs_us)
            rate = share * STATED * framing("TCP", 1448).ceiling_share
            samples.append(stream("TCP", 1448, trial, rate, tcp=account, **{end: waits}))
        random.shuffle(samples)
        kind = Kind.CPU_WAIT_SENDER_PROGRAMS if end == "sender" else Kind.CPU_WAIT_RECEIVER_PROGRAMS
        return DrawnRun(f"{end} starved", tuple(samples), frozenset({kind}), number)

    return drawn


def random_loss(random: Random) -> DrawnRun:
    """Each frame is lost with the same probability; a message is lost with any of its frames."""
    p = random.uniform(0.06, 0.5)
    samples = []
    for size in random.sample(SIZES, random.choice((1, 3, 4))):
        frames = framing("UDP", size)
        for trial in range(1, 4):
            loss_share = 1 - (1 - p) ** len(frames.packets) + random.gauss(0, 0.003)
            rate = STATED * frames.ceiling_share * (1 - loss_share)
            samples.append(stream("UDP", size, trial, rate, lost_share=loss_share))
    for trial in range(1, 4):
        rate = random.uniform(0.01, 0.3) * STATED
        account = changed(ACCOUNT, retransmissions=round(p * rate / 12_000), rtt_us=300)
        samples.append(stream("TCP", 1448, trial, rate, tcp=account))
    return DrawnRun("random loss", tuple(samples), frozenset({Kind.LOSS_LIMIT_PATH}), 0)


def short_queue(random: Random) -> DrawnRun:
    level = random.uniform(0.3, 0.9)
    samples = []
    for trial in range(1, 6):
        rate = level * random.uniform(0.97, 1.0) * STATED * 0.9415
        account = changed(ACCOUNT, retransmissions=random.randint(50, 500), rtt_us=900)
        samples.append(stream("TCP", 1448, trial, rate, tcp=account, **waiting(random, 0.04)))
    return DrawnRun("short queue", tuple(samples), frozenset(), 0)


def packets_a_second(random: Random) -> DrawnRun:
    limit = random.uniform(2_000, 7_000)
    samples = []
    for size in (128, 256, 512, 1024):
        for trial in range(1, 4):
            rate = limit * random.uniform(0.995, 1) * size * 8
            samples.append(stream("UDP", size, trial, rate, **waiting(random, 0.04)))
    return DrawnRun("packets a second", tuple(samples), frozenset(), 0)


def unsteady(random: Random) -> DrawnRun:
    """A cause that no record shows, and that differs each time."""
    level = random.uniform(0.3, 0.9)
    samples = []
    for protocol, size in columns(random):
        for trial in range(1, 6):
            rate = level * random.uniform(0.9, 1.0) * STATED * framing(protocol, size).ceiling_share
            samples.append(stream(protocol, size, trial, rate, **waiting(random, 0.02)))
    return DrawnRun("not recorded", tuple(samples), frozenset(), 0)


def evenly(cause: str, right: Kind | None, evidence: Callable[[float], dict[str, Any]]) -> Drawn:
    """All trials at one share of the wire, as behind a slower link, but for a recorded reason."""

    def drawn(random: Random) -> DrawnRun:
        lacks = random.uniform(0.05, 0.5)
        samples = [
            changed(sample, **evidence(random.uniform(0.97, 1.0) * lacks))
            for sample in at_rate(random, 1 - lacks, Accounting.WIRE, columns(random))
        ]
        kinds = frozenset() if right is None else frozenset({right})
        return DrawnRun(cause, tuple(samples), kinds, len(samples))

    return drawn


def shared_slower_link(random: Random) -> DrawnRun:
    """Others and the stream together do not fill the stated link."""
    limit, others_share = random.uniform(0.5, 0.9), random.uniform(0.05, 0.4)
    samples = [
        changed(sample, likely_others_share=others_share * random.uniform(0.999, 1.0))
        for sample in at_rate(
            random, limit - others_share * ON_WIRE, Accounting.WIRE, columns(random)
        )
    ]
    kinds = frozenset({Kind.OTHER_TRAFFIC, Kind.RATE_LIMIT_EITHER, Kind.RATE_LIMIT_LINK})
    return DrawnRun("slower link, shared", tuple(samples), kinds, len(samples))


def robbed(share: float) -> dict[str, Any]:
    ready = round(share * SECOND_NS)
    stream_end = changed(
        IDLE, steal_share=share, run_queue_delay_ns=ready, thread_ns=SECOND_NS - ready
    )
    return {"sender": changed(stream_end, host="b"), "receiver": changed(stream_end, host="a")}


def stated_too_low(random: Random) -> DrawnRun:
    """Another rule reports it: there is no limit to name."""
    above = random.uniform(1.03, 3.0)
    samples = [
        changed(sample, throughput_bit_per_s=above * sample.throughput_bit_per_s)
        for sample in at_rate(random, 1.0, Accounting.WIRE, columns(random))
    ]
    return DrawnRun("stated too low", tuple(samples), frozenset(), 0)


def some_packets(name: str, *, slow: bool = True) -> Drawn:
    """Only packets with one value of a setting are slow, in all cells; or none is, in a run of the
    same matrix.
    """

    def drawn(random: Random) -> DrawnRun:
        share, samples = random.uniform(0.12, 0.9), list[StreamSample]()
        sizes = random.sample(SIZES, 2)
        other = name if name in ("ip_version", "dscp") else random.choice(("ip_version", "dscp"))
        values = (4, 6) if other == "ip_version" else random.choice(((0, 46), (0, 10, 46)))
        cells: list[dict[str, Any]] = [
            {"protocol": protocol, "message_bytes": size, other: value}
            for protocol, size in (("TCP", 1448), ("UDP", sizes[0]), ("UDP", sizes[1]))
            for value in values
        ]
        chosen = random.choice([cell[name] for cell in cells])
        for cell in cells:
            is_slow = slow and cell[name] == chosen
            part = share if is_slow else random.uniform(0.985, 1.0)
            key = (str(cell["protocol"]), int(cell["message_bytes"]))
            for sample in at_rate(random, part, Accounting.WIRE, [key]):
                record = replace(sample.record, settings=cell)
                of_cell = f"{sample.cell} {cell[other]}"
                samples.append(changed(sample, record=record, cell=of_cell))
        right = {Kind.RATE_LIMIT_LINK, Kind.RATE_LIMIT_EITHER} if slow else set()
        number = 3 * sum(cell[name] == chosen for cell in cells)
        cause = f"{'slower' if slow else 'none'}, by {name}"
        return DrawnRun(cause, tuple(samples), frozenset(right), number)

    return drawn


CAUSES: tuple[Drawn, ...] = (
    *(
        clean,
        slower_link,
        a_shaper,
        a_shaper_of_two_ceilings,
        starved("sender"),
        starved("receiver"),
    ),
    *(random_loss, short_queue, packets_a_second, unsteady, stated_too_low),
    evenly("stolen evenly", Kind.CPU_WAIT_STEAL, robbed),
    evenly("data stopped", None, lambda share: {"stopped_share": share}),
    evenly("others", Kind.OTHER_TRAFFIC, lambda share: {"likely_others_share": share}),
    shared_slower_link,
    *map(some_packets, ("ip_version", "dscp", "protocol", "message_bytes")),
    some_packets("dscp", slow=False),
)
