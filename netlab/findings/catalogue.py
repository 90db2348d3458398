"""The table of kinds of findings, each with its texts; two more files have its first rows.

Rules run in the order of the rows that name them, and findings of one severity keep that order.
"""

from netlab.findings import kind, kinds_of_streams, kinds_of_tests
from netlab.findings.kind import Kind, expect_words, note, value, warning, words_of
from netlab.messages import _

__all__ = ["Kind", "expect_words", "kinds_of_streams", "kinds_of_tests", "words_of"]

# This is a table: each row has as few lines as possible, so it is not formatted.
# fmt: off

warning("facts-changed",
    _("its system or its settings changed during the run: {facts} and {more_facts} more"),
    _("its system or its settings changed during the run: {facts}"), rule="validity:hosts", rank=6,
    advice=_("the trials before and after the change were measured on a host in different states: "
        "measure again"),
    section=kind.RUN, condition="a property of a host had more than one value during the run. The "
        "rule compares properties that change only if somebody changes or restarts the host, such "
        "as the kernel, the buffer limits or the interface")
warning("interface", section=kind.RUN,
    condition="a host measured over a cable, and its interface is slower than the stated link "
        "(`speed`), has another MTU (`mtu`), or runs at half duplex (`duplex`)",
    values={
        "speed": value(_("{interface} runs at {interface_speed_bit_per_s}, but the matrix states a "
                "link of {link_rate_bit_per_s}"), rank=3,
            advice=_("state the rate that the interfaces negotiated, or replace the cable")),
        "mtu": value(_("{interface} has an MTU of {interface_mtu_bytes} bytes, but the matrix "
                "states {link_mtu_bytes}"), rank=4,
            advice=_("state the MTU that the interfaces have, or set it")),
        "duplex": value(_("{interface} runs at half duplex"), rank=5,
            advice=_("let both ends negotiate, or set both to full duplex"))})
note("virtual-machine", _("virtual machines under {hypervisor}: {hosts}"),
    advice=_("these hosts share their CPUs and clocks with other machines"),
    section=kind.RUN, condition="one or more hosts run under a hypervisor. There is one finding "
        "for all hosts under the same hypervisor")
# The rule of "mtu-mismatch/stream" also makes the findings "above-ceiling…".
warning("mtu-mismatch/stream",
    _("the path carries packets of {path_mtu_bytes} bytes, but the matrix states an MTU of "
        "{link_mtu_bytes}"), rule="validity:doubts", figures=("path_mtu_bytes", "link_mtu_bytes"),
    advice=_("state the MTU that the path has, or set it"),
    section=kind.DOUBTFUL, condition="in more than half of a cell's trials, the path MTU that the "
        "sender's system knows is smaller than the MTU of the stated link")
warning("congestion-differs",
    _("the senders use different congestion controls, which the matrix does not set ({controls})"),
    advice=_("set `congestion` in the matrix, so that all senders use the same"),
    section=kind.DOUBTFUL, condition="TCP senders used different congestion controls in cells for "
        "which the matrix does not set `congestion`")
warning("interruption", section=kind.DOUBTFUL, condition="[data stopped](#when-data-stop): "
        "`final`, in the attempt that counts (of several trials, the one in which data stopped for "
        "the longest time); `earlier`, only in an earlier attempt at the trial; `one-stream`, in "
        "one of several streams for at least that time and at least {over_time.SILENT} times the "
        "mean interval between its receive calls, while others had data. The finding has the time "
        "without data, the start of the longest gap, the cause, and the result of each attempt",
    values={
        "final": value(_("no data arrived for {stopped_ns} of {window_ns}, {when}; {cause}; the "
                "attempts at the trial reached {attempts}"),
            _("no data arrived for {stopped_ns} of {window_ns}, {when}; {cause}"),
            rule="over_time:stopped", rank=1, advice=_("the figure includes a time without data: "
                "remove the cause, then measure again")),
        "earlier": value(_("measured again, because no data arrived for {stopped_ns} of "
                "{window_ns}, {when}; {cause}; the attempts at the trial reached {attempts}"),
            _("measured again, because no data arrived for {stopped_ns} of {window_ns}, {when}; "
                "{cause}"), severity="note", rank=76, leads=False,
            advice=_("the last attempt counts; if this happens often, check the host and the "
                "cable")),
        "one-stream": value(
            _("one of {streams} streams had no data for {stopped_ns} of {window_ns}, while other "
                "streams had data"), rule="over_time:silent_streams", severity="note", rank=77,
            advice=_("check how the streams share the path, and whether the path loses packets"))})
