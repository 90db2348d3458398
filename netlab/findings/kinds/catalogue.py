"""The table of kinds of findings, each with what a report says of it. Pure.

Rules are asked in the order of the rows that name them, and findings of one severity keep it.
"""

from netlab.findings.kinds import limits, links
from netlab.findings.kinds.kind import Kind, note, warning
from netlab.messages import _

__all__ = ["Kind", "limits", "links"]

# A table: as few lines a row as it takes.
# fmt: off

warning(
    "facts-changed",
    _("its facts changed in the course of the run: {facts} and {more_facts} more"),
    _("its facts changed in the course of the run: {facts}"), rule="link_checks:hosts", rank=6,
    advice=_("the trials before and after are not of the same host: measure again"))
warning(
    "link-speed",
    _("{interface} runs at {interface_speed_bit_per_s}, the link is stated with "
        "{link_rate_bit_per_s}"),
    rank=3, advice=_("state the rate that the interfaces negotiated, or mend the cable"))
warning(
    "link-mtu",
    _("{interface} has an MTU of {interface_mtu_bytes} bytes, the link is stated with "
        "{link_mtu_bytes}"),
    rank=4, advice=_("state the MTU that the interfaces have, or set it"))
warning(
    "duplex", _("{interface} runs at half duplex"), rank=5,
    advice=_("let both ends negotiate, or set both to full duplex"))
note(
    "virtual-machine", _("virtual, under {hypervisor}: {hosts}"),
    advice=_("its CPUs and its clock are shared with others"))
# Its rule finds "above-ceiling" as well.
warning(
    "path-mtu",
    _("the path carries packets of {path_mtu_bytes} bytes, the link is stated with an MTU of "
        "{link_mtu_bytes}"),
    rule="validity:doubts", figures=("path_mtu_bytes", "link_mtu_bytes"),
    advice=_("state the MTU that the path has, or set it"))
warning(
    "congestion-differs",
    _("the senders use different congestion controls, which the matrix does not set ({controls})"),
    advice=_("set `congestion` in the matrix, so that all senders use the same"))
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
        "and measure it again"))
note(
    "measured-again",
    _("{in_trials}: measured again after no data for {stopped_ns} of {window_ns}, {when}; "
        "{cause}; attempts at the trial came to {attempts}"),
    _("measured again after no data for {stopped_ns} of {window_ns}, {when}; {cause}; attempts "
        "at the trial came to {attempts}"),
    _("measured again after no data for {stopped_ns} of {window_ns}, {when}; {cause}"),
    rank=76, leads=False,
    advice=_("the last attempt counts; where this is frequent, mend the host or the cable"))
warning(
    "process-stalled",
    _("{in_trials}: {cause} for {stalled_ns} of {window_ns}, in short pauses"),
    _("{cause} for {stalled_ns} of {window_ns}, in short pauses"),
    rule="stops.held_up:held_up", rank=8,
    advice=_("look for what stops or throttles the probe on that host (a quota, a debugger, other "
        "work, a host under the host), and measure it again"))
warning(
    "cpus-taken",
    _("{in_trials}: {cause}, {steal_share} of their time"),
    _("{cause}, {steal_share} of their time"),
    rank=9,
    advice=_("measure where the hosts have their CPUs to themselves, or let `quiet` in the matrix "
        "measure such trials again"))
warning(
    "messages-left-out",
    _("{in_trials}: the sender sent {sent_bit_per_s} of the {offered_bit_per_s} asked for; "
        "it left out {skipped_messages} messages that were due"),
    _("the sender sent {sent_bit_per_s} of the {offered_bit_per_s} asked for; "
        "it left out {skipped_messages} messages that were due"),
    rank=10,
    advice=_("the figure is of what was sent: see what kept the sender, or ask for less"))
warning(
    "messages-late",
    _("{in_trials}: {received_bit_per_s} came where {offered_bit_per_s} were offered: messages "
        "that had been held up came within the window"),
    _("{received_bit_per_s} came where {offered_bit_per_s} were offered: messages that had been "
        "held up came within the window"),
    rank=10,
    advice=_("the figure is of a queue that emptied: see what held the data up before, and measure "
        "such trials again"))
note(
    "stream-silent",
    _("one of {streams} streams had no data for {stopped_ns} of {window_ns}, while others had"),
    rule="stops.data_stopped:silent_streams", rank=77,
    advice=_("look at how the streams share the path, and for loss on it"))
warning(
    "clock-step", _("its clock was set by {clock_step_ns} during a trial"),
    rule="validity:clock_steps_of_round_trips", rank=7,
    advice=_("somebody set the clock during the trial: stop that, and measure it again"))
