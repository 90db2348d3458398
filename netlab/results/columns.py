"""The columns of a run's DataFrame (frame): the meaning, dtype and unit of each."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping

from netlab.kinds import KINDS
from netlab.kinds.stream.settings import Stream
from netlab.kinds.throughput_search.settings import HOST
from netlab.results.tcp_series import TCP_SERIES
from netlab.trial.column import UNITS, Column, setting_columns

CORE = (
    *("cell", "pairing", "server", "client", "test", "protocol", "direction", "ip_version"),
    *("message_bytes", "socket_buffer_bytes", "streams", "congestion", "trial", "status", "reason"),
    *("started_at", "elapsed_s", "throughput_bit_per_s", "sent_bit_per_s", "lost_messages"),
    *("transactions_per_s", "rtt_mean_ns", "rtt_p50_ns", "rtt_p99_ns", "frames_per_s"),
    *("mss_bytes", "same_host"),
)
"""The columns that people read first: the trial, its settings, its results."""

# These are tables: each row has as few lines as possible, so they are not formatted.
# fmt: off
COLUMNS: Mapping[str, Column] = {
    # The trial.
    "cell": Column("string", "", "key of the cell, computed from its content"),
    "trial": Column("Int64", "", "number of the trial, starting at 1"),
    "attempt": Column("Int64", "", "number of the attempt at the trial, starting at 1"),
    "status": Column("string", "", "ok, failed, impossible or pending"),
    "reason": Column("string", "", "why there is no result: a word from a closed list"),
    "errno": Column("Int64", "", "error number of the reason, in the host's own numbering"),
    "detail": Column("string", "", "a sentence about the reason"),
    "pairing": Column("string", "",
        "systems (WL) or names (nas+laptop) of server and client, server first"),
    "server": Column("string", "", "name of the server host"),
    "client": Column("string", "", "name of the client host"),
    "test": Column("string", "", "kind of measurement"),
    "started_at": Column("string", "",
        "start of the trial by the controller's clock, ISO 8601, UTC"),
    # What was requested.
    **setting_columns(Stream),
    # What was measured.
    "throughput_bit_per_s": Column("Float64", "bit/s", "received payload, by the receiver's clock"),
    "sent_bit_per_s": Column("Float64", "bit/s",
        "sent (UDP) or acknowledged (TCP) payload, by the sender's clock"),
    "sender_cpu_s_per_gbit": Column("Float64", "s/Gbit",
        "CPU time of the sending probe, user and system, in seconds per 10^9 bits of payload sent "
        "(UDP) or acknowledged (TCP), both of its window; NA: the host is also the receiver, or "
        "data went both ways"),
    "receiver_cpu_s_per_gbit": Column("Float64", "s/Gbit",
        "the same of the receiving probe, per 10^9 bits of payload received"),
    "sent_messages": Column("Int64", "",
        "messages that the send calls accepted, over the whole test"),
    "received_messages": Column("Int64", "",
        "distinct messages received in the window; in imports: over the whole test"),
    "lost_messages": Column("Int64", "",
        "sent messages that did not arrive in time; in round trips: unanswered requests"),
    "duplicate_messages": Column("Int64", "", "messages received more than once"),
    "reordered_messages": Column("Int64", "", "messages received after a later one (RFC 4737)"),
    "elapsed_s": Column("Float64", "s", "elapsed_ns in seconds"),
    "elapsed_ns": Column("Int64", "ns",
        "length of the receiver's window; in round trips: first request to last answer or "
        "time-out"),
    "mss_bytes": Column("Int64", "byte", "effective MSS: TCP payload per segment"),
    "tcp_timestamps": Column("boolean", "", "whether TCP timestamps were in use"),
    "same_host": Column("boolean", "",
        "whether server and client are on one machine: no traffic on a cable"),
    "congestion_chosen": Column("boolean", "",
        "whether the system lets a program choose the requested congestion control"),
    "common_window": Column("boolean", "",
        "whether data flowed during the whole common window, in each direction of the trial; NA: "
        "no common window"),
    "server_state": Column("string", "", "what the checks of the server's variant printed"),
    "client_state": Column("string", "", "what the checks of the client's variant printed"),
    "connected_by": Column("string", "", "server or client: the side that connected"),
    "setup_ns": Column("Int64", "ns", "time from netlab's request until the streams are open"),
    "drain_ns": Column("Int64", "ns", "time from the window's end to the last awaited message"),
    "printed_mbit_per_s": Column("string", "10^6 bit/s", "an imported figure as it was printed"),
    "printed_step_bit_per_s": Column("Float64", "bit/s",
        "resolution of an imported figure: one unit of its last digit"),
    "printed_elapsed_s": Column("string", "s", "an imported time as it was printed"),
}
# fmt: on
"""The columns of every frame, in this order; others follow, sorted by name."""

COLUMNS_OF: Mapping[str, Mapping[str, Column]] = {
    name: columns for name, kind in KINDS.items() if (columns := kind.column_table(COLUMNS))
}
"""Test → the additional columns of every frame whose plan contains this test."""

SERIES = (
    *("rtt_histogram", "server_stack_histogram", "first_rtt_ns"),
    *("probed_message_bytes", "probed_passed"),
    *("sweep_message_bytes", "sweep_throughput_bit_per_s", "sweep_failed_message_bytes"),
    *("captured_frame_bytes", "captured_next_frame_bytes"),
    *("trial_line_share", "trial_verdict", "loss_line_share", "loss_verdict"),
    *("loss_sent_frames", "loss_received_frames"),
    *(f"latency_{name}_ns" for name in ("min", "p50", "mean", "p99", "max")),
    *("latency_found_share", "latency_count", "latency_lost_requests", "latency_lost_frames"),
    *("latency_failed_share", "back_to_back_each_frames"),
    *("trip_ns", "lost_trips", "connection_at_ns", "connection_ns", "lost_connection_at_ns"),
)
"""Values that are lists of numbers."""


def columns_of(tests: Iterable[str]) -> Mapping[str, Column]:
    """The columns that every frame with these kinds of test has, in order."""
    columns = dict(COLUMNS)
    for test in tests:
        columns |= COLUMNS_OF.get(test, {})
    return columns


PREFIXES: Mapping[str, str] = {
    "to_server_": "data to the server: ",
    "to_client_": "data to the client: ",
    "next_": "message one byte longer: ",
    "receiver_": "reported by the receiving probe: ",
    "sender_": "reported by the sending probe: ",
    "client_": "reported by the client's probe: ",
    "server_": "reported by the server's probe: ",
}
"""Prefix of a column's name → its meaning. A name may have several prefixes."""

