"""The table of kinds of findings, each with what a report says of it. Pure.

Rules are asked in the order of the rows that name them, and findings of one severity keep it.
"""

from netlab.findings.kinds import (
    distance,
    limits,
    links,
    mesh,
    over_time,
    round_trips,
    searches,
    tcp_series,
    traffic,
    under_load,
)
from netlab.findings.kinds.kind import Kind, note, warning
from netlab.messages import _

__all__ = [
    "Kind",
    "distance",
    "limits",
    "links",
    "mesh",
    "missing",
    "over_time",
    "round_trips",
    "searches",
    "tcp_series",
    "traffic",
    "under_load",
]

RUN = "About a run"
DOUBTFUL = "What makes a stream's figure doubtful"

# A table: as few lines a row as it takes.
# fmt: off

warning(
    "facts-changed",
    _("its facts changed in the course of the run: {facts} and {more_facts} more"),
    _("its facts changed in the course of the run: {facts}"), rule="link_checks:hosts", rank=6,
    advice=_("the trials before and after are not of the same host: measure again"),
    section=RUN, stated="a fact that stays while nobody changes it was read differently in the "
        "course of the run")
warning(
    "link-speed",
    _("{interface} runs at {interface_speed_bit_per_s}, the link is stated with "
        "{link_rate_bit_per_s}"),
    rank=3, advice=_("state the rate that the interfaces negotiated, or mend the cable"),
    section=RUN, stated="the interface of a host that used a cable is slower than the link stated")
warning(
    "link-mtu",
    _("{interface} has an MTU of {interface_mtu_bytes} bytes, the link is stated with "
        "{link_mtu_bytes}"),
    rank=4, advice=_("state the MTU that the interfaces have, or set it"),
    section=RUN, stated="the interface of a host that used a cable has another MTU than the link "
        "stated")
warning(
    "duplex", _("{interface} runs at half duplex"), rank=5,
    advice=_("let both ends negotiate, or set both to full duplex"),
    section=RUN, stated="the interface of a host that used a cable runs at half duplex")
note(
    "virtual-machine", _("virtual, under {hypervisor}: {hosts}"),
    advice=_("its CPUs and its clock are shared with others"),
    section=RUN, stated="hosts run under a hypervisor")
# Its rule finds "above-ceiling" as well.
warning(
    "path-mtu",
    _("the path carries packets of {path_mtu_bytes} bytes, the link is stated with an MTU of "
        "{link_mtu_bytes}"),
    rule="validity:doubts", figures=("path_mtu_bytes", "link_mtu_bytes"),
    advice=_("state the MTU that the path has, or set it"),
    section=DOUBTFUL, stated="the sender's system knows of a smaller MTU to the receiver than the "
        "link is stated with")
warning(
    "congestion-differs",
    _("the senders use different congestion controls, which the matrix does not set ({controls})"),
    advice=_("set `congestion` in the matrix, so that all senders use the same"),
    section=DOUBTFUL, stated="senders used different congestion controls, and the matrix asks for "
        "none")
warning(
    "data-stopped",
    _("{in_trials}: no data for {stopped_ns} of {window_ns}, {when}; {cause}; attempts at the "
        "trial came to {attempts}"),
    _("{in_trials}: no data for {stopped_ns} of {window_ns}, {when}; {cause}"),
    _("no data for {stopped_ns} of {window_ns}, {when}; {cause}; attempts at the trial came to "
        "{attempts}"),
    _("no data for {stopped_ns} of {window_ns}, {when}; {cause}"),
    rule="stops.data_stopped:stopped", rank=1,
    advice=_("the figure is of a window in which nothing came for a while: mend what stopped it, "
        "and measure it again"),
    section=DOUBTFUL, stated="[data stopped](#when-data-stop) in a trial that counts; with how "
        "long, when, what stopped it, and what all attempts at the worst trial came to")