warning(
    "clock-rate", _("its clock runs {clock_ppm} off the undisciplined one"),
    advice=_("the clock is being corrected: wait until it is in step, and measure again"))
note(
    "other-load",
    _("its CPUs had other work as well: the test was ready to run and without a CPU {waited} of "
        "the time and {stolen} of its CPUs’ time went to other machines, at the worst"),
    _("its CPUs had other work as well: the test was ready to run and without a CPU {waited} of "
        "the time, at the worst"),
    _("its CPUs had other work as well: {stolen} of its CPUs’ time went to other machines, at "
        "the worst"),
    advice=_("measure while nothing else runs on the host"))
note(
    "power-saving", _("it saves power ({savings}): its speed follows its load"),
    advice=_("set the governor or the power plan to performance before measuring"))
warning(
    "off-time",
    _("{trials} of {of_trials} trials took {shortest_s} to {longest_s} where {asked_s} were "
        "asked for"),
    _("trials took {shortest_s} to {longest_s} where {asked_s} were asked for ({source})"),
    rule="durations:off_time", rank=64,
    advice=_("compare such trials with others of their length only"))
warning(
    "outlier",
    _("{value} at a socket buffer of {socket_buffer} is an outlier; its neighbours have "
        "{expected} ({means})"),
    _("{value} is an outlier; its neighbours have {expected} ({means})"), rule="outliers:outliers",
    rank=9, advice=_("measure the cell again; until then go by the median or the mean without it"))
note(
    "step",
    _("a step to {value} at socket buffers of {buffers}; the cells beside have {expected}"),
    rank=67, advice=_("two neighbours bear each other out: look for what changes at this buffer"))
note(
    "stray-trial",
    _("{which_trial} does not go with the others, nor do {more_strays} others: {value}, they "
        "have {expected} ({means})"),
    _("{which_trial} does not go with the others: {value}, they have {expected} ({means})"),
    rank=71, advice=_("look at the time of the run for what happened then; go by the median"))
note(
    "wire-ceiling",
    says=(_("at the wire’s limit, {filled} and more of {ceiling_bit_per_s}, {in_cells}"),
        _("at the wire’s limit, {filled} and more of {ceiling_bit_per_s}"),
        _("at the wire’s limit, {filled} and more of its ceiling, {in_cells}"),
        _("at the wire’s limit, {filled} and more of its ceiling")), rule=lambda limited: limited,
    section="What limited a stream",
    stated="throughput is 98 % of the ceiling and more, with data both ways 96 %. \"In every "
        "cell\" is said where every trial of every cell shows it; else in which",
    rank=61, limit=_("the wire"), explains=False,
    advice=_("the link carries no more in messages of this size"))
warning(
    "above-ceiling",
    _("{excess} above the wire’s ceiling of {highest_ceiling_bit_per_s}: the link’s rate is not "
        "the one stated, or a clock or an offload deceives"),
    rule="ceilings:above_any", rank=1, figures=("highest_ceiling_bit_per_s",),
    advice=_("no link carries that: look at the rate stated for it, at offloads, at the "
        "receiver's clock"))
note(
    "one-way",
    _("{throughput_bit_per_s}, where {against} has {other_bit_per_s}: {ratio} times as much the "
        "other way round"),
    rule="asymmetry:one_way", rank=66,
    advice=_("look at what differs between the ends: system, driver, way of connection"))
note(
    "unexplained-fall",
    _("from a socket buffer of {buffer} on it falls from {expected} to {least}, which the data "
        "do not explain"),
    rule="ceilings:falls", rank=62,
    advice=_("what is recorded does not show why: measure it with the counters of both hosts"))
note(
    "no-timestamps",
    _("{throughput_bit_per_s} is consistent with no TCP timestamps (ceiling "
        "{ceiling_without_bit_per_s}; {ceiling_with_bit_per_s} with them); not recorded"),
    rule="ceilings:without_timestamps", rank=68, advice=_("record the TCP options to be sure"))
warning(
    "buffer-capped",
    _("socket buffers of {asked} were not given as asked for, but capped by {ends}; "
        "{most_effective_bytes} is the most in effect"),
    _("socket buffers of {asked} were not given as asked for, but capped by {ends}"),
    rule="buffers:buffers", rank=65,
    advice=_("raise rmem_max and wmem_max of the host, or leave these sizes out"))
note(
    "same-buffer",
    _("socket buffers of {asked} came to one of {effective_bytes} in effect: {its_cells} of one "
        "point"),
    advice=_("these cells are one point measured again"))
