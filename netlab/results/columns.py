"""The columns of the frame: what each holds, its dtype and its unit. Pure."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from fractions import Fraction

from netlab.results.asked_columns import UNITS, asked
from netlab.results.column import Column
from netlab.results.latency_columns import LATENCY_UNDER_LOAD
from netlab.results.tcp_series import TCP_SERIES

COLUMNS: Mapping[str, Column] = {
    # The trial.
    "cell": Column("string", "", "key of the cell, made from its content"),
    "trial": Column("Int64", "", "number of the trial, from 1"),
    "attempt": Column("Int64", "", "which attempt at the trial this is, from 1"),
    "status": Column("string", "", "ok, failed, impossible or pending"),
    "reason": Column("string", "", "why there is no result: a word of the closed list"),
    "errno": Column("Int64", "", "the number behind the reason, in the host's own numbering"),
    "detail": Column("string", "", "a sentence about the reason"),
    "pairing": Column("string", "", "server's and client's operating system, server first"),
    "server": Column("string", "", "name of the host that serves"),
    "client": Column("string", "", "name of the host that asks"),
    "test": Column("string", "", "kind of measurement"),
    "started_at": Column("string", "", "the controller's wall clock, ISO 8601, UTC"),
    # What was requested.
    **asked("stream"),
    # What was measured.
    "throughput_bit_per_s": Column(
        "Float64", "bit/s", "payload taken in by the receiver, by the receiver's clock"
    ),
    "sent_bit_per_s": Column(
        "Float64", "bit/s", "payload sent (UDP) or acknowledged (TCP), by the sender's clock"
    ),
    "sent_messages": Column("Int64", "", "send calls that succeeded, over the whole test"),
    "received_messages": Column("Int64", "", "distinct messages received, over the whole test"),
    "lost_messages": Column(
        "Int64", "", "sent and not received, after the drain; of round trips: timed out"
    ),
    "duplicate_messages": Column("Int64", "", "received again"),
    "reordered_messages": Column("Int64", "", "received after a later one (RFC 4737)"),
    "elapsed_s": Column("Float64", "s", "elapsed_ns in seconds"),
    "elapsed_ns": Column(
        "Int64",
        "ns",
        "length of the receiver's window; of round trips: first request to last answer or time-out",
    ),
    "mss_bytes": Column("Int64", "byte", "TCP payload a segment in effect"),
    "tcp_timestamps": Column("boolean", "", "whether TCP timestamps were in use"),
    "same_host": Column("boolean", "", "server and client are one host: no cable was touched"),
    "congestion_chosen": Column(
        "boolean", "", "whether the system lets a program choose the congestion control asked for"
    ),
    "common_window": Column(
        "boolean", "", "of both directions: whether each was sent over the whole of one window"
    ),
    "connected_by": Column("string", "", "server or client: the side that connected"),
    "setup_ns": Column("Int64", "ns", "from the request to open streams"),
    "drain_ns": Column("Int64", "ns", "from the window's end to the last message waited for"),
    "printed_mbit_per_s": Column("string", "10^6 bit/s", "an imported figure as it was printed"),
    "printed_step_bit_per_s": Column(
        "Float64", "bit/s", "step of an imported figure: one in its last digit"
    ),
    "printed_elapsed_s": Column("string", "s", "an imported time as it was printed"),
}
"""The columns that every frame has, in this order; others follow, sorted by name."""

_PERCENTILES: Mapping[str, str] = {
    "p50": "half",
    "p90": "90 %",
    "p99": "99 %",
    "p99_9": "99.9 %",
    "p99_99": "99.99 %",
}

_ROUND_TRIPS: Mapping[str, Column] = {
    # What was requested.
    **{**asked("round_trip"), **asked("connect")},
    # What was measured.
    "transactions_per_s": Column("Float64", "1/s", "requests answered, by the client's clock"),
    "transactions": Column("Int64", "", "requests answered in the window"),
    "stack_timed": Column("boolean", "", "whether the mirror's system can time its stack"),
    "agentless": Column("boolean", "", "whether the server is an echo that no agent of ours is"),
    "rtt_count": Column("Int64", "", "round trips in the histogram"),
    "rtt_mean_ns": Column("Float64", "ns", "mean round trip, from the exact sum"),
    "rtt_min_ns": Column("Int64", "ns", "shortest round trip"),
    "rtt_max_ns": Column("Int64", "ns", "longest round trip"),
    "rtt_sum_ns": Column("Int64", "ns", "all round trips together"),
    **{
        f"rtt_{name}_ns": Column("Int64", "ns", f"round trip that {share} of all do not exceed")
        for name, share in _PERCENTILES.items()
    },
    "rtt_histogram": Column(
        "string", "", "bucket, count, bucket, count, …: see netlab.stats.histogram"
    ),
    "rtt_histogram_bits": Column("Int64", "", "2^bits buckets a doubling"),
    "first_rtt_ns": Column("string", "ns", "the first round trips one by one, as asked for"),
    "client_latency_from": Column(
        "string", "", "intended or sent: when the clock of a round trip starts"
    ),
    **{
        f"server_stack_{name}_ns": Column("Int64", "ns", f"{words} in the mirror's stack")
        for name, words in (
            ("mean", "mean time"),
            ("min", "shortest time"),
            ("max", "longest time"),
            *((name, f"time that {share} do not exceed") for name, share in _PERCENTILES.items()),
        )
    },
    "server_stack_stamps": Column("string", "", "hardware or software: who took the stamps"),
}

_CONNECTIONS: Mapping[str, Column] = {
    "client_connect_mean_ns": Column("Float64", "ns", "mean of the handshakes alone"),
    "client_closed_by": Column("string", "", "how the connections ended"),
}

_PAYLOAD_SEARCHES: Mapping[str, Column] = {
    **asked("payload_search"),
    "payload_bytes": Column("Int64", "byte", "most payload that travels in one frame"),
    "path_mtu_bytes": Column("Int64", "byte", "largest IP packet of the path"),
    "path_mtu_evidence": Column(
        "string", "", "emsgsize, icmp, timeout, dropped, mss or protocol: why no more"
    ),
    "interface_mtu_bytes": Column("Int64", "byte", "MTU of the client's interface"),
    "mss_told_by": Column("string", "", "name of the host that told the segment size"),
    "probed_message_bytes": Column("string", "byte", "sizes tried, in their order"),
    "probed_passed": Column("string", "", "whether each came through: 1 or 0"),
    "next_passed": Column("boolean", "", "whether a UDP message of one byte more came back"),
    "sweep_message_bytes": Column("string", "byte", "message sizes of the sweep"),
    "sweep_throughput_bit_per_s": Column("string", "bit/s", "throughput at each of these sizes"),
    "sweep_failed_message_bytes": Column("string", "byte", "sizes of the sweep without a result"),
    "captured": Column("boolean", "", "whether frames were captured; NA: not asked for"),
    "capture_reason": Column("string", "", "why they were not"),
    "captured_frame_bytes": Column(
        "string", "byte", "lengths of the frames that carried the payload, without FCS"
    ),
    "captured_frames": Column("string", "", "how many of each of these lengths"),
    "captured_next_frame_bytes": Column("string", "byte", "the same of one byte more"),
    "captured_next_frames": Column("string", "", "how many of each of these lengths"),
}

_HOST: Mapping[str, Column] = {
    "busy_share": Column("Float64", "", "load of all CPUs at the rate found"),
    "busiest_core_share": Column("Float64", "", "load of the busiest CPU at the rate found"),
    "busiest_core": Column("Int64", "", "number of that CPU"),
    "host_steal_share": Column(
        "Float64",
        "",
        "CPU time that its hypervisor gave to others, in the worst trial; NA: not told",
    ),
    "interface_dropped_frames": Column("Int64", "", "dropped by its interfaces, all trials"),
    "queue_dropped_frames": Column("Int64", "", "by the queues in front of them"),
    "softnet_dropped_frames": Column(
        "Int64", "", "by a CPU's backlog; NA: of a machine that is several of the hosts"
    ),
    "socket_dropped_frames": Column("Int64", "", "by its receiving socket"),
    "pause_frames_sent": Column("Int64", "", "pause frames; NA: not counted"),
    "pause_frames_received": Column("Int64", "", "pause frames; NA: not counted"),
    "host": Column("string", "", "its name"),
}
"""What a search records of each host; of its ends the name stands elsewhere."""

_THROUGHPUT_SEARCHES: Mapping[str, Column] = {
    # What was requested.
    **asked("throughput_search"),
    # What was measured.
    "line_rate_bit_per_s": Column("Float64", "bit/s", "the rate that shares are of"),
    "line_rate_from": Column("string", "", "setting, link (of the matrix) or interface"),
    "line_frames_per_s": Column("Float64", "1/s", "most frames of that size that the line carries"),
    "frames_per_s": Column(
        "Float64", "1/s", "highest rate that passed, each way; NA: not even the lowest did"
    ),
    "line_share": Column("Float64", "", "the same as a share of the line rate"),
    "sent_frames_per_s": Column("Float64", "1/s", "what was sent in the trials that confirmed it"),
    "upper_frames_per_s": Column(
        "Float64", "1/s", "lowest rate above it that did not pass; NA: the line rate did"
    ),
    "upper_line_share": Column("Float64", "", "the same as a share of the line rate"),
    "limit": Column("string", "", "line rate, device, generator-bound or receiver-bound"),
    "limit_host": Column("string", "", "whose limit it was; NA: not known, or a device unobserved"),
    "limit_core": Column("Int64", "", "its busiest CPU in the trials that failed"),
    "limit_core_share": Column("Float64", "", "how busy that one was"),
    "pairs": Column("Int64", "", "pairs of hosts that searched at one rate; NA: by itself"),
    "monotone": Column("boolean", "", "false: a higher rate passed once, or a lower one failed"),
    "one_machine": Column(
        "boolean", "", "whether some hosts are one machine: loads are of all of them"
    ),
    "trial_line_share": Column("string", "", "rates tried, in their order"),
    "trial_duration_s": Column("string", "s", "length of each trial"),
    "trial_sent_frames": Column("string", "", "frames sent in each, all directions"),
    "trial_received_frames": Column("string", "", "frames that arrived in each"),
    "trial_own_drops": Column("string", "", "frames of each that our own hosts dropped"),
    "trial_queue_ns": Column("string", "ns", "by how much longer they took to come out"),
    "trial_verdict": Column(
        "string", "", "0 passed, 1 lost, 2 absorbed, 3 lost by the tester, 4 too few sent"
    ),
    "loss_line_share": Column("string", "", "rates of the frame loss rate, in their order"),
    "loss_sent_frames": Column("string", "", "frames sent at each, all directions"),
    "loss_received_frames": Column("string", "", "frames that arrived at each"),
    "loss_duration_s": Column("string", "s", "length of each of these trials"),
    "loss_own_drops": Column("string", "", "frames that our own hosts dropped at each"),
    "loss_queue_ns": Column("string", "ns", "by how much longer they took to come out"),
    "loss_verdict": Column("string", "", "as of the trials; 3: the loss is not the device's"),
    "latency_found_share": Column("string", "", "loads of the round trips, of the rate found"),
    "latency_count": Column("string", "", "round trips at each"),
    "latency_lost_requests": Column("string", "", "requests at each that nothing came back of"),
    "latency_lost_frames": Column("string", "", "frames of the load beside them that were lost"),
    "latency_min_ns": Column("string", "ns", "shortest round trip at each"),
    "latency_mean_ns": Column("string", "ns", "mean round trip at each"),
    "latency_max_ns": Column("string", "ns", "longest round trip at each"),
    "latency_p50_ns": Column("string", "ns", "round trip that half of them do not exceed"),
    "latency_p99_ns": Column("string", "ns", "round trip that 99 % of them do not exceed"),
    "back_to_back_frames": Column(
        "Float64", "", "longest burst without loss, mean of all searches"
    ),
    "back_to_back_waiting_frames": Column(
        "Float64", "", "those of it that waited in the device while it came in (RFC 9004)"
    ),
    "back_to_back_limit": Column(
        "string",
        "",
        "device, line rate (any burst passes), generator-bound, receiver-bound or failed",
    ),
    "back_to_back_each_frames": Column("string", "", "what each of the searches found"),
    **{
        f"{end}_{name}": column
        for end in ("client", "server")
        for name, column in _HOST.items()
        if name != "host"
    },
}

COLUMNS_OF: Mapping[str, Mapping[str, Column]] = {
    "round_trip": _ROUND_TRIPS,
    "connect": {**_ROUND_TRIPS, **_CONNECTIONS},
    "payload_search": _PAYLOAD_SEARCHES,
    "throughput_search": _THROUGHPUT_SEARCHES,
    "latency_under_load": LATENCY_UNDER_LOAD,
}
"""Test → the columns that a frame has besides wherever the plan has such a test."""

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

PERCENTILES: Mapping[str, Fraction] = {
    name: Fraction(name.removeprefix("p").replace("_", ".")) / 100 for name in _PERCENTILES
}
"""Word of a percentile's column → its share of the values."""


