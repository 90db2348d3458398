"""The table of kinds of findings, each with its texts; two more files have its first rows.

Rules run in the order of the rows that name them, and findings of one severity keep that order.
"""

from netlab.findings import kinds_of_streams, kinds_of_tests
from netlab.findings.kind import Kind, expect_words, note, value, warning, words_of
from netlab.messages import _

__all__ = ["Kind", "expect_words", "kinds_of_streams", "kinds_of_tests", "words_of"]

# This is a table: each row has as few lines as possible, so it is not formatted.
# fmt: off

warning("facts-changed",
    _("its system or its settings changed during the run: {facts} and {more_facts} more"),
    _("its system or its settings changed during the run: {facts}"), rule="validity:hosts", rank=6,
    advice=_("the trials before and after the change were measured on a host in different states: "
        "measure again"))
warning("interface",
    values={
        "speed": value(_("{interface} runs at {interface_speed_bit_per_s}, but the matrix states a "
                "link of {link_rate_bit_per_s}"), rank=3,
            advice=_("state the rate that the interfaces negotiated, or replace the cable")),
        "mtus": value(_("the interfaces of {hosts} have an MTU of {interface_mtu_bytes} bytes, but "
                "the matrix states {link_mtu_bytes}"), rank=4,
            advice=_("state the MTU that the interfaces have, or set it")),
        "mtu": value(_("{interface} has an MTU of {interface_mtu_bytes} bytes, but the matrix "
                "states {link_mtu_bytes}"), rank=4,
            advice=_("state the MTU that the interfaces have, or set it")),
        "duplex": value(_("{interface} runs at half duplex"), rank=5,
            advice=_("let both ends negotiate, or set both to full duplex"))})
note("virtual-machine", _("virtual machines under {hypervisor}: {hosts}"),
    advice=_("these hosts share their CPUs and clocks with other machines"))
# The rule of "mtu-mismatch/stream" also makes the findings "above-ceiling…".
warning("mtu-mismatch/stream",
    _("the path carries packets of {path_mtu_bytes} bytes, but the matrix states an MTU of "
        "{link_mtu_bytes}"), rule="validity:doubts", figures=("path_mtu_bytes", "link_mtu_bytes"),
    advice=_("state the MTU that the path has, or set it"))
warning("mtu-mismatch/changed", _("the sender’s interface had an MTU of {own_mtu_bytes} bytes "
        "then, and more in other trials"), figures=("own_mtu_bytes", "shorter_share"), rank=4,
    advice=_("something set the MTU while the run measured: find out what, then measure again"))
note("small-mss", _("TCP’s segments have at most {small_mss_bytes}, although the system knows a "
        "path MTU of {path_mtu_bytes} bytes: the other end announces it, a device clamps the MSS, "
        "or longer packets vanish"), figures=("small_mss_bytes", "path_mtu_bytes", "shorter_share"),
    advice=_("send UDP messages that fill a packet: if they arrive, a device clamps the MSS"))
note("clamped-mss", _("TCP’s segments have at most {small_mss_bytes}, although the other end takes "
        "longer ones and the system knows a path MTU of {path_mtu_bytes} bytes: a device on the "
        "path clamps the MSS, or longer packets vanish there"),
    figures=("small_mss_bytes", "path_mtu_bytes", "shorter_share"),
    advice=_("send UDP messages that fill a packet: if they arrive, a device clamps the MSS"))
warning("congestion-differs",
    _("the senders use different congestion controls, which the matrix does not set ({controls})"),
    advice=_("set `congestion` in the matrix, so that all senders use the same"))
