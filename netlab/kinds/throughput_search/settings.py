"""The settings of a ``throughput_search``: the highest rate without loss (RFC 2544)."""

from __future__ import annotations

from typing import Literal

from netlab.kinds.groups import PAUSE, RATE, WINDOW, Directed, EveryTest
from netlab.messages import _
from netlab.trial.settings import Need, NumberWithUnit, Whole, of_settings, setting

# A table: each row takes as few lines as possible.
# fmt: off


@of_settings
class ThroughputSearch(Directed, EveryTest):
    """A ``throughput_search``: the highest rate without loss (RFC 2544)."""

    in_files = (
        "frame_bytes protocol duration_s search_duration_s direction streams burst "
        "acceptable_loss resolution line_rate_bit_per_s together frame_loss latency back_to_back "
        "residual_s settle_s send_method ip_version socket_buffer_bytes dscp interface receive "
        "network"
    )

    protocol: Literal["TCP", "UDP"] = "UDP"
    duration_s: float | None = 60.0
    frame_bytes: int = setting(
        "frame_size", Whole(64, 9018), label=_("frame size, bytes"),
        about="Bytes of an Ethernet frame with header and FCS.",
        column="bytes of a frame with header and FCS")
    search_duration_s: float | None = setting(
        "search_duration", WINDOW, default=None, label=_("search duration"),
        about="Length of each step of the search before the resulting rate is confirmed.",
        column="length of each step of the search before the resulting rate is confirmed; "
        "NA: same as duration_s")
    burst: int | None = setting(
        "burst", Whole(1, 100_000), default=None,
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
        "line_rate", RATE, default=None, label=_("line rate"),
        about="Line rate of the link; without it the matrix's link's, else the interface's.",
        column=None)
    together: Literal[True] | None = setting(
        "together", default=None, about="Pairs that search at the same time share one rate, "
        "which passes if it passes for all.",
        column="whether pairs of hosts search together at one rate; NA: each pair by itself")
    frame_loss: bool = setting(
        "frame_loss", default=False, about="Measure the loss at tenths of the line rate too.",
        column="whether the loss at tenths of the line rate was requested")
    latency: Literal[True] | None = setting(
        "latency", default=None, need=Need("round_trip"),
        about="Measure round trips at the resulting rate, and at parts of it.",
        column="whether round trips under load were requested; NA: no")
    back_to_back: int | None = setting(
        "back_to_back", Whole(1, 100), default=None,
        about="Number of searches for the longest burst without loss; the standard: 50.",
        column="requested number of searches for the longest burst; NA: none")
    residual_s: float = setting(
        "residual", NumberWithUnit("seconds", 0.001, 60, "2s"), default=2.0,
        label=_("wait for residual frames"),
        about="Missing frames count as lost when no frame has arrived for this time.",
        column="missing frames count as lost when no frame has arrived for this time")
    settle_s: float = setting(
        "settle", PAUSE, default=5.0, label=_("pause between trials"),
        about="Time between two trials of a search.", column="time between two trials of a search")