def columns_of(tests: Iterable[str]) -> Mapping[str, Column]:
    """The columns that a frame with these kinds of test always has, in their order."""
    found = dict(COLUMNS)
    for test in tests:
        found |= COLUMNS_OF.get(test, {})
    return found


PREFIXES: Mapping[str, str] = {
    "to_server_": "of the data to the server: ",
    "to_client_": "of the data to the client: ",
    "next_": "of a message one byte longer: ",
    "receiver_": "said by the receiving probe: ",
    "sender_": "said by the sending probe: ",
    "client_": "said by the asking probe: ",
    "server_": "said by the mirroring probe: ",
}
"""What the words before a name mean; they may stand one behind the other."""

_KNOWN = columns_of(COLUMNS_OF)

_SOMETIMES: Mapping[str, Column] = {
    "common_window": Column("boolean", "", "whether it sent over the whole of a common window"),
    "common_window_trials": Column("Int64", "", "trials that the common window cuts"),
    "common_window_open_ns": Column(
        "Int64", "ns", "its opening by the controller's clock: the same for all of a round"
    ),
    "clock_bound_ns": Column("Int64", "ns", "how far off the hosts' times of the window may be"),
    "clock_drift_ns": Column(
        "Int64",
        "ns",
        "by how much a host's clock ran off the controller's by the window's end; 0: not shown to",
    ),
    "gap_count": Column("Int64", "", "times without data that stand out"),
    "gap_total_ns": Column("Int64", "ns", "these times together"),
    "gaps": Column("string", "ns", "start and length of the ten longest, in the window"),
    "gap_queue_full": Column("string", "", "1: the receive queue was full when that one ended"),
    "late_ticks": Column(
        "string", "ns", "start and length of times in which the probe's process did not run"
    ),
    **TCP_SERIES,
    "stream_bytes": Column("string", "byte", "what each stream carried in the window"),
    "stream_cpus_open": Column("string", "", "CPU that each stream's thread ran on as it opened"),
    "stream_cpus_close": Column("string", "", "the same as it closed"),
    "receive_calls": Column(
        "Int64", "", "receive calls that did not wait: all that spun or polled, else one in 64"
    ),
    "empty_receives": Column("Int64", "", "those of them that found nothing"),
    "receive_chosen": Column("string", "", "what an adaptive receiver chose"),
    "receive_call_messages": Column("Int64", "", "most datagrams that one receive call brings"),
    "receive_pause_ns": Column("Int64", "ns", "mean pause of one that polls"),
    "stalled_ns": Column("Int64", "ns", "time in pauses of its process, of 40 ms and more each"),
    "suspended_ns": Column("Int64", "ns", "how long the host was suspended"),
    "interface_carrier_changes": Column(
        "Int64", "", "how often the interface lost its carrier or got it back"
    ),
    "loss_failed_share": Column("Float64", "", "rate of the loss rate that came to nothing"),
    "latency_failed_share": Column("string", "", "loads at which no round trip came to an end"),
    "link_paced": Column(
        "boolean", "", "false: the sender was faster than the line rate: the link is another one"
    ),
}
"""Columns that a frame has only where its trials were such: at the same time or both ways at once,
with a part that failed, or of probes that record it."""

_OF_A_HOST = re.compile(r"(trial_)?(client|server|observed_[0-9])_(\w+)")
"""What a search records of its ends and of the hosts that are observed."""


def is_documented(name: str) -> bool:
    """Whether a column is one of the lists above, and not one that follows them."""
    return name in _KNOWN


def is_listed(name: str) -> bool:
    """Whether a column is documented by its name, be it in every frame or in some."""
    return name in _KNOWN or name in _SOMETIMES or _of_a_host(name) is not None


def describe(name: str) -> Column:
    """Dtype, unit and meaning of a column, also of those that only some runs have.

    The dtype of a column that is not documented is a proposal: the frame widens it where the
    values ask for it, so that none is changed.
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
    """A column that a search has of some host, or of each trial of it; ``None``: it is none."""
    found = _OF_A_HOST.fullmatch(name)
    column = _HOST.get(found[3]) if found else None
    if found is None or column is None:
        return None
    if found[1]:
        return Column("string", column.unit, f"{found[2]}, in each trial: {column.meaning}")
    return Column(column.dtype, column.unit, f"{found[2]}: {column.meaning}")
