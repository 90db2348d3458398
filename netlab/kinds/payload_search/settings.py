"""The settings of a ``payload_search``, and the columns of what it finds in the table of a run."""

from __future__ import annotations

import math
from collections.abc import Mapping
from types import MappingProxyType
from typing import ClassVar

from netlab import ethernet
from netlab.kinds.groups import Answered, Bounds, CongestedTest
from netlab.kinds.stream.settings import Stream
from netlab.trial.column import Column, setting_columns
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
        most = ethernet.MAX_DATAGRAM_BYTES[self.ip_version]
        silent = _GUESSES + math.ceil(math.log2(most - LEAST_MESSAGE_BYTES[self.protocol] + 1))
        if self.protocol == "UDP":
            silent += 1  # the largest size that passes, plus one byte, with fragments allowed
        each_s = self.timeout_s + (SETTLE_TCP_S if self.protocol == "TCP" else 0.0)
        swept = _SWEPT[self.protocol] if self.sweep else (0, 0)
        least_s, most_s = (sizes * self.duration_s for sizes in swept)
        return Bounds(least_s, 2 * silent * each_s + most_s)


COLUMNS: Mapping[str, Column] = {
    **setting_columns(PayloadSearch, but=Stream.names()),
    "payload_bytes": Column("Int64", "byte", "largest payload that fits into one frame"),
    "path_mtu_bytes": Column("Int64", "byte", "largest IP packet that the path carries"),
    "path_mtu_evidence": Column(
        "string", "", "evidence of the limit: emsgsize, icmp, timeout, dropped, mss or protocol"
    ),
    "interface_mtu_bytes": Column("Int64", "byte", "MTU of the client's interface"),
    "mss_told_by": Column("string", "", "name of the host that reported the segment size"),
    "probed_message_bytes": Column("string", "byte", "tried sizes, in order"),
    "probed_passed": Column("string", "", "whether each size passed: 1 or 0"),
    "next_passed": Column("boolean", "", "whether a UDP message one byte longer came back"),
    "sweep_message_bytes": Column("string", "byte", "message sizes of the sweep"),
    "sweep_throughput_bit_per_s": Column("string", "bit/s", "throughput at each of these sizes"),
    "sweep_failed_message_bytes": Column("string", "byte", "sizes of the sweep without a result"),
    "captured": Column("boolean", "", "whether frames were captured; NA: not requested"),
    "capture_reason": Column("string", "", "why no frames were captured"),
    "captured_frame_bytes": Column(
        "string", "byte", "lengths of the frames that carried the payload, without FCS"
    ),
    "captured_frames": Column("string", "", "number of frames of each of these lengths"),
    "captured_next_frame_bytes": Column("string", "byte", "the same for a message one byte longer"),
    "captured_next_frames": Column("string", "", "number of frames of each of these lengths"),
}
