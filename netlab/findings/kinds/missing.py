"""Kinds of findings about lost messages, failed trials and cells without a result.."""

from netlab.findings.kinds.kind import note, value, warning
from netlab.messages import _

LOST = "Where messages were lost"
RUN = "About a run"

# This is a table: each row has as few lines as possible, so it is not formatted.
# fmt: off

warning(
    "loss", rule="streams.path_limits:lost", rank=56, section=LOST,
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
        "socket": value(
            _("{lost_messages} of {sent_messages} messages lost: the receiving socket of "
                "{at_host} had no room for {dropped_frames}"),
            advice=_("enlarge the receiver's buffer; if that does not help, its CPU is the limit")),
        "backlog": value(
            _("{lost_messages} of {sent_messages} messages lost: the backlog of {at_host}’s CPUs "
                "had no room for {those_frames}"),
            advice=_("spread interrupts over more CPUs, or raise net.core.netdev_max_backlog")),
        "interface": value(
            _("{lost_messages} of {sent_messages} messages lost: the interface of {at_host} "
                "dropped {those_frames}"),
            advice=_("check the interface's rings and driver, and the MTU at both ends of its "
                "cable")),
        "queue": value(
            _("{lost_messages} of {sent_messages} messages lost: the queue in front of "
                "{at_host}’s interface dropped {those_frames}"),
            advice=_("lengthen that queue, or offer a lower rate")),
        "unsent": value(
            _("{never_sent}: the interface of {at_host}, or the queue in front of it, refused to "
                "take more"), rank=57,
            advice=_("lengthen the queue of the sender's interface, or offer a lower rate")),
        "path": value(
            _("{lost_messages} of {sent_messages} messages lost on the path: both hosts count all "
                "their drops, and {those_few}"),
            _("{lost_messages} of {sent_messages} messages lost on the path: both hosts count all "
                "their drops, and there were none"),
            advice=_("check the path for a slower link, a short queue or errors")),
        "unknown": value(
            _("{lost_messages} of {sent_messages} messages lost at an unknown place: not all of "
                "{at_host}’s own drops are known"),
            _("{lost_messages} of {sent_messages} messages lost at an unknown place: the two "
                "hosts dropped only {those_frames}"),
            _("{lost_messages} of {sent_messages} messages lost at an unknown place"),
            _("messages lost at an unknown place"), rank=58, leads=False,
            advice=_("watch both hosts with their systems' own tools while you measure again"))})
note(
    "sent-again",
    _("{segments} sent again: {at_host} dropped {frames_here} {place}"),
    _("{segments} sent again, lost {place}: both hosts count all their drops, and {few_here}"),
    _("{segments} sent again, lost {place}: both hosts count all their drops, and there were "
        "none"),
    _("{segments} sent again; the place of the loss is unknown"),
    rank=78, leads=False,
    advice=_("TCP needs a few losses to find the rate of the path; many cost throughput"),
    section=LOST, condition="TCP sent segments again; the place is found as for `loss`")
warning(
    "no-result", section=RUN,
    condition="some trials of cells failed, or cells have no result at all; with the reason",
    values={
        "trials": value(
            _("{counted_trials} failed (messages of {of_bytes}): {why}"),
            _("{counted_trials} failed: {why}"), rule="runs:missing", rank=8,
            advice=_("run the matrix again: failed trials are repeated")),
        "cells": value(
            _("{cells} of {all_cells} have no result (messages of {of_bytes}): {why}"),
            _("{cells} of {all_cells} have no result: {why}"), severity="note", rank=73,
            advice=_("blank cells are not part of any mean"))})
note(
    "fewer-cells", _("its mean includes {counted_cells}, but the means next to it include "
    "{most_cells}"),
    rule="runs:fewer_cells", rank=74,
    advice=_("compare the means of those cells that both columns have"),
    section=RUN, condition="the mean of a column includes fewer cells than the mean of another "
        "column with the same test, protocol, direction and buffer sizes")
