"""Kinds of findings about lost messages, failed trials and cells without a result. No I/O."""

from netlab.findings.kinds.kind import note, warning
from netlab.messages import _

LOST = "Where messages were lost"
RUN = "About a run"

# This is a table: each row has as few lines as possible, so it is not formatted.
# fmt: off

warning(
    "loss/socket",
    _("{lost_messages} of {sent_messages} messages lost: the receiving socket of {at_host} had no "
        "room for {dropped_frames}"), rule="streams.places:lost", rank=56,
    advice=_("enlarge the receiver's buffer; if that does not help, its CPU is the limit"),
    section=LOST, condition="the drops that both hosts counted are at least half of the loss. The "
        "receiving socket has more drops than any other place (SO_RXQ_OVFL, SO_MEMINFO). Drops do "
        "not count if they may belong to the other direction, or to a protocol without a handler. "
        "The receiver's backlog and its interface may both count the same frame, so only the "
        "larger of these two numbers counts")
warning(
    "loss/backlog",
    _("{lost_messages} of {sent_messages} messages lost: the backlog of {at_host}’s CPUs had no "
        "room for {those_frames}"), rank=56,
    advice=_("spread interrupts over more CPUs, or raise net.core.netdev_max_backlog"),
    section=LOST, condition="as `loss/socket`, but the backlog of the receiver's CPUs (softnet) "
        "has the most drops")
warning(
    "loss/interface",
    _("{lost_messages} of {sent_messages} messages lost: the interface of {at_host} dropped "
        "{those_frames}"), rank=56,
    advice=_("check the interface's rings and driver, and the MTU at both ends of its cable"),
    section=LOST, condition="as `loss/socket`, but the interface of one host has the most drops")
warning(
    "loss/queue",
    _("{lost_messages} of {sent_messages} messages lost: the queue in front of {at_host}’s "
        "interface dropped {those_frames}"), rank=56,
    advice=_("lengthen that queue, or offer a lower rate"),
    section=LOST, condition="as `loss/socket`, but the queue in front of the sender's interface "
        "has the most drops")
warning(
    "loss/unsent",
    _("{never_sent}: the interface of {at_host}, or the queue in front of it, refused to take "
        "more"),
    rank=57,
    advice=_("lengthen the queue of the sender's interface, or offer a lower rate"),
    section=LOST, condition="the sender's interface or the queue in front of it refused messages, "
        "and the send calls reported this. Such messages count as not sent")
warning(
    "loss/path",
    _("{lost_messages} of {sent_messages} messages lost on the path: both hosts count all their "
        "drops, and {those_few}"),
    _("{lost_messages} of {sent_messages} messages lost on the path: both hosts count all their "
        "drops, and there were none"), rank=56,
    advice=_("check the path for a slower link, a short queue or errors"),
    section=LOST, condition="the hosts are two machines, and all their drop counters are known. "
        "Together, the counters grew by less than half of the loss. Only counters of interfaces "
        "grew, each by at most two frames per second: these may be frames of protocols without a "
        "handler (STP, LLDP). The receiver reassembled all messages from their fragments. The "
        "probable other traffic, as a share of the link, is less than half of the share of "
        "messages lost (over TCP: less than half of the link). If it is larger, it may be our own "
        "frames, which the receiver dropped behind its interface")
warning(
    "loss/unknown",
    _("{lost_messages} of {sent_messages} messages lost at an unknown place: not all of "
        "{at_host}’s own drops are known"),
    _("{lost_messages} of {sent_messages} messages lost at an unknown place: the two hosts "
        "dropped only {those_frames}"),
    _("{lost_messages} of {sent_messages} messages lost at an unknown place"),
    _("messages lost at an unknown place"), rank=58, leads=False,
    advice=_("watch both hosts with their systems' own tools while you measure again"),
    section=LOST, condition="messages were lost, and none of the findings above gives the place. "
        "There are three possible reasons. First: a counter is not known. On systems other than "
        "Linux, the counters of socket, queue and backlog are not known; for a VLAN, a bond or a "
        "bridge, the counter of the interface below is not known. Second: the counters grew, but "
        "their drops may belong to the other direction. Third: another condition of `loss/path` "
        "does not hold")
note(
    "sent-again",
    _("{segments} sent again: {at_host} dropped {frames_here} {place}"),
    _("{segments} sent again, lost {place}: both hosts count all their drops, and {few_here}"),
    _("{segments} sent again, lost {place}: both hosts count all their drops, and there were "
        "none"),
    _("{segments} sent again; the place of the loss is unknown"),
    rank=78, leads=False,
    advice=_("TCP needs a few losses to find the rate of the path; many cost throughput"),
    section=LOST, condition="TCP sent segments again. The finding has the place of the loss, by "
        "the rules of the findings above")
warning(
    "no-result/trials", _("{counted_trials} failed (messages of {of_bytes}): {why}"),
    _("{counted_trials} failed: {why}"), rule="coverage:missing", rank=8,
    advice=_("run the matrix again: failed trials are repeated"),
    section=RUN, condition="trials failed. The finding has the reason")
note(
    "no-result/cells",
    _("{cells} of {all_cells} have no result (messages of {of_bytes}): {why}"),
    _("{cells} of {all_cells} have no result: {why}"), rank=73,
    advice=_("blank cells are not part of any mean"),
    section=RUN, condition="cells have no result at all. The finding has the reason")
note(
    "fewer-cells", _("its mean includes {counted_cells}, but the means next to it include "
    "{most_cells}"),
    rule="coverage:fewer_cells", rank=74,
    advice=_("compare the means of those cells that both columns have"),
    section=RUN, condition="the mean of a column includes fewer cells than the mean of another "
        "column with the same test, protocol, direction and buffer sizes")