warning("host-delay", rule="over_time:delayed_trials", section=kind.DOUBTFUL,
    condition="`process`: the process of the probe at one end did not run during at least "
        "{over_time.STALLED:%} of the window: the sum of the delays of at least 20 ms of a timer "
        "that wakes it every 20 ms. This and the CPU time of its busiest thread are at most "
        "{over_time.RAN:%} of the window; else the timer was late while the thread ran. netlab "
        "does not repeat such a trial: a quota or a busy host would have the same effect again. "
        "`hypervisor`: it gave more than {stream_rules.STARVED:%} of the CPU time of an end's host "
        "to other machines, in a window of at least {derived.WINDOW_NS/1e9} s. Only the first of "
        "`interruption/final`, `process` and `hypervisor` is stated",
    values={
        "process": value(_("{cause} for {stalled_ns} of {window_ns}, in short pauses"),
            rank=51,  # after the limits (50): the cause
            advice=_("find what stops or throttles the probe on that host (a quota, a debugger, "
                "other work, the hypervisor), then measure again")),
        "hypervisor": value(_("{cause} for {steal_share} of the time"), rank=9,
            advice=_("measure on hosts that do not share their CPUs, or let `quiet` in the matrix "
                "repeat such trials"))})
warning("off-rate", rank=10, section=kind.DOUBTFUL, condition="`less`: a paced sender left out "
        "messages that were due, and sent less than {stream_limits.OFFERED:%} of the offered rate, "
        "while throughput was below {stream_limits.FILLED:%} of the wire ceiling. `more`: within "
        "the window of a paced stream more than {over_time.LATE:%} of the offered rate arrived, in "
        "short receive calls (no `coarse`): it includes messages that were delayed before the "
        "window, for instance while a cable was unplugged; not of another tool (`engine`). Not "
        "stated with `interruption/final` or `host-delay`",
    values={
        "less": value(_("the sender sent {sent_bit_per_s} of the requested {offered_bit_per_s}; it "
                "left out {left_out}"),
            advice=_("the sender limits the figure: find what slowed it down, or request a lower "
                "rate")),
        "more": value(_("{received_bit_per_s} arrived, but only {offered_bit_per_s} was offered: "
                "the window includes delayed messages"),
            advice=_("the figure includes data that waited in a queue: find what delayed the data, "
                "then repeat such trials"))})
warning("clock", section=kind.DOUBTFUL,
    condition="`step`: at one end of a stream or of round trips, the difference between the wall "
        "clock and the monotonic clock changed by more than 0.5 s during a trial. `rate`: in more "
        "than half of a cell's trials, a host's monotonic clock, which time synchronisation "
        "corrects, differed by more than {validity.CLOCK_PPM} ppm from CLOCK_MONOTONIC_RAW",
    values={
        "step": value(_("its clock jumped by {clock_step_ns} during a trial"),
            rule="validity:clock_steps_of_round_trips", rank=7,
            advice=_("something set the clock during the trial: prevent that, then measure again")),
        "rate": value(_("time synchronisation changed the rate of its clock by {clock_ppm}"),
            advice=_("time synchronisation is correcting the clock: wait until the clock is right, "
                "then measure again"))})
note("other-load", _("other work used its CPUs: at worst, the test waited for a CPU {waited} of "
        "the time, and {stolen} of the CPU time went to other machines"),
    _("other work used its CPUs: at worst, the test waited for a CPU {waited} of the time"),
    _("other work used its CPUs: at worst, {stolen} of the CPU time went to other machines"),
    advice=_("measure while nothing else runs on the host"),
    section=kind.DOUBTFUL, condition="in more than half of a cell's trials, a thread of the test "
        "at one end waited for a CPU for more than {stream_rules.STARVED:%} of the window, and no "
        "CPU quota throttled this end; or a hypervisor gave more than {stream_rules.STARVED:%} of "
        "the CPU time of one end to other machines. The limit of these trials is not "
        "`cpu-wait/sender-programs`, `cpu-wait/receiver-programs` or `cpu-wait/steal`")
note(
    "power-saving", _("power saving is on ({savings}): the speed of the host varies with its load"),
    advice=_("set the governor or the power plan to performance before measuring"),
    section=kind.DOUBTFUL, condition="the CPU governor, the power plan or the interface (EEE) "
        "saves power")