_KNOWN = columns_of(COLUMNS_OF)

# fmt: off
_SOMETIMES: Mapping[str, Column] = {
    "common_window_trials": Column("Int64", "", "number of trials in the common window"),
    "common_window_open_ns": Column("Int64", "ns",
        "opening of the common window by the controller's clock; equal in all trials of a round"),
    "clock_bound_ns": Column("Int64", "ns", "maximum error of the hosts' times of the window"),
    "clock_drift_ns": Column("Int64", "ns",
        "least drift against the controller's clock that is proven by a reading before the "
        "window and one after the trial; the larger value of the two hosts; 0: none is proven"),
    "gap_count": Column("Int64", "", "number of unusually long times without data (gaps)"),
    "gap_total_ns": Column("Int64", "ns", "total length of the gaps"),
    "gaps": Column("string", "ns", "start and length of the ten longest gaps in the window"),
    "gap_queue_full": Column("string", "", "1: the receive queue was full when the gap ended"),
    "late_ticks": Column("string", "ns",
        "start and length of times in which the probe's process did not run"),
    "engine_version": Column("string", "", "what the tool that measured prints as its version"),
    "engine_command": Column("string", "", "the tool's program and its arguments at this end"),
    "engine_cpu_ns": Column("Int64", "ns", "CPU time of the tool's program at this end"),
    "engine_remarks": Column("string", "", "what the tool did otherwise than the cell requests"),
    **TCP_SERIES,
    "stream_bytes": Column("string", "byte", "bytes that each stream carried in the window"),
    "stream_cpus_open": Column("string", "", "CPU of each stream's thread when the window opened"),
    "stream_cpus_close": Column("string", "", "CPU of each stream's thread when the window closed"),
    "receive_calls": Column("Int64", "",
        "receive calls that did not wait: all when spinning or polling, else one in 64"),
    "empty_receives": Column("Int64", "", "receive calls that did not wait and found no data"),
    "receive_chosen": Column("string", "", "receive method that an adaptive receiver chose"),
    "receive_call_messages": Column("Int64", "", "maximum number of datagrams per receive call"),
    "receive_pause_ns": Column("Int64", "ns", "mean pause of a polling receiver"),
    "stalled_ns": Column("Int64", "ns",
        "total time in which its process did not run, in pauses of 40 ms and more"),
    "suspended_ns": Column("Int64", "ns", "how long the host was suspended"),
    "interface_carrier_changes": Column("Int64", "",
        "how often the interface lost or regained its carrier"),
    "loss_failed_share": Column("Float64", "", "rate at which the frame loss test failed"),
    "latency_failed_share": Column("string", "", "loads at which the round trips failed"),
    "link_paced": Column("boolean", "",
        "false: the sender was faster than the line rate, so the link has another rate"),
}
# fmt: on
"""Columns that only some frames have: columns of trials in parallel or in both directions, of
parts of a test that failed, and columns that only some probes record."""

_OF_A_HOST = re.compile(r"(trial_)?(client|server|observed_[0-9])_(\w+)")
"""Names of the columns that a search records about client, server and observed hosts."""


def is_documented(name: str) -> bool:
    """Whether a column is in ``COLUMNS`` or ``COLUMNS_OF``."""
    return name in _KNOWN


def is_listed(name: str) -> bool:
    """Whether a column is documented by its name, in every frame or only in some."""
    return name in _KNOWN or name in _SOMETIMES or _of_a_host(name) is not None


def describe(name: str) -> Column:
    """Dtype, unit and meaning of a column, also of one that only some runs have.

    The dtype of an undocumented column is only a first choice: the frame uses a wider dtype if a
    value would change otherwise.
    """
    listed = _KNOWN.get(name) or _SOMETIMES.get(name) or _of_a_host(name)
    if listed is not None:
        return listed
    for prefix, words in PREFIXES.items():
        if name.startswith(prefix):
            inner = describe(name.removeprefix(prefix))
            return Column(inner.dtype, inner.unit, words + inner.meaning)
    meaning = f"`{name}` of docs/protocol.md"
    for ending, unit, dtype in UNITS:
        if name.endswith(ending):
            return Column(dtype, unit, meaning)
    return Column("string", "", meaning)


def _of_a_host(name: str) -> Column | None:
    """A column that a search records about a host, once or per trial; ``None`` for other names."""
    match = _OF_A_HOST.fullmatch(name)
    column = HOST.get(match[3]) if match else None
    if match is None or column is None:
        return None
    if match[1]:
        return Column("string", column.unit, f"{match[2]}, in each trial: {column.meaning}")
    return Column(column.dtype, column.unit, f"{match[2]}: {column.meaning}")