warning("interruption",
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
warning("host-delay", rule="over_time:delayed_trials",
    values={
        "process": value(_("{cause} for {stalled_ns} of {window_ns}, in short pauses"),
            rank=51,  # after the limits (50): the cause
            advice=_("find what stops or throttles the probe on that host (a quota, a debugger, "
                "other work, the hypervisor), then measure again")),
        "hypervisor": value(_("{cause} for {steal_share} of the time"), rank=9,
            advice=_("measure on hosts that do not share their CPUs, or let `quiet` in the matrix "
                "repeat such trials"))})
warning("off-rate", rank=10,
    values={
        "less": value(_("the sender sent {sent_bit_per_s} of the requested {offered_bit_per_s}; it "
                "left out {left_out}"),
            advice=_("the sender did not keep the rate: find what slowed it down, or request a "
                "lower rate")),
        "held": value(_("the sender sent {sent_bit_per_s} of the requested {offered_bit_per_s}; it "
                "left out {left_out}, and waited at least {held_share} of the time for room in "
                "its socket"),
            advice=_("the sender had time left, but its queue or the path took no more: find that "
                "limit, or request a lower rate")),
        "more": value(_("{received_bit_per_s} arrived, but only {offered_bit_per_s} was offered: "
                "the window includes delayed messages"),
            advice=_("the figure includes data that waited in a queue: find what delayed the data, "
                "then repeat such trials"))})
warning("clock",
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
    advice=_("measure while nothing else runs on the host"))
note(
    "power-saving", _("power saving is on ({savings}): the speed of the host varies with its load"),
    advice=_("set the governor or the power plan to performance before measuring"))
warning("off-time",
    _("{trials} of {all_trials} took {shortest_s} to {longest_s} instead of {asked_s}"),
    _("trials took {shortest_s} to {longest_s} instead of {asked_s} ({source})"),
    rule="runs:off_time", rank=64,
    advice=_("compare such trials only with others of the same length"))
warning("deviation",
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
    rule=lambda reported_limits: reported_limits,
    rank=61, limit=_("the wire"), explains=False,
    advice=_("the link carries no more with messages of this size"))
warning("above-wire", rule="buffers:above_any", figures=("highest_ceiling_bit_per_s",),
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
    advice=_("compare the two ends: operating system, driver, connection"))
note("unexplained-fall", _("throughput falls from {expected} to {least} at socket buffers of "
        "{buffer} and larger; nothing recorded explains it"), rule="buffers:falls", rank=62,
    advice=_("nothing recorded shows the cause: measure again with the counters of both hosts"))
note("no-timestamps", _("{throughput_bit_per_s} is consistent with TCP without timestamps (wire "
        "ceiling {ceiling_without_bit_per_s}; with timestamps {ceiling_with_bit_per_s}); the TCP "
        "options are not recorded"),
    rule="buffers:without_timestamps", rank=68, advice=_("record the TCP options to be sure"))
note("socket-buffer", rule="buffers:buffers",
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
        "the next smaller size that fits one frame"))
note("cannot-tell", _("{pairing} against {against}, {protocol}: no verdict, because each cell has "
        "one trial (n = 1); the column means differ by {difference} Mbit/s"),
    rule="runs:unrepeated", rank=63, says_of_what=True,
    advice=_("repeat each cell at least three times, better five"))
