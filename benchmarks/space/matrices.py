"""Draws the matrix and the lab of a run, and says which of its cells the cause acts on. No I/O."""

from __future__ import annotations

import json
import random
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from benchmarks.space.rows import Row
from benchmarks.space.words import Words

RATES = (10e6, 20e6, 50e6, 100e6)
HEALTHY_RATES = (*RATES, 200e6, 500e6, 1e9, None)
"""``None``: unshaped, so CPUs are the limit. These have no forwarder, but the lab's switch."""
MTUS = (1500, 1500, 1500, 576, 1280, 9000)
LEAST_IPV6_MTU = 1280
FAR_MS = 10.0
"""Delay of each way where a share of the round trip is planted: a round trip has 20 ms."""
UNSCALED_BYTES, PAYLOAD = 65535, 0.94
"""The largest window of TCP that is not scaled, and the share of a cable's rate that is payload."""
CONTROLS = ("cubic", "cubic", "cubic", "reno", "bbr")
EXPEDITED = 46
UDP_HEADERS, UDP6_HEADERS = 28, 48
IN_HOSTS = ("quota", "stops")
"""These need buffers that hold a few milliseconds: 64 KiB are 4 ms at 100 Mbit/s."""
SENDER_CPU, RECEIVER_CPU = 1, 0
PINNED = {"client_cpu": SENDER_CPU, "server_cpu": RECEIVER_CPU}
TIMEOUT = "100ms"
"""When a request is lost: some round trips of the longest path."""
BELOW_LIMITS, ABOVE_LINK = 0.4, 1.2
"""Offered rates of a mixture, as shares of the cable's rate."""
FAST_ENOUGH = 0.7
"""Where copies are made, or packets held, what is offered leaves room for them: it is so much of
the cable's rate. Else what was added would wait before the cable, and be lost there."""
AT_ONCE = 16
"""Requests that wait at once, where one alone would wait for what is lost, or overtake nothing."""
LEAST_AT_ONCE, MOST_AT_ONCE, QUEUED_S = 8, 64, 0.02
"""Requests that fill a slower way back, but do not wait in it for long."""
MOST_TRIPS_BIT_PER_S = 50e6
"""Small requests do not fill a faster way."""
USUAL_MTU = 1500
IN_TURNS_S = 1.2
"""A window in which what comes and goes is there for whole turns."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Stand:
    """The lab of a run, and its matrix."""

    rate_bit_per_s: float | None = 100e6
    mtu: int = 1500
    far_ms: float = 0.0
    """Delay of each way with and without the cause."""
    tests: tuple[Mapping[str, Any], ...]
    repeats: int = 3
    seconds: float = 0.6
    warm_up_s: float = 0.2
    forwarder: bool = True
    """Whether the forwarder is between the hosts, or the lab's switch."""
    foreign_cpu: bool = False
    """Whether a foreign program takes a fifth of each CPU."""
    acts_on: Mapping[str, Any] = field(default_factory=dict)
    """Setting of a cell → the value with which the cause acts on it; empty: all cells."""

    def matrix(self, title: str, seed: int) -> str:
        """The whole matrix, as YAML."""
        head: dict[str, Any] = {"title": title}
        if self.rate_bit_per_s is not None:
            head["link"] = {"rate": round(self.rate_bit_per_s), "mtu": self.mtu}
        lasts = {"duration": f"{self.seconds:g}s", "warm_up": f"{self.warm_up_s:g}s"}
        tests = [
            dict(test) if "count" in test or "duration" in test else {**test, **lasts}
            for test in self.tests
        ]
        rest = {
            "pairings": ["linux-a+linux-b"],
            "repeats": self.repeats,
            "order": "shuffled",
            "seed": seed,
            "tests": tests,
        }
        lines = [f"{name}: {json.dumps(value)}\n" for name, value in (head | rest).items()]
        return "".join(lines)

    def acts(self, settings: Mapping[str, Any]) -> bool:
        """Whether the cause acts on a cell with these settings."""
        return all(settings.get(name) == value for name, value in self.acts_on.items())

    @property
    def message_bytes(self) -> int:
        """The longest message."""
        return max(_one(test.get("message_size", 0)) for test in self.tests)

    @property
    def streams(self) -> int:
        """The most streams that send at once."""
        return max(int(test.get("streams", 1)) for test in self.tests)

    @property
    def floods(self) -> bool:
        """Whether those on whom the cause acts offer as much as they can, whatever arrives."""
        return all(
            test["test"] == "stream" and self.acts_on.get("protocol", test.get("protocol")) == "UDP"
            for test in self.tests
        )

    @property
    def full_bytes(self) -> int:
        """The largest datagram's payload that both IP versions carry in one packet."""
        return self.mtu - UDP6_HEADERS


