"""A ``throughput_search``, the highest rate without loss (RFC 2544): settings, columns."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping
from fractions import Fraction
from typing import Literal

from netlab import ethernet
from netlab.kinds import groups
from netlab.kinds.groups import Bounds, SentMessages, SettingFault
from netlab.kinds.stream.settings import Stream
from netlab.kinds.throughput_search.rate_search import CONFIRMATIONS, FAILURES, RateGrid
from netlab.messages import _
from netlab.trial.column import Column, setting_columns
from netlab.trial.settings import Need, NumberWithUnit, Whole, of_settings, setting

LEARN_S = 0.1
"""Time at the beginning of a try. The frames sent in this time do not count: from these frames, the
device under test learns the hosts' addresses."""
LATENCY_LOAD_SHARES = (0.1, 0.5, 0.9, 1.0)
"""Loads under which round trips are timed after a search, as shares of the rate that it found."""
AROUND_S = 0.2
"""Each of these loads runs for this time before the first request that counts, and for the same
time after the last request that counts."""
LOSS_STEPS = 10
"""Maximum number of rates at which frame loss is measured. Two successive rates without loss end
the measurement."""
LONGEST_BURST_S = 2.0
"""A device that forwards a burst of this length is assumed to forward any burst."""
LEAST_BURST_FRAMES = 2
_AGAIN = 3
"""Number of bursts in a search for the longest burst, if the search begins with the result of an
earlier search."""

# A table: each row takes as few lines as possible.
# fmt: off


