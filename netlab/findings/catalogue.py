"""The table of all kinds of findings, each with what a report says of it. Pure.

Rules are asked in the order of the rows that name them; of one severity, what is found stands in
that order.
"""

from netlab.findings.kind import Kind, register
from netlab.findings.limit_kinds import LIMITS
from netlab.messages import _

_CHECKS = (
    Kind(
        "link-far-below",
        "warning",
        rule="link_checks:links",
        rank=2,
        says=(
            _(
                "nowhere more than {throughput_bit_per_s}, {ceiling_share} of what the link of "
                "{link_rate_bit_per_s} carries, of which other pairings reach "
                "{others_ceiling_share}: suspect a host, the cable or its duplex rather than what "
                "was varied"
            ),
            _(
                "nowhere more than {throughput_bit_per_s}, {ceiling_share} of what the link of "
                "{link_rate_bit_per_s} carries: suspect a host, the cable or its duplex rather "
                "than what was varied"
            ),
        ),
        advice=_(
            "look at speed, duplex, cable and driver at both ends, and at the rate stated for the "
            "link"
        ),
    ),
    Kind(
        "facts-changed",
        "warning",
        rule="link_checks:hosts",
        rank=6,
        says=(
            _("its facts changed in the course of the run: {facts} and {more_facts} more"),
            _("its facts changed in the course of the run: {facts}"),
        ),
        advice=_("the trials before and after are not of the same host: measure anew"),
    ),
    Kind(
        "link-speed",
        "warning",
        rank=3,
        says=(
            _(
                "{interface} runs at {interface_speed_bit_per_s}, the link is stated with "
                "{link_rate_bit_per_s}"
            ),
            _(
                "its interface runs at {interface_speed_bit_per_s}, the link is stated with "
                "{link_rate_bit_per_s}"
            ),
        ),
        advice=_("state the rate that the interfaces negotiated, or mend the cable"),
    ),
    Kind(
        "link-mtu",
        "warning",
        rank=4,
        says=(
            _(
                "{interface} has an MTU of {interface_mtu_bytes} bytes, the link is stated with "
                "{link_mtu_bytes}"
            ),
            _(
                "its interface has an MTU of {interface_mtu_bytes} bytes, the link is stated with "
                "{link_mtu_bytes}"
            ),
        ),
        advice=_("state the MTU that the interfaces have, or set it"),
    ),
    Kind(
        "duplex",
        "warning",
        rank=5,
        says=(_("{interface} runs at half duplex"), _("its interface runs at half duplex")),
        advice=_("let both ends negotiate, or set both to full duplex"),
    ),
    Kind(
        "virtual-machine",
        "note",
        rank=90,
        says=_("virtual, under {hypervisor}: {hosts}"),
        advice=_("its CPUs and its clock are shared with others"),
    ),
    Kind(
        "path-mtu",
        "warning",
        rule="validity:doubts",
        figures=("path_mtu_bytes", "link_mtu_bytes"),
        says=_(
            "the path carries packets of {path_mtu_bytes} bytes, the link is stated with an MTU of "
            "{link_mtu_bytes}"
        ),
        advice=_("state the MTU that the path has, or set it"),
    ),
    Kind(
        "congestion-differs",
        "warning",
        says=_(
            "the senders use different congestion controls, which the matrix does not set "
            "({controls})"
        ),
        advice=_("set `congestion` in the matrix, so that all senders use the same"),
    ),
    Kind(
        "clock-step",
        "warning",
        rank=7,
        says=_("its clock was set by {clock_step_ns} during a trial"),
        advice=_("somebody set the clock during the trial: stop that, and measure it again"),
    ),
    Kind(
        "clock-rate",
        "warning",
        says=_("its clock runs {clock_ppm} off the undisciplined one"),
        advice=_("the clock is being corrected: wait until it is in step, and measure again"),
    ),
    Kind(
        "other-load",
        "note",
        rank=90,
        says=(
            _(
                "its CPUs had other work as well: the test was ready to run and without a CPU "
                "{waited} of the time and {stolen} of its CPUs’ time went to other machines, at "
                "the worst"
            ),
            _(
                "its CPUs had other work as well: the test was ready to run and without a CPU "
                "{waited} of the time, at the worst"
            ),
            _(
                "its CPUs had other work as well: {stolen} of its CPUs’ time went to other "
                "machines, at the worst"
            ),
        ),
        advice=_("measure while nothing else runs on the host"),
    ),
    Kind(
        "power-saving",
        "note",
        rank=90,
        says=_("it saves power ({savings}): its speed follows its load"),
        advice=_("set the governor or the power plan to performance before measuring"),
    ),
    Kind(
        "off-time",
        "warning",
        rule="durations:off_time",
        rank=64,
        says=(
            _(
                "{trials} of {of_trials} trials took {shortest_s} to {longest_s} where {asked_s} "
                "were asked for"
            ),
            _("trials took {shortest_s} to {longest_s} where {asked_s} were asked for ({source})"),
        ),
        advice=_("compare such trials with others of their length only"),
    ),
    Kind(
        "outlier",
        "warning",
        rule="outliers:outliers",
        rank=9,
        says=(
            _(
                "{value} at a socket buffer of {socket_buffer} is an outlier; its neighbours have "
                "{expected} ({means})"
            ),
            _("{value} is an outlier; its neighbours have {expected} ({means})"),
        ),
        advice=_("measure the cell again; until then go by the median or the mean without it"),
    ),
    Kind(
        "step",
        "note",
        rank=67,
        says=_(
            "a step to {value} at socket buffers of {buffers}; the cells beside have {expected}"
        ),
        advice=_("two neighbours bear each other out: look for what changes at this buffer"),
    ),
    Kind(
        "stray-trial",
        "note",
        rank=71,
        says=(
            _(
                "{which_trial} does not go with the others, nor do {more_strays} others: {value}, "
                "they have {expected} ({means})"
            ),
            _("{which_trial} does not go with the others: {value}, they have {expected} ({means})"),
        ),
        advice=_("look at the time of the run for what happened then; go by the median"),
    ),
)