note(
    "measured-again",
    _("{in_trials}: measured again after no data for {stopped_ns} of {window_ns}, {when}; "
        "{cause}; attempts at the trial came to {attempts}"),
    _("measured again after no data for {stopped_ns} of {window_ns}, {when}; {cause}; attempts "
        "at the trial came to {attempts}"),
    _("measured again after no data for {stopped_ns} of {window_ns}, {when}; {cause}"),
    rank=76, leads=False,
    advice=_("the last attempt counts; where this is frequent, mend the host or the cable"),
    section=DOUBTFUL, stated="data stopped in an earlier attempt at a trial, and not in the one "
        "that counts; with the figures of all attempts")
warning(
    "process-stalled",
    _("{in_trials}: {cause} for {stalled_ns} of {window_ns}, in short pauses"),
    _("{cause} for {stalled_ns} of {window_ns}, in short pauses"),
    rule="stops.held_up:held_up", rank=51,  # what it waited for comes first
    advice=_("look for what stops or throttles the probe on that host (a quota, a debugger, other "
        "work, a host under the host), and measure it again"),
    section=DOUBTFUL, stated="the probe's process at an end did not run for 3 % of its window and "
        "more, in all pauses of 40 ms and more (its ticks came late, and no thread of its test had "
        "a CPU meanwhile); not where data stopped, which says it already. Such a trial is not "
        "measured again: a quota or a busy host would be the same")
warning(
    "cpus-taken",
    _("{in_trials}: {cause}, {steal_share} of their time"),
    _("{cause}, {steal_share} of their time"),
    rank=9,
    advice=_("measure where the hosts have their CPUs to themselves, or let `quiet` in the matrix "
        "measure such trials again"),
    section=DOUBTFUL, stated="a hypervisor gave more than 5 % of the CPU time of an end of a "
        "stream to other machines during a trial of 0.2 s and more; where `process-stalled` or "
        "`data-stopped` does not say more")
warning(
    "messages-left-out",
    _("{in_trials}: the sender sent {sent_bit_per_s} of the {offered_bit_per_s} asked for; "
        "it left out {left_out}"),
    _("the sender sent {sent_bit_per_s} of the {offered_bit_per_s} asked for; "
        "it left out {left_out}"),
    rank=10,
    advice=_("the figure is of what was sent: see what kept the sender, or ask for less"),
    section=DOUBTFUL, stated="a paced sender left out messages that were due and sent less than "
        "98 % of the rate asked for; not where the wire carries no more, nor where one of the two "
        "above says why")
warning(
    "messages-late",
    _("{in_trials}: {received_bit_per_s} came where {offered_bit_per_s} were offered: messages "
        "that had been held up came within the window"),
    _("{received_bit_per_s} came where {offered_bit_per_s} were offered: messages that had been "
        "held up came within the window"),
    rank=10,
    advice=_("the figure is of a queue that emptied: see what held the data up before, and measure "
        "such trials again"),
    section=DOUBTFUL, stated="of a paced stream more than 103 % of the rate asked for came within "
        "the window (its receive calls are not long for it): messages that had been held up, such "
        "as in a queue before a cable that was out")
note(
    "stream-silent",
    _("one of {streams} streams had no data for {stopped_ns} of {window_ns}, while others had"),
    rule="stops.data_stopped:silent_streams", rank=77,
    advice=_("look at how the streams share the path, and for loss on it"),
    section=DOUBTFUL, stated="one of several streams had no data for as long, and for 20 mean "
        "distances of its messages, while others had")
warning(
    "clock-step", _("its clock was set by {clock_step_ns} during a trial"),
    rule="validity:clock_steps_of_round_trips", rank=7,
    advice=_("somebody set the clock during the trial: stop that, and measure it again"),
    section=DOUBTFUL, stated="wall time went off monotonic time by more than 0.5 s during a "
        "trial, at an end of a stream or of round trips")
warning(
    "clock-rate", _("its clock runs {clock_ppm} off the undisciplined one"),
    advice=_("the clock is being corrected: wait until it is in step, and measure again"),
    section=DOUBTFUL, stated="the monotonic clock ran more than 100 ppm off the undisciplined one")
