"""The columns of a ``throughput_search`` in the table of a run."""

from __future__ import annotations

from collections.abc import Mapping

from netlab.kinds.stream.settings import Stream
from netlab.kinds.throughput_search.settings import ThroughputSearch
from netlab.trial.column import Column, setting_columns

# A table: each row takes as few lines as possible.
# fmt: off
HOST: Mapping[str, Column] = {
    "busy_share": Column("Float64", "", "load of all CPUs at the resulting rate"),
    "busiest_core_share": Column("Float64", "", "load of the busiest CPU at the resulting rate"),
    "busiest_core": Column("Int64", "", "number of that CPU"),
    "host_steal_share": Column("Float64", "",
        "share of CPU time that a hypervisor gave to others in the worst trial; NA: not reported"),
    "interface_dropped_frames": Column("Int64", "", "frames that the interfaces dropped"),
    "queue_dropped_frames": Column("Int64", "", "frames that the queues of the interfaces dropped"),
    "softnet_dropped_frames": Column("Int64", "",
        "frames that the CPUs' backlog dropped; NA: some of the hosts are one machine"),
    "socket_dropped_frames": Column("Int64", "", "frames that the receiving socket dropped"),
    "pause_frames_sent": Column("Int64", "", "pause frames sent; NA: not counted"),
    "pause_frames_received": Column("Int64", "", "pause frames received; NA: not counted"),
    "host": Column("string", "", "name of the host"),
}
"""Columns of a search about each host. Only hosts that are observed besides server and client
have ``host``: the names of the ends are in the columns ``server`` and ``client``."""

COLUMNS: Mapping[str, Column] = {
    # What was requested.
    **setting_columns(ThroughputSearch, but=Stream.names()),
    # What was measured.
    "line_rate_bit_per_s": Column("Float64", "bit/s", "line rate to which the shares refer"),
    "line_rate_from": Column("string", "",
        "source of the line rate: setting, link (of the matrix) or interface"),
    "line_frames_per_s": Column("Float64", "1/s",
        "largest number of frames of this size that the line can carry per second"),
    "frames_per_s": Column("Float64", "1/s",
        "highest rate that passed, in each direction; NA: even the lowest failed"),
    "line_share": Column("Float64", "", "frames_per_s as a share of the line rate"),
    "sent_frames_per_s": Column("Float64", "1/s",
        "rate at which frames were sent in the trials that confirmed the result"),
    "upper_frames_per_s": Column("Float64", "1/s",
        "lowest higher rate that did not pass; NA: the line rate passed"),
    "upper_line_share": Column("Float64", "", "upper_frames_per_s as a share of the line rate"),
    "limit": Column("string", "",
        "what limits the rate: line rate, device, generator-bound or receiver-bound"),
    "limit_host": Column("string", "",
        "host that limits the rate; NA: none, not known, or a device not observed"),
    "limit_core": Column("Int64", "", "busiest CPU of this host in the trials that failed"),
    "limit_core_share": Column("Float64", "", "load of this CPU"),
    "pairs": Column("Int64", "", "number of pairs that searched together; NA: this pair alone"),
    "monotone": Column("boolean", "",
        "false: a higher rate passed at full length, or a trial at a lower rate failed"),
    "one_machine": Column("boolean", "",
        "whether some hosts are one machine; loads are then those of the machine"),
    "trial_line_share": Column("string", "", "tried rates as shares of the line rate, in order"),
    "trial_duration_s": Column("string", "s", "length of each trial"),
    "trial_sent_frames": Column("string", "", "frames sent in each trial"),
    "trial_received_frames": Column("string", "", "frames received in each trial"),
    "trial_own_drops": Column("string", "", "frames that the testing hosts dropped in each trial"),
    "trial_queue_ns": Column("string", "ns",
        "how much longer receiving took than sending, in each trial"),
    "trial_verdict": Column("string", "",
        "0 passed; 1 frames lost; 2 absorbed: all arrived, but a queue grew; 3 lost by the "
        "testing hosts; 4 frames sent more slowly than requested"),
    "loss_line_share": Column("string", "",
        "rates of the frame loss test as shares of the line rate, in order"),
    "loss_sent_frames": Column("string", "", "frames sent at each rate"),
    "loss_received_frames": Column("string", "", "frames received at each rate"),
    "loss_duration_s": Column("string", "s", "length of each of these trials"),
    "loss_own_drops": Column("string", "", "frames that the testing hosts dropped at each rate"),
    "loss_queue_ns": Column("string", "ns", "as trial_queue_ns, at each rate"),
    "loss_verdict": Column("string", "", "as trial_verdict, at each rate"),
    "latency_found_share": Column("string", "",
        "load during the round trips, as a share of the resulting rate"),
    "latency_count": Column("string", "", "number of round trips at each load"),
    "latency_lost_requests": Column("string", "", "requests without an answer at each load"),
    "latency_lost_frames": Column("string", "", "lost frames of each load"),
    "latency_min_ns": Column("string", "ns", "shortest round trip at each load"),
    "latency_mean_ns": Column("string", "ns", "mean round trip at each load"),
    "latency_max_ns": Column("string", "ns", "longest round trip at each load"),
    "latency_p50_ns": Column("string", "ns", "median round trip at each load"),
    "latency_p99_ns": Column("string", "ns", "99th percentile of the round trips at each load"),
    "back_to_back_frames": Column("Float64", "",
        "longest burst at line rate without loss, mean of all searches"),
    "back_to_back_waiting_frames": Column("Float64", "",
        "frames of this burst that still waited in the device when the burst ended (RFC 9004)"),
    "back_to_back_limit": Column("string", "",
        "what limits it: device, line rate (any burst passes), generator-bound, receiver-bound or "
        "failed"),
    "back_to_back_each_frames": Column("string", "", "longest burst of each search"),
    **{
        f"{end}_{name}": column
        for end in ("client", "server")
        for name, column in HOST.items()
        if name != "host"
    },
}