def stand_of(row: Row, words: Words, chance: random.Random) -> Stand:
    """The lab and matrix of a run with one cause."""
    mtu = _mtu(row, words, chance)
    full = mtu - UDP6_HEADERS
    repeats = 3 if words.when in ("always", "periodic", "bursts", "begin") else 4
    begins, in_turns = words.when == "begin", words.when in ("periodic", "bursts")
    far = words.what in ("delay", "jitter") or row.planter in ("scaling", "memory")
    test, acts_on = _test(row, words, full, chance)
    rate = chance.choice(RATES)
    if row.planter in ("quota", "stops", "memory", "scaling") or far:
        rate = 50e6 if row.planter == "memory" else 100e6
    if row.planter == "scaling":
        rate = UNSCALED_BYTES * 8 / (2 * FAR_MS / 1e3) / PAYLOAD / (1 - words.share)
    if words.what == "pause" and words.which == "acknowledgements":
        rate = 100e6  # the buffers hold less than the pause lasts
    if row.name == "path-back rate" and test["test"] == "round_trip":
        rate = min(rate, MOST_TRIPS_BIT_PER_S)
        waiting = QUEUED_S * rate * (1 - words.share) / 8 / mtu
        test["outstanding"] = min(max(round(waiting), LEAST_AT_ONCE), MOST_AT_ONCE)
    if "rate" in test:
        test["rate"] = round(test["rate"] * rate)
    slow = row.planter in ("scaling", "memory")
    return Stand(
        rate_bit_per_s=rate,
        mtu=mtu,
        far_ms=FAR_MS if far else 0.0,
        tests=(test,),
        repeats=1 if test["test"] in ("throughput_search", "latency_under_load") else repeats,
        seconds=IN_TURNS_S if in_turns else 1.0 if begins or slow else 0.6,
        # A server counts the requests of a warm-up, too.
        warm_up_s=0.0 if begins or test["test"] == "round_trip" else 1.0 if slow else 0.2,
        acts_on=acts_on,
    )


def _mtu(row: Row, words: Words, chance: random.Random) -> int:
    if words.which == "fragments" or row.planter not in ("forwarder", "cable"):
        return 1500
    if words.what == "length" and words.which == "family":
        return 9000  # IPv6 needs 1280 bytes everywhere
    # Many at once must not wait for as long as a lost one does, nor what is late for a whole turn;
    # and what a limit takes of a turn is more than the one frame that waits.
    is_in_turns = words.when in ("periodic", "bursts")
    if _has_trips(row, words) or words.what == "order" or (words.what == "rate" and is_in_turns):
        least = LEAST_IPV6_MTU if words.which == "family" else 0
        return chance.choice([mtu for mtu in MTUS if least <= mtu <= USUAL_MTU])
    if words.what in ("length", "copies") or words.which == "length":
        return chance.choice((1500, 9000))
    if words.which == "family":
        return chance.choice([mtu for mtu in MTUS if mtu >= LEAST_IPV6_MTU])
    return chance.choice(MTUS)