note(
    "other-load",
    _("its CPUs had other work as well: the test was ready to run and without a CPU {waited} of "
        "the time and {stolen} of its CPUs’ time went to other machines, at the worst"),
    _("its CPUs had other work as well: the test was ready to run and without a CPU {waited} of "
        "the time, at the worst"),
    _("its CPUs had other work as well: {stolen} of its CPUs’ time went to other machines, at "
        "the worst"),
    advice=_("measure while nothing else runs on the host"),
    section=DOUBTFUL, stated="a thread of the test was without a CPU for more than 5 % of the "
        "window, or that much was given to other machines, though it is not the limit")
note(
    "power-saving", _("it saves power ({savings}): its speed follows its load"),
    advice=_("set the governor or the power plan to performance before measuring"),
    section=DOUBTFUL, stated="the CPUs' governor, the power plan or the interface (EEE) saves "
        "power")
warning(
    "off-time",
    _("{trials} of {all_trials} took {shortest_s} to {longest_s} where {asked_s} were asked for"),
    _("trials took {shortest_s} to {longest_s} where {asked_s} were asked for ({source})"),
    rule="durations:off_time", rank=64,
    advice=_("compare such trials with others of their length only"),
    section=RUN, stated="a trial's window, without its longest gap, differs by more than 2 % from "
        "the time asked for; or an imported document reports that of its trials")
warning(
    "outlier",
    _("{value} at a socket buffer of {socket_buffer} is an outlier; its neighbours have "
        "{expected} ({means})"),
    _("{value} is an outlier; its neighbours have {expected} ({means})"), rule="outliers:outliers",
    rank=9, advice=_("measure the cell again; until then go by the median or the mean without it"),
    section=RUN, stated="a cell lies more than 6 s off the median m of the 6 nearest others along "
        "the socket buffer (4 needed), s = max(1.4826 MAD, 1 % of m, 3 print steps); with the mean "
        "of its column with and without it, and the median (Hampel’s identifier with a floor)")
note(
    "step",
    _("a step to {value} at socket buffers of {buffers}; the cells beside have {expected}"),
    rank=67, advice=_("two neighbours bear each other out: look for what changes at this buffer"),
    section=RUN, stated="two and more adjacent cells are off the same way, by more than 5 s each: "
        "they bear each other out (as `outlier`)")
note(
    "stray-trial",
    _("{which_trial} does not go with the others, {nor_others}: {value}, they "
        "have {expected} ({means})"),
    _("{which_trial} does not go with the others: {value}, they have {expected} ({means})"),
    rank=71, advice=_("look at the time of the run for what happened then; go by the median"),
    section=RUN, stated="a trial among 5 and more has a modified z score above 3.5, with the same "
        "floor (Iglewicz and Hoaglin 1993)")
note(
    "wire-ceiling",
    says=(_("at the wire’s limit, {filled} and more of {ceiling_bit_per_s}, {in_cells}"),
        _("at the wire’s limit, {filled} and more of {ceiling_bit_per_s}"),
        _("at the wire’s limit, {filled} and more of its ceiling, {in_cells}"),
        _("at the wire’s limit, {filled} and more of its ceiling")),
    rule=lambda limits_told: limits_told,
    section="What limited a stream",
    stated="throughput is 98 % of the ceiling and more, with data both ways 96 %. \"In every "
        "cell\" is said where every trial of every cell shows it; else in which. Not of what is "
        "above its ceiling",
    rank=61, limit=_("the wire"), explains=False,
    advice=_("the link carries no more in messages of this size"))
warning(
    "above-ceiling",
    _("{excess} above the wire’s ceiling of {highest_ceiling_bit_per_s}: the link’s rate is not "
        "the one stated, or a clock or an offload deceives"),
    rule="ceilings:above_any", rank=1, figures=("highest_ceiling_bit_per_s",),
    advice=_("no link carries that: look at the rate stated for it, at offloads, at the "
        "receiver's clock"),
    section=DOUBTFUL, stated="throughput is more than 0.1 % above the highest ceiling that the "
        "TCP options may leave (0.2 % in printed tables), and by more than the length of its "
        "receive calls explains (`coarse`)")