warning("off-time",
    _("{trials} of {all_trials} took {shortest_s} to {longest_s} instead of {asked_s}"),
    _("trials took {shortest_s} to {longest_s} instead of {asked_s} ({source})"),
    rule="runs:off_time", rank=64,
    advice=_("compare such trials only with others of the same length"),
    section=kind.RUN, condition="the window of a trial is longer or shorter than the requested "
        "time by more than {runs.TOLERANCE:%} of it plus the longest gap between messages (in "
        "round trips: the longest round trip plus the time-out of a request). Also stated if an "
        "imported document states a difference of more than {runs.TOLERANCE:%} for its trials")
warning("deviation", section=kind.RUN, condition="the *scale* of some figures is the largest of "
        "{stats.TO_DEVIATION} times their median absolute deviation, 1 % of their median, and 3 "
        "print steps (units of the last digit in an imported table). `cell`: the median of a cell "
        "differs from that of its *neighbours*, the {stats.NEIGHBOURS} nearest other cells along "
        "the axis of socket buffers (at least {stats.LEAST_NEIGHBOURS}), by more than "
        "{stats.AXIS_LIMIT} times their scale (Hampel’s identifier with a minimum for the scale). "
        "`step`: two or more adjacent cells do so in the same direction by more than "
        "{stats.STEP_LIMIT} times the scale, so they confirm each other. `trial`: of at least "
        "{stats.LEAST_SIBLINGS} trials of a cell, one differs from their median by more than "
        "{stats.SIBLINGS_LIMIT} times their scale (modified z score; Iglewicz and Hoaglin 1993)",
    values={
        "cell": value(_("{value} at a socket buffer of {socket_buffer} is an outlier; its "
                "neighbours have {expected} ({means})"),
            _("{value} is an outlier; its neighbours have {expected} ({means})"),
            rule="buffers:outliers", rank=9, advice=_("measure the cell again; until then use the "
                "median, or the mean without outliers")),
        "step": value(_("a step to {value} at socket buffers of {buffers}; the neighbouring cells "
                "have {expected}"), severity="note", rank=67,
            advice=_("neighbouring cells confirm each other: look for what changes at this buffer "
                "size")),
        "trial": value(_("{which_trial} is an outlier, {nor_others}: {value}; the others have "
                "{expected} ({means})"),
            _("{which_trial} is an outlier: {value}; the others have {expected} ({means})"),
            severity="note", rank=71,
            advice=_("check what happened at that time of the run; use the median"))})
note("wire-ceiling",
    says=(_("at the wire’s limit, within {margin} of {ceiling_bit_per_s}, {in_cells}"),
        _("at the wire’s limit, within {margin} of {ceiling_bit_per_s}"),
        _("at the wire’s limit, within {margin} of the wire ceiling, {in_cells}"),
        _("at the wire’s limit, within {margin} of the wire ceiling")),
    rule=lambda reported_limits: reported_limits, section=kind.BOTTLENECK,
    condition="throughput is at least {stream_limits.FILLED:%} of the wire ceiling "
        "({stream_limits.FILLED_BOTH_WAYS:%} with data both ways), and is not above the ceiling as "
        "`above-wire/rate` defines it. If this holds for every trial of every cell, the sentence "
        "says \"in every cell\". Otherwise the sentence has the number of the cells or trials for "
        "which it holds", rank=61, limit=_("the wire"), explains=False,
    advice=_("the link carries no more with messages of this size"))
warning("above-wire", rule="buffers:above_any", figures=("highest_ceiling_bit_per_s",),
    section=kind.DOUBTFUL, condition="in more than half of a cell's trials throughput is above the "
        "wire ceiling, by more than 0.1 % (0.2 % in imported tables) plus its uncertainty (with "
        "`coarse`: the largest receive call and the change of the receive queue, as a share of all "
        "bytes). Unknown TCP options count as those with the least overhead, an unknown message "
        "size as the best one. `rate`: netprobe measured it. `tool`: another tool did (`engine`), "
        "and over the same link (the same hosts, `network` and `interface`) netprobe fills the "
        "wire in a cell and is above the ceiling in none. `either`: neither of the two. If "
        "netprobe's cells are above the ceiling too, those of the tool are `rate`",
    values={
        "rate": value(_("{excess} above the wire ceiling of {highest_ceiling_bit_per_s}: the "
                "stated link rate is wrong, or a clock or an offload distorts the figure"), rank=1,
            advice=_("no link carries that: check the stated rate, the offloads and the receiver's "
                "clock")),
        "tool": value(_("the figure of {tool} is {excess} above the wire ceiling of "
                "{highest_ceiling_bit_per_s}, netprobe’s are not: {way}"), rank=14,
            advice=_("the wire does not carry that: use netprobe's figure instead")),
        "either": value(_("the figure of {tool} is {excess} above the wire ceiling of "
                "{highest_ceiling_bit_per_s}: the stated link rate is wrong, or {tool} counts too "
                "much ({way})"), rank=1,
            advice=_("measure the same cells with netprobe: its figures show which of the two is "
                "wrong"))})