note(
    "buffer-no-effect",
    _("the socket buffer had no effect from {from_socket_buffer_bytes} to "
        "{to_socket_buffer_bytes}: {least} to {most}, but for {outliers}"),
    _("the socket buffer had no effect from {from_socket_buffer_bytes} to "
        "{to_socket_buffer_bytes}: {least} to {most}"),
    rank=72, advice=_("the buffer needs not be varied here"))
note(
    "buffer-doubled", _("socket buffers of {asked} were doubled by the system {of_ends}"),
    leads=False, advice=_("compare buffers of two systems by what they read back"))
note(
    "fragmented",
    _("each message is {fragments} fragments at an MTU of {mtu_bytes} bytes; up to "
        "{largest_whole_message_bytes} bytes are one frame"),
    rule="fragments:fragmented", rank=75,
    advice=_("one lost fragment loses the message: use the next smaller size that fits"))
note(
    "cannot-tell",
    _("{pairing} against {against}, {protocol}: cannot tell, n = 1; the means of columns differ "
        "by {difference} Mbit/s"),
    rule="single_trials:unrepeated", rank=63, says_of_what=True,
    advice=_("repeat each cell, three times at least, five better"))
warning(
    "lost-in-socket",
    _("{lost_messages} of {sent_messages} messages lost: the receiving socket of {at_host} had no "
        "room for {dropped_frames}"), rule="streams.places:lost", rank=56,
    advice=_("enlarge the receiver's buffer; where that does not help it is its CPU"))
warning(
    "lost-in-backlog",
    _("{lost_messages} of {sent_messages} messages lost: the backlog of {at_host}’s CPUs had no "
        "room for {dropped_frames} frames"), rank=56,
    advice=_("spread interrupts over more CPUs, or raise net.core.netdev_max_backlog"))
warning(
    "lost-at-interface",
    _("{lost_messages} of {sent_messages} messages lost: the interface of {at_host} dropped "
        "{dropped_frames} frames"), rank=56,
    advice=_("look at its rings, its driver, and the MTU at both ends of its cable"))
warning(
    "lost-in-queue",
    _("{lost_messages} of {sent_messages} messages lost: the queue in front of {at_host}’s "
        "interface dropped {dropped_frames} frames"), rank=56,
    advice=_("lengthen that queue, or offer less"))
warning(
    "dropped-unsent",
    _("{dropped_frames} messages were never sent: the interface of {at_host}, or the queue in "
        "front of it, did not take them"), rank=57,
    advice=_("lengthen the queue of the sender's interface, or offer less"))
warning(
    "lost-on-path",
    _("{lost_messages} of {sent_messages} messages lost on the path: both hosts count all of "
        "their own drops, and {dropped_frames} frames are no more than those that nobody handles"),
    _("{lost_messages} of {sent_messages} messages lost on the path: both hosts count all of "
        "their own drops, and there were none"), rank=56,
    advice=_("look for a slower link, a short queue or errors on the path"))
warning(
    "loss-not-placed",
    _("{lost_messages} of {sent_messages} messages lost, and it cannot be told where: not all of "
        "{at_host}’s own drops are known"),
    _("{lost_messages} of {sent_messages} messages lost, and it cannot be told where: both hosts "
        "dropped {dropped_frames} frames, which is not most of it"),
    _("{lost_messages} of {sent_messages} messages lost, and it cannot be told where"), rank=58,
    leads=False,
    advice=_("watch both hosts with their systems' own tools while it is measured again"))
note(
    "sent-again",
    _("{sent_again} segments sent again: {at_host} dropped {dropped_here} frames {place}"),
    _("{sent_again} segments sent again, lost {place}: both hosts count all of their own drops, "
        "and {dropped_here} frames are no more than those that nobody handles"),
    _("{sent_again} segments sent again, lost {place}: both hosts count all of their own drops, "
        "and there were none"),
    _("{sent_again} segments sent again, and it cannot be told where they were lost"),
    rank=78, leads=False,
    advice=_("some are TCP's way to find the rate of the path; many cost throughput"))
warning(
    "failed-trials", _("{counted_trials} failed, messages of {message_bytes} bytes: {why}"),
    _("{counted_trials} failed: {why}"), rule="coverage:missing", rank=8,
    advice=_("run the matrix again: what failed is tried again"))
note(
    "missing-cells",
    _("{cells} of {all_cells} without a result, messages of {message_bytes} bytes: {why}"),
    _("{cells} of {all_cells} without a result: {why}"), rank=73,
    advice=_("a blank enters no mean"))
note(
    "fewer-cells", _("its mean rests on {counted_cells}, others beside it on {most_cells}"),
    rule="coverage:fewer_cells", rank=74, advice=_("compare means over the cells that both have"))