note(
    "one-way",
    _("{throughput_bit_per_s}, where {against} has {other_bit_per_s}: {ratio} times as much the "
        "other way round"),
    rule="asymmetry:one_way", rank=66,
    advice=_("look at what differs between the ends: system, driver, way of connection"),
    section=RUN, stated="a pairing carries less than half of what the same two ends carry the "
        "other way round, by the medians over the buffers that both have")
note(
    "unexplained-fall",
    _("from a socket buffer of {buffer} on it falls from {expected} to {least}, which the data "
        "do not explain"),
    rule="ceilings:falls", rank=62,
    advice=_("what is recorded does not show why: measure it with the counters of both hosts"),
    section=RUN, stated="4 cells and more run at the wire ceiling, and behind the last of them 3 "
        "and more lie over 5 s lower, with no evidence of a limit")
note(
    "no-timestamps",
    _("{throughput_bit_per_s} is consistent with no TCP timestamps (ceiling "
        "{ceiling_without_bit_per_s}; {ceiling_with_bit_per_s} with them); not recorded"),
    rule="ceilings:without_timestamps", rank=68, advice=_("record the TCP options to be sure"),
    section=RUN, stated="TCP whose options nobody recorded, over the ceiling with timestamps in "
        "most cells and over that without in none; beyond 0.1 %, of printed tables 0.2 % (RFC "
        "7323, section 3: 12 bytes a segment)")
warning(
    "buffer-capped",
    _("socket buffers of {asked} were not given as asked for, but capped by {ends}; "
        "{most_effective_bytes} is the most in effect"),
    _("socket buffers of {asked} were not given as asked for, but capped by {ends}"),
    rule="buffers:buffers", rank=65,
    advice=_("raise rmem_max and wmem_max of the host, or leave these sizes out"),
    section=RUN, stated="a system said so of a buffer that it was asked for")
note(
    "same-buffer",
    _("socket buffers of {asked} came to one of {effective_bytes} in effect: {its_cells} of one "
        "point"),
    advice=_("these cells are one point measured again"),
    section=RUN, stated="cells of different buffers whose four buffers were read back as the same")
note(
    "buffer-no-effect",
    _("the socket buffer had no effect from {from_socket_buffer_bytes} to "
        "{to_socket_buffer_bytes}: {least} to {most}, but for {outliers}"),
    _("the socket buffer had no effect from {from_socket_buffer_bytes} to "
        "{to_socket_buffer_bytes}: {least} to {most}"),
    rank=72, advice=_("the buffer needs not be varied here"),
    section=RUN, stated="4 sizes and more, and the largest figure within 1 % of the smallest, but "
        "for outliers")
note(
    "buffer-doubled", _("socket buffers of {asked} were doubled by the system {of_ends}"),
    leads=False, advice=_("compare buffers of two systems by what they read back"),
    section=RUN, stated="a system said so of a buffer that it was asked for (Linux, `socket(7)`: "
        "SO_RCVBUF, SO_SNDBUF)")
note(
    "fragmented",
    _("each message is {fragments} fragments at an MTU of {mtu_bytes} bytes; up to "
        "{largest_whole_message_bytes} bytes are one frame"),
    rule="fragments:fragmented", rank=75,
    advice=_("one lost fragment loses the message: use the next smaller size that fits"),
    section=RUN, stated="a UDP message is longer than a frame of the path; with the longest that "
        "is not")
note(
    "cannot-tell",
    _("{pairing} against {against}, {protocol}: cannot tell, n = 1; the means of columns differ "
        "by {difference} Mbit/s"),
    rule="single_trials:unrepeated", rank=63, says_of_what=True,
    advice=_("repeat each cell, three times at least, five better"),
    section=RUN, stated="two pairings, one trial a cell: no test can tell them apart")
# fmt: on

# The last rows: rules are asked, and findings sorted, in the order of the table.
from netlab.findings.kinds import missing  # noqa: E402