@of_settings
class ThroughputSearch(groups.Directed):
    """A ``throughput_search``: the highest rate without loss (RFC 2544)."""

    in_files = (
        "frame_bytes protocol duration_s search_duration_s direction streams burst "
        "acceptable_loss resolution line_rate_bit_per_s together frame_loss latency back_to_back "
        "residual_s settle_s send_method ip_version socket_buffer_bytes dscp interface receive "
        "network"
    )

    protocol: Literal["TCP", "UDP"] = "UDP"
    duration_s: float | None = 60.0
    frame_bytes: int = setting("frame_size", Whole(64, 9018), label=_("frame size, bytes"),
        about="Bytes of an Ethernet frame with header and FCS.",
        column="bytes of a frame with header and FCS")
    search_duration_s: float | None = setting(
        "search_duration", groups.WINDOW, default=None, label=_("search duration"),
        about="Length of each step of the search before the resulting rate is confirmed.",
        column="length of each step of the search before the resulting rate is confirmed; "
        "NA: same as duration_s")
    burst: int | None = setting("burst", Whole(1, 100_000), default=None,
        about="Largest number of frames that a delayed sender sends back to back.",
        column="largest number of frames that a delayed sender sends back to back; "
        "NA: 32, or the frames of 1 ms if these are fewer")
    acceptable_loss: float = setting(
        "acceptable_loss", NumberWithUnit("share", 0, 0.1, "0.001 %"), default=0.0,
        about="Share of the frames that may be lost.",
        column="share of the frames that may be lost")
    resolution: float = setting(
        "resolution", NumberWithUnit("share", 0.0001, 0.1, "0.5 %"), default=0.005,
        about="Step of the rates tried, as a share of the line rate.",
        column="step of the rates tried, as a share of the line rate")
    line_rate_bit_per_s: float | None = setting(
        "line_rate", groups.RATE, default=None, label=_("line rate"),
        about="Line rate of the link; without it the matrix's link's, else the interface's.",
        column=None)
    together: Literal[True] | None = setting(
        "together", default=None, about="Pairs that search at the same time share one rate, "
        "which passes if it passes for all.",
        column="whether pairs of hosts search together at one rate; NA: each pair by itself")
    frame_loss: bool = setting(
        "frame_loss", default=False, about="Measure the loss at tenths of the line rate too.",
        column="whether the loss at tenths of the line rate was requested")
    latency: Literal[True] | None = setting("latency", default=None, need=Need("round_trip"),
        about="Measure round trips at the resulting rate, and at parts of it.",
        column="whether round trips under load were requested; NA: no")
    back_to_back: int | None = setting("back_to_back", Whole(1, 100), default=None,
        about="Number of searches for the longest burst without loss; the standard: 50.",
        column="requested number of searches for the longest burst; NA: none")
    residual_s: float = setting("residual", NumberWithUnit("seconds", 0.001, 60, "2s"), default=2.0,
        label=_("wait for residual frames"),
        about="Missing frames count as lost when no frame has arrived for this time.",
        column="missing frames count as lost when no frame has arrived for this time")
    settle_s: float = setting("settle", groups.PAUSE, default=5.0, label=_("pause between trials"),
        about="Time between two trials of a search.", column="time between two trials of a search")

    # fmt: on
    is_search = True
    sized_by = "frame_bytes"
    probe_test = "throughput_search"

    @property
    def is_together(self) -> bool:
        """As for all tests."""
        return bool(self.together)

    def faults(self) -> Iterator[SettingFault]:
        """As for all tests."""
        yield from super().faults()
        if self.protocol != "UDP":
            yield (
                "protocol",
                "TCP chooses its own rate: a `throughput_search` needs `protocol: UDP`",
            )
        if self.receive == "adaptive":
            yield (
                "receive",
                "`adaptive` needs a warm-up, and the trials of a search have none: "
                "choose `blocking`, `spinning` or `polling`",
            )
        try:
            message_bytes = ethernet.udp_message_in_frame(
                self.frame_bytes, ip_version=self.ip_version
            )
        except ValueError as error:
            yield "frame_bytes", f"{error}: `exclude` that combination"
            return
        if message_bytes < groups.SEQUENCE_BYTES:
            least = self.frame_bytes + groups.SEQUENCE_BYTES - message_bytes
            yield (
                "frame_bytes",
                f"over IPv{self.ip_version}, a frame of {self.frame_bytes} bytes has no room for a "
                f"sequence number; a frame needs {least} bytes or more: `exclude` that combination",
            )

    def sent_by(self, end: str) -> SentMessages | None:
        """As for all tests."""
        if self.is_idle(end):
            return None
        message_bytes = ethernet.udp_message_in_frame(self.frame_bytes, ip_version=self.ip_version)
        return SentMessages("UDP", message_bytes, whole=True)

    def bounds(self, line_rate_bit_per_s: float | None, turns: int = 1) -> Bounds | None:
        """As for all tests: of the rate, then of loss, latency, and the longest burst."""
        full_s = self.duration_s or 0.0
        short_s = self.search_duration_s or full_s
        rate_s = []
        # For the most time, each try waits for late frames.
        for (short, full), late_s in zip(rate_tries(self), (0.0, self.residual_s), strict=True):
            pauses_s = (short + full - 1) * self.settle_s
            tries_s = (short + full) * (LEARN_S + late_s)
            rate_s.append(short * short_s + full * full_s + tries_s + pauses_s)
        further_s = full_s + LEARN_S + self.settle_s
        least_s = most_s = 0.0
        if self.frame_loss:
            least_s += 2 * further_s
            most_s += LOSS_STEPS * (further_s + self.residual_s)
        if self.latency:
            each_s = further_s + 2 * AROUND_S
            least_s += len(LATENCY_LOAD_SHARES) * each_s
            most_s += len(LATENCY_LOAD_SHARES) * (each_s + self.residual_s)
        if self.back_to_back is not None:
            # The least time has no burst: a device that forwards the line rate forwards any burst.
            rate = self.line_rate_bit_per_s or line_rate_bit_per_s
            if rate is None:
                return None
            longest = LONGEST_BURST_S * ethernet.frames_per_s(rate, self.frame_bytes)
            doublings = math.ceil(math.log2(max(2.0, longest / LEAST_BURST_FRAMES)))
            bursts = 1 + 2 * doublings + _AGAIN * (self.back_to_back - 1)
            most_s += turns * (LEARN_S + bursts * (LONGEST_BURST_S + self.residual_s))
        return Bounds(rate_s[0] + least_s, rate_s[1] + most_s)


def rate_tries(setup: ThroughputSearch) -> tuple[tuple[int, int], tuple[int, int]]:
    """The least and most tries of a search, each as (tries before the confirmation, tries in it).

    The line rate is tried first, then as many rates as it takes to halve the grid of rates down to
    one rate. For the most tries, every rate except the result is assumed to fail.
    """
    decided = 1 + math.ceil(math.log2(RateGrid(Fraction(repr(setup.resolution))).size))
    if setup.search_duration_s is None:
        # A try that passes in the search counts for the confirmation.
        return (0, CONFIRMATIONS), (0, FAILURES * decided)
    return (1, CONFIRMATIONS), (FAILURES * decided - 1, CONFIRMATIONS)


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