note("one-way", _("{throughput_bit_per_s}, but {against} has {other_bit_per_s}: {ratio} times as "
        "much in the other direction"), rule="runs:one_way", rank=66,
    advice=_("compare the two ends: operating system, driver, connection"),
    section=kind.RUN, condition="a pairing carries less than half of what the same two ends carry "
        "in the other direction. The rule compares the medians over the socket buffer sizes that "
        "were measured in both directions. Not stated if findings `mesh-limit/host`, "
        "`mesh-limit/pair` or `mesh-limit/mesh` already name all compared cells of the slower "
        "direction")
note("unexplained-fall", _("throughput falls from {expected} to {least} at socket buffers of "
        "{buffer} and larger; nothing recorded explains it"), rule="buffers:falls", rank=62,
    advice=_("nothing recorded shows the cause: measure again with the counters of both hosts"),
    section=kind.RUN, condition="at least {buffers.LEAST_FULL} cells of a column are *full*: they "
        "reach {stream_limits.FILLED:%} of the wire ceiling ({stream_limits.FILLED_BOTH_WAYS:%} "
        "with data both ways). At least {buffers.LEAST_FALLEN} further cells have larger socket "
        "buffers than all of these, and each is below their median by more than {stats.STEP_LIMIT} "
        "times the scale (that of `deviation/cell`, from the full cells). No rule finds the limit "
        "of any further cell")
note("no-timestamps", _("{throughput_bit_per_s} is consistent with TCP without timestamps (wire "
        "ceiling {ceiling_without_bit_per_s}; with timestamps {ceiling_with_bit_per_s}); the TCP "
        "options are not recorded"),
    rule="buffers:without_timestamps", rank=68, advice=_("record the TCP options to be sure"),
    section=kind.RUN, condition="the options of TCP are not recorded; throughput is above the wire "
        "ceiling with timestamps in more than half of the cells of a column, and above that "
        "without timestamps in none, by more than 0.1 % (0.2 % in imported tables). Timestamps "
        "take 12 bytes of each segment (RFC 7323, section 3). Not stated for cells of another tool "
        "(`engine`), because its way of counting may be the cause")
note("socket-buffer", rule="buffers:buffers", section=kind.RUN, condition="`capped`, `doubled`: "
        "the system of an end reported that it made a requested socket buffer smaller, or doubled "
        "it (Linux, `socket(7)`). `same`: cells have different requested buffers, but all four "
        "effective ones are the same. `no-effect`: at least {buffers.LEAST_LEVELS} sizes were "
        "measured, and the largest median of a cell is at most {buffers.NO_EFFECT:%} above the "
        "smallest, if need be without the cells of `deviation/cell`",
    values={
        "capped": value(_("socket buffers of {asked} were capped by {ends}; the largest effective "
                "size is {most_effective_bytes}"),
            _("socket buffers of {asked} were capped by {ends}"), severity="warning", rank=65,
            advice=_("raise rmem_max and wmem_max of the host, or leave these sizes out")),
        "same": value(_("socket buffers of {asked} all have an effective size of "
                "{effective_bytes}: {its_cells} measure the same conditions"),
            advice=_("these cells repeat one measurement")),
        "no-effect": value(_("the socket buffer had no effect from {from_socket_buffer_bytes} to "
                "{to_socket_buffer_bytes}: {least} to {most}, except for {outliers}"),
            _("the socket buffer had no effect from {from_socket_buffer_bytes} to "
                "{to_socket_buffer_bytes}: {least} to {most}"), rank=72,
            advice=_("you need not vary the buffer here")),
        "doubled": value(
            _("socket buffers of {asked} were doubled by the system {of_ends}"), leads=False,
            advice=_("compare the buffers of two systems by their effective sizes"))})
note("fragmented", _("each message is sent as {fragments} fragments at an MTU of {mtu_bytes} "
        "bytes; messages of up to {largest_whole_message_bytes} bytes fit one frame"),
    rule="buffers:fragmented", rank=75, advice=_("one lost fragment loses the whole message: use "
        "the next smaller size that fits one frame"),
    section=kind.RUN, condition="a UDP message does not fit into one frame of the path. The "
        "finding has the length of the longest message that fits")
