"""A cause between the hosts as a rule of the forwarder. No I/O."""

from __future__ import annotations

import math
from typing import Any

from benchmarks.space.matrices import UDP_HEADERS, Stand
from benchmarks.space.words import Words

WAYS = {"path": "ab", "path-back": "ba", "cable": "both", "device": "both"}
DUTY = 0.5
"""A cause that comes and goes is there for so much of the time."""
MOST = 0.8
"""While it is there it takes at most so much."""
TURNS_MS = 150.0
"""Throughput is read each 100 ms: turns of as much might be half in each."""
PAUSES_MS = 200.0
"""A pause, and the time until the next one."""
BEGIN_MS = {0.4: 500.0}
USUAL_BEGIN_MS, WINDOW_MS = 200.0, 1000.0
AFTER_MS = 10.0
"""A window opens with the first message: what comes before it cannot be seen."""
OVERTAKEN_FRAMES, MOST_OVERTAKEN_FRAMES = 4, 14
"""A frame is late by so many frames of its stream; by more if most of these are late themselves."""
BESIDE = 0.05
"""The chance at which all of them are: then nothing is overtaken."""
QUEUE_MS = 100.0
FRAMING = 38
DATA_BYTES = 200
"""Packets that are longer carry data."""
PROTOCOLS = {"TCP": 6, "UDP": 17}


def acting_share(words: Words) -> float:
    """How much the cause takes while it acts, so that it takes its share of a whole window."""
    if words.what == "pause":
        return words.share
    if words.when in ("periodic", "bursts"):
        return min(words.share / DUTY, MOST)
    if words.when == "begin":
        return min(words.share * WINDOW_MS / _begin_ms(words), MOST)
    return words.share


def far_rule(stand: Stand) -> str:
    """The delay that the path has with and without the cause."""
    return f"do=delay,ms={stand.far_ms:g}"


def rule_of(words: Words, stand: Stand) -> str:
    """The rule of a cause. It begins switched off."""
    parts = {"way": WAYS[words.where], **_selector(words, stand), **_deed(words, stand)}
    parts |= {**_times(words), "off": 1}
    return ",".join(
        f"{name}={value:.6g}" if isinstance(value, float) else f"{name}={value}"
        for name, value in parts.items()
    )


def _selector(words: Words, stand: Stand) -> dict[str, Any]:
    value = next(iter(stand.acts_on.values()), None)
    selectors: dict[str, dict[str, Any]] = {
        "protocol": {"protocol": PROTOCOLS.get(str(value))},
        "family": {"family": value},
        "length": {"longer": round(stand.full_bytes * 0.6)},
        "class": {"dscp": value},
        "port": {"of": 2, "flow": 1},
        "direction": {"longer": DATA_BYTES},
        "acknowledgements": {"acks": 1},
        "fragments": {"fragments": 1},
    }
    return selectors.get(words.which, {})


def _deed(words: Words, stand: Stand) -> dict[str, Any]:
    share = float(acting_share(words))
    if words.what == "rate":
        return _rate(words, stand, share)
    # A delay d of a round trip r takes the share d / (r + d) of what waits for round trips.
    delay_ms = 2 * stand.far_ms * share / (1 - share)
    late_ms = max(3.0, _overtaken_frames(share) * stand.streams * _frame_ms(stand))
    if words.what == "length":
        # What an end announces limits what comes to it, so a device clamps both.
        clamp = {"do": "mss", "way": "both", "number": round((stand.mtu - 40) * (1 - share))}
        drop = {"do": "length", "number": round(stand.mtu * (1 - share))}
        return clamp if words.which == "protocol" else drop
    deeds: dict[str, dict[str, Any]] = {
        "drops": {"do": "drop", "share": share},
        "copies": {"do": "copy", "share": share},
        "corruption": {"do": "corrupt", "share": share},
        "order": {"do": "order", "share": share, "ms": late_ms},
        "delay": {"do": "delay", "ms": delay_ms},
        "jitter": {"do": "jitter", "ms": 2 * delay_ms},
        "pause": {"do": "pause"},
    }
    return deeds[words.what]


def _frame_ms(stand: Stand) -> float:
    """How long a full frame takes on the cable."""
    rate = stand.rate_bit_per_s
    return 8e3 * (stand.mtu + FRAMING) / rate if rate else 0.0


def _overtaken_frames(share: float) -> int:
    frames = math.ceil(math.log(BESIDE) / math.log(share))
    return min(max(frames, OVERTAKEN_FRAMES), MOST_OVERTAKEN_FRAMES)


def _rate(words: Words, stand: Stand, share: float) -> dict[str, Any]:
    """A limit of packets where all have one length, else of bits on the wire."""
    rate, queue_ms = stand.rate_bit_per_s or 0.0, QUEUE_MS
    if words.when in ("periodic", "bursts") and stand.floods:
        # What waited here would wait before the cable later, and bridge the next time: no loss.
        # Without room for one frame the limit would idle after each frame that it drops.
        queue_ms = _frame_ms(stand)
    if words.where == "device":
        frame_bytes = stand.message_bytes + UDP_HEADERS + FRAMING
        number = rate / 8 / frame_bytes * (1 - share)
        return {"do": "packets", "number": number, "queue_ms": queue_ms, "shared": 1}
    if words.which == "acknowledgements":  # one for two segments
        number = rate / 8 / (stand.mtu + FRAMING) * (1 - share) / 2
        return {"do": "packets", "number": number, "queue_ms": queue_ms}
    return {"do": "rate", "number": round(rate * (1 - share)), "queue_ms": queue_ms}


def _times(words: Words) -> dict[str, Any]:
    if words.when in ("always", "trials", "onset"):
        return {}
    if words.when == "begin":
        lasts_ms = words.share * WINDOW_MS if words.what == "pause" else _begin_ms(words)
        return {"when": "begin", "after_ms": AFTER_MS, "on_ms": float(lasts_ms)}
    duty, both_ms = DUTY, 2 * TURNS_MS
    if words.what == "pause":
        duty, both_ms = words.share, PAUSES_MS
    times = {"on_ms": duty * both_ms, "off_ms": (1 - duty) * both_ms}
    return {"when": words.when, **times}


def _begin_ms(words: Words) -> float:
    return BEGIN_MS.get(words.share, USUAL_BEGIN_MS)
