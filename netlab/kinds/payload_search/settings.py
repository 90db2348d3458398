"""The settings of a ``payload_search``: the most payload that travels in one frame."""

from __future__ import annotations

import math
from collections.abc import Mapping
from types import MappingProxyType
from typing import ClassVar

from netlab import ethernet
from netlab.kinds.groups import Answered, Bounds, CongestedTest
from netlab.trial.settings import Level, of_settings, setting

LEAST_MESSAGE_BYTES = {"TCP": 1, "UDP": 16}
"""Smallest message that a payload search tries; a UDP message needs 16 bytes for its sequence
number."""
SETTLE_TCP_S = 1.0
"""Time that a lost TCP message takes in addition to its time-out."""
_GUESSES = 2
"""Number of sizes tried before halving begins: the largest that the interface should pass, and this
size plus one byte."""
_SWEPT = {"TCP": (14, 14), "UDP": (14, 16)}
"""Minimum and maximum number of message sizes at which a payload search also measures throughput,
if the payload found has at least a hundred bytes."""

# A table: each row takes as few lines as possible.
# fmt: off


@of_settings
class PayloadSearch(Answered, CongestedTest):
    """A ``payload_search``: the most payload that travels in one frame."""

    in_files = (
        "protocol ip_version network sweep capture timeout_s duration_s socket_buffer_bytes "
        "congestion dscp interface"
    )

    duration_s: float = 1.0
    sweep: bool = setting(
        "sweep", default=False, about="Measure throughput at message sizes around the result.",
        column="whether throughput at message sizes around the result was requested")
    capture: bool = setting(
        "capture", default=False, about="Capture frames on the way, if the hosts allow it.",
        column="whether a capture of frames was requested")

    # fmt: on
    needed_too: ClassVar[Mapping[str, Level]] = MappingProxyType({"dont_fragment": True})
    keeps_frames = True
    is_search = True

    @property
    def probe_test(self) -> str:
        """As for all tests: what each try is."""
        return "round_trip" if self.protocol == "UDP" else "stream"

    def bounds(self, line_rate_bit_per_s: float | None, turns: int = 1) -> Bounds:
        """Bounds of a search in both directions. A size that is lost takes its time-out. A size
        that passes takes one round trip, which counts as no time here.
        """
        least = LEAST_MESSAGE_BYTES[self.protocol]
        most = ethernet.MAX_DATAGRAM_BYTES[self.ip_version]
        silent = _GUESSES + math.ceil(math.log2(most - least + 1))
        if self.protocol == "UDP":
            silent += 1  # the largest size that passes, plus one byte, with fragments allowed
        each_s = self.timeout_s + (SETTLE_TCP_S if self.protocol == "TCP" else 0.0)
        swept = _SWEPT[self.protocol] if self.sweep else (0, 0)
        least_s, most_s = (sizes * self.duration_s for sizes in swept)
        return Bounds(least_s, 2 * silent * each_s + most_s)