def _test(
    row: Row, words: Words, full: int, chance: random.Random
) -> tuple[dict[str, Any], dict[str, Any]]:
    """One test of a matrix, and the settings of the cells that the cause acts on."""
    trips = _has_trips(row, words)
    protocol = _protocol(row, words, trips, chance)
    test: dict[str, Any] = {"test": "stream", "protocol": protocol}
    if trips:
        test = {"test": "round_trip", "protocol": protocol}
    test["message_size"] = min(1448, full) if protocol == "TCP" else full
    acts_on: dict[str, Any] = {}
    if words.which == "protocol":
        acted = "TCP" if words.what == "length" else chance.choice(_acted(words))
        test["protocol"], acts_on["protocol"] = ["TCP", "UDP"], acted
    elif words.which == "family":
        test["ip"], acts_on["ip_version"] = [4, 6], chance.choice((4, 6))
        acts_on = {"ip_version": 6} if words.what == "length" else acts_on
    elif words.which == "length":
        test["message_size"], acts_on["message_bytes"] = [full // 3, full], full
    elif words.which == "class":
        test["dscp"], acts_on["dscp"] = [0, EXPEDITED], chance.choice((0, EXPEDITED))
    elif words.which == "port":
        test["streams"] = 4
    elif words.which == "direction":
        directions = ["client-sends", "server-sends"]
        test["direction"], acts_on["direction"] = directions, "client-sends"
    elif words.which == "fragments":
        test["message_size"], acts_on["message_bytes"] = [full, 2 * full], 2 * full
    else:
        _vary(test, words, chance)
    if test["protocol"] != "UDP":
        test["congestion"] = chance.choice(CONTROLS)
    if trips and test["protocol"] != "TCP":
        test["timeout"] = TIMEOUT
    _fit(test, row, words, chance)
    return test, acts_on


def _acted(words: Words) -> tuple[str, ...]:
    """The protocols of which one alone may be acted on: TCP does not outlast much loss."""
    return ("UDP",) if _loses(words) else ("TCP", "UDP")


def _loses(words: Words) -> bool:
    """Whether packets of a stream are lost, so that TCP would tell of that alone."""
    is_in_turns = words.when in ("periodic", "bursts")
    return words.what in ("drops", "corruption") or (words.what == "rate" and is_in_turns)


def _has_trips(row: Row, words: Words) -> bool:
    """Whether round trips are measured: they are what a delay, or the way back, acts on."""
    if words.which == "acknowledgements" or row.planter != "forwarder":
        return False
    return words.where == "path-back" or words.what in ("delay", "jitter")


def _protocol(row: Row, words: Words, trips: bool, chance: random.Random) -> Any:
    if words.which == "acknowledgements" or row.planter in ("scaling", "memory"):
        return "TCP"
    if words.which in ("length", "fragments") or row.planter in ("queue", "mtu"):
        return "UDP"
    if words.what in ("drops", "corruption") or row.name == "device rate":
        return "UDP"
    if _loses(words) and not trips:
        return "UDP"
    if words.which == "port" and words.what in ("order", "copies"):
        return "UDP"  # TCP's counters are those of the first stream
    both = ["TCP", "UDP"] if words.which == "all" and not trips else []
    return chance.choice([*("TCP", "UDP"), *([both] if both else [])])


def _vary(test: dict[str, Any], words: Words, chance: random.Random) -> None:
    """What a matrix may have besides, where no axis shows which packets are acted on."""
    if test["test"] == "stream":
        test["streams"] = chance.choice((1, 1, 2))
        is_one_length = words.what in ("copies", "pause", "setting") or (
            words.where == "sender-queue" and words.what == "drops"
        )
        if test["protocol"] == "UDP" and not is_one_length:
            full = test["message_size"]
            test["message_size"] = chance.choice((full, [full // 2, full]))
    if words.which == "all" and chance.random() < 0.3:
        test["dscp"] = chance.choice((EXPEDITED, 8))


def _fit(test: dict[str, Any], row: Row, words: Words, chance: random.Random) -> None:
    """What the cause needs so that it has its effect: buffers, an offered rate, many requests."""
    if row.planter in IN_HOSTS:
        test |= {"socket_buffer": "64KiB", **PINNED, "streams": 1}
    elif (words.what in ("delay", "jitter") and test["test"] == "stream") or words.what == "pause":
        test["socket_buffer"] = "64KiB"
    elif test["test"] == "stream" and row.planter == "forwarder" and words.what != "rate":
        test["socket_buffer"] = chance.choice(("auto", "256KiB"))
    if words.what == "copies" and words.where == "path":
        test["rate"] = FAST_ENOUGH / (1 + words.share)
    if words.what == "pause" and words.when != "begin" and _is_held_there(test, row, words):
        test["rate"] = FAST_ENOUGH * (1 - words.share)
    if row.planter in ("scaling", "memory"):
        test["streams"] = 1
    if row.planter == "queue":
        test |= {"rate": 0.957 / (1 - words.share), "streams": 1}
    if row.name == "device rate":
        test |= {"streams": 1, "message_size": _one(test["message_size"])}
    if test["test"] == "round_trip" and words.what in ("drops", "corruption", "order"):
        test["outstanding"] = AT_ONCE
    if (row.name, words.which, words.when) == ("path rate", "all", "always"):
        _other_kind(test, chance)


def _is_held_there(test: Mapping[str, Any], row: Row, words: Words) -> bool:
    """Whether a pause holds data that a stream sends."""
    is_stream = test["test"] == "stream" and words.which != "acknowledgements"
    return is_stream and row.planter == "forwarder"


def _one(sizes: Any) -> int:
    return int(sizes[-1] if isinstance(sizes, list) else sizes)


def _other_kind(test: dict[str, Any], chance: random.Random) -> None:
    """Sometimes a search, or round trips under load, in place of a stream."""
    drawn = chance.random()
    if drawn < 0.15:
        test.clear()
        times = {"duration": "300ms", "settle": "50ms", "residual": "150ms"}
        test |= {"test": "throughput_search", "frame_size": 512, "resolution": "2 %", **times}
    elif drawn < 0.3:
        test.clear()
        load = {"protocol": "TCP", "congestion": "cubic"}
        times = {"duration": "4s", "idle": "1s", "after": "1s"}
        test |= {"test": "latency_under_load", "load": load, **times}


def healthy_stand(row: Row, words: Words, chance: random.Random) -> Stand:
    """A lab and matrix without a cause: like those of a cause, and beyond them."""
    stand = stand_of(row, words, chance)
    rate = chance.choice(HEALTHY_RATES)
    is_paced = any("rate" in test for test in stand.tests)
    beyond = (rate is None or rate > RATES[-1]) and stand.far_ms == 0 and not is_paced
    return Stand(
        rate_bit_per_s=rate if beyond else stand.rate_bit_per_s,
        mtu=stand.mtu,
        far_ms=stand.far_ms,
        tests=tuple(_without_cause(test, beyond) for test in stand.tests),
        repeats=stand.repeats,
        seconds=stand.seconds,
        warm_up_s=stand.warm_up_s,
        forwarder=not beyond,
        foreign_cpu=chance.random() < 0.2,
    )


def _without_cause(test: Mapping[str, Any], beyond: bool) -> dict[str, Any]:
    """A test that offers no more than its path takes, if that is more than a receiver takes."""
    healthy = {name: value for name, value in test.items() if name != "rate"}
    if beyond and test["test"] == "stream" and "UDP" in test["protocol"]:
        healthy["rate"] = round(FAST_ENOUGH * RATES[-1])
    return healthy


def mixed_stand(chance: random.Random) -> Stand:
    """A lab and matrix for two causes at once: what a lost packet costs adds to any other cost.

    One of two offered rates is below every planted limit: what is lost there is lost at any load,
    as nothing else tells it from a rate.
    """
    streams = {"streams": 1, "socket_buffer": "64KiB", **PINNED}
    rates = [round(BELOW_LIMITS * RATES[-1]), round(ABOVE_LINK * RATES[-1])]
    test = {"test": "stream", "protocol": "UDP", "message_size": 1472, "rate": rates, **streams}
    if chance.random() < 0.3:
        test["ip"] = 6
        test["message_size"] = 1452
    return Stand(tests=(test,))