warning("loss", rule="stream_rules:lost", rank=56,
    values={
        "damaged": value(_("{lost_messages} of {sent_messages} messages lost: {dropped_frames} "
                "arrived at {at_host} damaged, with a wrong checksum"),
            advice=_("replace the cable, then look for the card or device that corrupts packets")),
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
                "count all their drops, and these explain only the other {other_messages}"),
            _("{lost_messages} of {sent_messages} messages lost on the path: both hosts "
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
note("delivery", rule="validity:delivered", rank=79, leads=False,
    advice=_("look for parallel paths, a loop or a delay that jumps: TCP may take this for loss"),
    values={
        "reordered": value(_("{reordered_messages} of {sent_messages} messages arrived out of "
                "order"), figures=("reordered_messages", "sent_messages")),
        "copied": value(_("{duplicate_messages} of {sent_messages} messages arrived again"),
            figures=("duplicate_messages", "sent_messages")),
        "again": value(_("{copied_packets} of {those_segments} arrived again, though TCP sent them "
                "once"), figures=("copied_packets", "sent_segments")),
        "overtaken": value(_("{reorderings} times acknowledgements showed that one of "
                "{those_segments} had overtaken others"),
            figures=("reorderings", "sent_segments")),
        "twice": value(_("{resent_segments} sent again, but {duplicate_packets} arrived twice: "
                "packets were reordered (seen {reorderings} times)"),
            _("{resent_segments} sent again, but {duplicate_packets} arrived twice: packets or "
                "acknowledgements were late, or packets were copied"),
            figures=("duplicate_packets", "retransmissions", "reorderings")),
        "marked": value(_("{marked_packets} of {those_packets} ({of_marked}) arrived marked as "
                "having met congestion (ECN): a queue on the path that marks packets, as others "
                "drop them, holds the rate"), figures=("marked_packets", "ecn_packets"),
            advice=_("look for the queue that marks, such as FQ-CoDel, CAKE or RED, at a router, a "
                "shaper or the sender's own interface: its rate is the limit"))})
note("path-pauses", _("data paused again and again, {paused_share} of the window in all, while "
        "both hosts ran: something on the path holds them back"),
    rule=lambda unsteady: unsteady, rank=60,
    advice=_("look for a radio link, a failover, or a device that stops at times"))
note("two-rates", _("data arrived at two rates, the lower one {depth_share} below the other: a "
        "limit on the path comes and goes"), rank=60,
    advice=_("look for other traffic that comes and goes, or for a device that is slower at times"))
note("way-back", rule="validity:way_back", rank=77, figures=("lost_acknowledgements_share",),
    advice=_("check the way back: its queue, rate and duplex mode; few losses cost TCP nothing"),
    values={
        "lost": value(_("{lost_acknowledgements_share} of the acknowledgements did not arrive")),
        "copied": value(_("acknowledgements arrived twice")),
        "overtaken": value(_("{old_acknowledgements_share} of the acknowledgements arrived after "
                "later ones"), _("acknowledgements arrived after later ones"),
            figures=("old_acknowledgements_share",)),
        "damaged": value(_("{damaged_acknowledgements_share} of the acknowledgements arrived with "
                "a wrong checksum"), _("acknowledgements arrived with a wrong checksum"),
            figures=("damaged_acknowledgements_share",),
            advice=_("replace the cable, then look for the card or device that corrupts "
                "packets"))})
note("sent-again", _("{segments} sent again: {at_host} dropped {frames_here} {place}"),
    _("{segments} sent again, lost {place}: both hosts count all their drops, and {few_here}"),
    _("{segments} sent again, lost {place}: both hosts count all their drops, and there were none"),
    _("{segments} sent again; the place of the loss is unknown"), rank=78, leads=False,
    advice=_("TCP needs a few losses to find the rate of the path; many cost throughput"))
warning("no-result",
    values={
        "trials": value(_("{counted_trials} failed (messages of {of_bytes}): {why}"),
            _("{counted_trials} failed: {why}"), rule="runs:missing", rank=8,
            advice=_("run the matrix again: failed trials are repeated")),
        "each": value(_("each trial of {cells} of {all_cells} failed (messages of {of_bytes}): "
                "{why}"),
            _("each trial of {cells} of {all_cells} failed: {why}"), rank=8,
            advice=_("another trial will fail, too: look for what stops such messages, such as a "
                "filter, an MTU, or fragments that are dropped")),
        "mtu": value(_("{cells} of {all_cells} have no result (messages of {of_bytes}): {why}"),
            _("{counted_trials} without a result (messages of {of_bytes}): {why}"),
            severity="note", rank=73, advice=_("use the same MTU on the whole path, or shorter "
                "messages")),
        "cells": value(_("{cells} of {all_cells} have no result (messages of {of_bytes}): {why}"),
            _("{cells} of {all_cells} have no result: {why}"), severity="note", rank=73,
            advice=_("blank cells are not part of any mean"))})
note("fewer-cells", _("its mean includes {counted_cells}, but the means next to it include "
    "{most_cells}"), rule="runs:fewer_cells", rank=74,
    advice=_("compare the means of those cells that both columns have"))