_SHAPES = (
    Kind(
        "above-ceiling",  # of messages of a known size by the rule of the doubts
        "warning",
        rule="ceilings:above_any",
        rank=1,
        figures=("highest_ceiling_bit_per_s",),
        says=_(
            "{excess} above the wire’s ceiling of {highest_ceiling_bit_per_s}: the link’s rate is "
            "not the one stated, or a clock or an offload deceives"
        ),
        advice=_(
            "no link carries that: look at the rate stated for it, at offloads, at the receiver's "
            "clock"
        ),
    ),
    Kind(
        "one-way",
        "note",
        rule="asymmetry:one_way",
        rank=66,
        says=_(
            "{throughput_bit_per_s}, where {against} has {other_bit_per_s}: {ratio} times as much "
            "the other way round"
        ),
        advice=_("look at what differs between the ends: system, driver, way of connection"),
    ),
    Kind(
        "unexplained-fall",
        "note",
        rule="ceilings:falls",
        rank=62,
        says=_(
            "from a socket buffer of {buffer} on it falls from {expected} to {least}, which the "
            "data do not explain"
        ),
        advice=_("what is recorded does not show why: measure it with the counters of both hosts"),
    ),
    Kind(
        "no-timestamps",
        "note",
        rule="ceilings:without_timestamps",
        rank=68,
        says=_(
            "{throughput_bit_per_s} is consistent with no TCP timestamps (ceiling "
            "{ceiling_without_bit_per_s}; {ceiling_with_bit_per_s} with them); not recorded"
        ),
        advice=_("record the TCP options to be sure"),
    ),
    Kind(
        "buffer-capped",
        "warning",
        rule="buffers:buffers",
        rank=65,
        says=(
            _(
                "socket buffers of {asked} were not given as asked for, but capped by {ends}; "
                "{most_effective_bytes} is the most in effect"
            ),
            _("socket buffers of {asked} were not given as asked for, but capped by {ends}"),
        ),
        advice=_("raise rmem_max and wmem_max of the host, or leave these sizes out"),
    ),
    Kind(
        "same-buffer",
        "note",
        rank=90,
        says=_(
            "socket buffers of {asked} came to one of {effective_bytes} in effect: {its_cells} of "
            "one point"
        ),
        advice=_("these cells are one point measured again"),
    ),
    Kind(
        "buffer-no-effect",
        "note",
        rank=72,
        says=(
            _(
                "the socket buffer had no effect from {from_socket_buffer_bytes} to "
                "{to_socket_buffer_bytes}: {least} to {most}, but for {outliers}"
            ),
            _(
                "the socket buffer had no effect from {from_socket_buffer_bytes} to "
                "{to_socket_buffer_bytes}: {least} to {most}"
            ),
        ),
        advice=_("the buffer needs not be varied here"),
    ),
    Kind(
        "buffer-doubled",
        "note",
        leads=False,
        says=_("socket buffers of {asked} were doubled by the system {of_ends}"),
        advice=_("compare buffers of two systems by what they read back"),
    ),
    Kind(
        "fragmented",
        "note",
        rule="fragments:fragmented",
        rank=75,
        says=_(
            "each message is {fragments} fragments at an MTU of {mtu_bytes} bytes; up to "
            "{largest_whole_message_bytes} bytes are one frame"
        ),
        advice=_("one lost fragment loses the message: use the next smaller size that fits"),
    ),
    Kind(
        "cannot-tell",
        "note",
        rule="single_trials:unrepeated",
        rank=63,
        says_of_what=True,
        says=_(
            "{pairing} against {against}, {protocol}: cannot tell, n = 1; the means of columns "
            "differ by {difference} Mbit/s"
        ),
        advice=_("repeat each cell, three times at least, five better"),
    ),
    Kind(
        "failed-trials",
        "warning",
        rule="coverage:missing",
        rank=8,
        says=(
            _("{counted_trials} failed, messages of {message_bytes} bytes: {why}"),
            _("{counted_trials} failed: {why}"),
        ),
        advice=_("run the matrix again: what failed is tried anew"),
    ),
    Kind(
        "missing-cells",
        "note",
        rank=73,
        says=(
            _("{cells} of {all_cells} without a result, messages of {message_bytes} bytes: {why}"),
            _("{cells} of {all_cells} without a result: {why}"),
        ),
        advice=_("a blank enters no mean"),
    ),
    Kind(
        "fewer-cells",
        "note",
        rule="coverage:fewer_cells",
        rank=74,
        says=_("its mean rests on {counted_cells}, others beside it on {most_cells}"),
        advice=_("compare means over the cells that both have"),
    ),
)

register(*_CHECKS, *LIMITS, *_SHAPES)

__all__ = ["Kind"]