note("cannot-tell", _("{pairing} against {against}, {protocol}: no verdict, because each cell has "
        "one trial (n = 1); the column means differ by {difference} Mbit/s"),
    rule="runs:unrepeated", rank=63, says_of_what=True,
    advice=_("repeat each cell at least three times, better five"),
    section=kind.RUN, condition="every cell with streams has one trial, so no statistical test can "
        "show whether two pairings differ. Not stated if there are more than six pairings, or if "
        "pairings are named by host names instead of letters")
warning("loss", rule="stream_rules:lost", rank=56, section=kind.LOST,
    condition="messages were lost. `socket`, `backlog` (softnet), `interface`, `queue`: the drops "
        "that both hosts counted there are at least half of the loss, and more than in any other "
        "place. Drops that may belong to the other direction, or to a protocol without a handler, "
        "do not count; of the receiver's backlog and interface only the larger number does. "
        "`unsent`: the send calls reported that the interface or its queue refused messages. "
        "`path`: two machines, all their counters are known and grew by less than half of the "
        "loss, at interfaces only, by at most two frames per second (STP, LLDP); all messages were "
        "reassembled, and the probable other traffic is less than half of the loss (else the "
        "receiver may have dropped our frames behind its interface). `unknown`: none of these",
    values={
        "socket": value(_("{lost_messages} of {sent_messages} messages lost: the receiving socket "
                "of {at_host} had no room for {dropped_frames}"),
            advice=_("enlarge the receiver's buffer; if that does not help, its CPU is the limit")),
        "backlog": value(_("{lost_messages} of {sent_messages} messages lost: the backlog of "
                "{at_host}’s CPUs had no room for {those_frames}"),
            advice=_("spread interrupts over more CPUs, or raise net.core.netdev_max_backlog")),
        "interface": value(_("{lost_messages} of {sent_messages} messages lost: the interface of "
                "{at_host} dropped {those_frames}"),
            advice=_("check the interface's rings and driver, and the MTU at both ends of its "
                "cable")),
        "queue": value(_("{lost_messages} of {sent_messages} messages lost: the queue in front of "
                "{at_host}’s interface dropped {those_frames}"),
            advice=_("lengthen that queue, or offer a lower rate")),
        "unsent": value(_("{never_sent}: the interface of {at_host}, or the queue in front of it, "
                "refused to take more"), rank=57,
            advice=_("lengthen the queue of the sender's interface, or offer a lower rate")),
        "path": value(_("{lost_messages} of {sent_messages} messages lost on the path: both hosts "
                "count all their drops, and {those_few}"),
            _("{lost_messages} of {sent_messages} messages lost on the path: both hosts count all "
                "their drops, and there were none"),
            advice=_("check the path for a slower link, a short queue or errors")),
        "unknown": value(_("{lost_messages} of {sent_messages} messages lost at an unknown place: "
                "not all of {at_host}’s own drops are known"),
            _("{lost_messages} of {sent_messages} messages lost at an unknown place: the two "
                "hosts dropped only {those_frames}"),
            _("{lost_messages} of {sent_messages} messages lost at an unknown place"),
            _("messages lost at an unknown place"), rank=58, leads=False,
            advice=_("watch both hosts with their systems' own tools while you measure again"))})
note("sent-again", _("{segments} sent again: {at_host} dropped {frames_here} {place}"),
    _("{segments} sent again, lost {place}: both hosts count all their drops, and {few_here}"),
    _("{segments} sent again, lost {place}: both hosts count all their drops, and there were none"),
    _("{segments} sent again; the place of the loss is unknown"), rank=78, leads=False,
    advice=_("TCP needs a few losses to find the rate of the path; many cost throughput"),
    section=kind.LOST, condition="TCP sent segments again; the place is found as for `loss`")
warning("no-result", section=kind.RUN,
    condition="some trials of cells failed, or cells have no result at all; with the reason",
    values={
        "trials": value(_("{counted_trials} failed (messages of {of_bytes}): {why}"),
            _("{counted_trials} failed: {why}"), rule="runs:missing", rank=8,
            advice=_("run the matrix again: failed trials are repeated")),
        "cells": value(_("{cells} of {all_cells} have no result (messages of {of_bytes}): {why}"),
            _("{cells} of {all_cells} have no result: {why}"), severity="note", rank=73,
            advice=_("blank cells are not part of any mean"))})
note("fewer-cells", _("its mean includes {counted_cells}, but the means next to it include "
    "{most_cells}"), rule="runs:fewer_cells", rank=74,
    advice=_("compare the means of those cells that both columns have"),
    section=kind.RUN, condition="the mean of a column includes fewer cells than the mean of "
        "another column with the same test, protocol, direction and buffer sizes")
