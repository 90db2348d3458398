"""The columns of a ``payload_search`` in the table of a run."""

from __future__ import annotations

from collections.abc import Mapping

from netlab.kinds.payload_search.settings import PayloadSearch
from netlab.kinds.stream.settings import Stream
from netlab.trial.column import Column, setting_columns

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
