"""What is missing: messages that were lost, failed trials, blank cells: rows of the table. Pure."""

from netlab.findings.kinds.kind import note, warning
from netlab.messages import _

LOST = "Where messages were lost"
RUN = "About a run"

# A table: as few lines a row as it takes.
# fmt: off

warning(
    "lost-in-socket",
    _("{lost_messages} of {sent_messages} messages lost: the receiving socket of {at_host} had no "
        "room for {dropped_frames}"), rule="streams.places:lost", rank=56,
    advice=_("enlarge the receiver's buffer; where that does not help it is its CPU"),
    section=LOST, stated="the drops of both hosts come to half of what was lost and more, most of "
        "them in the receiving socket (SO_RXQ_OVFL, SO_MEMINFO)")
warning(
    "lost-in-backlog",
    _("{lost_messages} of {sent_messages} messages lost: the backlog of {at_host}’s CPUs had no "
        "room for {those_frames}"), rank=56,
    advice=_("spread interrupts over more CPUs, or raise net.core.netdev_max_backlog"),
    section=LOST, stated="the same, most of them in the backlog of a host's CPUs (softnet)")
warning(
    "lost-at-interface",
    _("{lost_messages} of {sent_messages} messages lost: the interface of {at_host} dropped "
        "{those_frames}"), rank=56,
    advice=_("look at its rings, its driver, and the MTU at both ends of its cable"),
    section=LOST, stated="the same, most of them at a host's interface")
warning(
    "lost-in-queue",
    _("{lost_messages} of {sent_messages} messages lost: the queue in front of {at_host}’s "
        "interface dropped {those_frames}"), rank=56,
    advice=_("lengthen that queue, or offer less"),
    section=LOST, stated="the same, most of them in the queue in front of a host's interface")
warning(
    "dropped-unsent",
    _("{never_sent}: refused by the interface of {at_host}, or by the queue in front of it"),
    rank=57,
    advice=_("lengthen the queue of the sender's interface, or offer less"),
    section=LOST, stated="the sender's interface or the queue in front of it refused messages: "
        "the sender was told, and they count as not sent")
warning(
    "lost-on-path",
    _("{lost_messages} of {sent_messages} messages lost on the path: both hosts count all of "
        "their own drops, and {those_few}"),
    _("{lost_messages} of {sent_messages} messages lost on the path: both hosts count all of "
        "their own drops, and there were none"), rank=56,
    advice=_("look for a slower link, a short queue or errors on the path"),
    section=LOST, stated="all these counters are known, and none of them moved by more than "
        "frames that nobody handles come to, nor by half of what was lost")
warning(
    "loss-not-placed",
    _("{lost_messages} of {sent_messages} messages lost, and it cannot be told where: not all of "
        "{at_host}’s own drops are known"),
    _("{lost_messages} of {sent_messages} messages lost, and it cannot be told where: both hosts "
        "dropped {those_frames}, which is not most of it"),
    _("{lost_messages} of {sent_messages} messages lost, and it cannot be told where"), rank=58,
    leads=False,
    advice=_("watch both hosts with their systems' own tools while it is measured again"),
    section=LOST, stated="neither: a counter is not known (of Windows and others: the socket's, "
        "the queue's, the backlog's; of a VLAN, a bond or a bridge: the interface below), moved by "
        "less than half, or may have moved for the other direction")
note(
    "sent-again",
    _("{segments} sent again: {at_host} dropped {frames_here} {place}"),
    _("{segments} sent again, lost {place}: both hosts count all of their own drops, and "
        "{few_here}"),
    _("{segments} sent again, lost {place}: both hosts count all of their own drops, and there "
        "were none"),
    _("{segments} sent again, and it cannot be told where they were lost"),
    rank=78, leads=False,
    advice=_("some are TCP's way to find the rate of the path; many cost throughput"),
    section=LOST, stated="TCP sent segments again, with their place by the same rules")
warning(
    "failed-trials", _("{counted_trials} failed, messages of {of_bytes}: {why}"),
    _("{counted_trials} failed: {why}"), rule="coverage:missing", rank=8,
    advice=_("run the matrix again: what failed is tried again"),
    section=RUN, stated="trials failed; with their reason")
note(
    "missing-cells",
    _("{cells} of {all_cells} without a result, messages of {of_bytes}: {why}"),
    _("{cells} of {all_cells} without a result: {why}"), rank=73,
    advice=_("a blank enters no mean"),
    section=RUN, stated="cells without any result; with their reason")
note(
    "fewer-cells", _("its mean rests on {counted_cells}, others beside it on {most_cells}"),
    rule="coverage:fewer_cells", rank=74, advice=_("compare means over the cells that both have"),
    section=RUN, stated="a mean rests on fewer cells than those beside it")
