"""Lost messages, failed trials and blank cells: rows of the table of kinds. Pure."""

from netlab.findings.kinds.kind import note, warning
from netlab.messages import _

LOST = "Where messages were lost"
RUN = "About a run"

# A table: as few lines per row as possible.
# fmt: off

warning(
    "lost-in-socket",
    _("{lost_messages} of {sent_messages} messages lost: the receiving socket of {at_host} had no "
        "room for {dropped_frames}"), rule="streams.places:lost", rank=56,
    advice=_("enlarge the receiver's buffer; if that does not help, its CPU is the limit"),
    section=LOST, condition="the drops of both hosts explain at least half of the loss, and most "
        "of these drops were in the receiving socket (SO_RXQ_OVFL, SO_MEMINFO)")
warning(
    "lost-in-backlog",
    _("{lost_messages} of {sent_messages} messages lost: the backlog of {at_host}’s CPUs had no "
        "room for {those_frames}"), rank=56,
    advice=_("spread interrupts over more CPUs, or raise net.core.netdev_max_backlog"),
    section=LOST, condition="as `lost-in-socket`, but most of the drops were in the backlog of a "
        "host's CPUs (softnet)")
warning(
    "lost-at-interface",
    _("{lost_messages} of {sent_messages} messages lost: the interface of {at_host} dropped "
        "{those_frames}"), rank=56,
    advice=_("check the interface's rings and driver, and the MTU at both ends of its cable"),
    section=LOST, condition="as `lost-in-socket`, but most of the drops were at a host's "
        "interface")
warning(
    "lost-in-queue",
    _("{lost_messages} of {sent_messages} messages lost: the queue in front of {at_host}’s "
        "interface dropped {those_frames}"), rank=56,
    advice=_("lengthen that queue, or offer a lower rate"),
    section=LOST, condition="as `lost-in-socket`, but most of the drops were in the queue in front "
        "of a host's interface")
warning(
    "dropped-unsent",
    _("{never_sent}: the interface of {at_host}, or the queue in front of it, refused to take "
        "more"),
    rank=57,
    advice=_("lengthen the queue of the sender's interface, or offer a lower rate"),
    section=LOST, condition="the sender's interface or the queue in front of it refused messages, "
        "and the send calls reported this. Such messages count as not sent")
warning(
    "lost-on-path",
    _("{lost_messages} of {sent_messages} messages lost on the path: both hosts count all their "
        "drops, and {those_few}"),
    _("{lost_messages} of {sent_messages} messages lost on the path: both hosts count all their "
        "drops, and there were none"), rank=56,
    advice=_("check the path for a slower link, a short queue or errors"),
    section=LOST, condition="all drop counters of both hosts are known. They grew by less than "
        "half of the loss. Frames of protocols that Linux has no handler for (STP, LLDP) are "
        "enough to explain the growth of each counter")
warning(
    "loss-not-placed",
    _("{lost_messages} of {sent_messages} messages lost at an unknown place: not all of "
        "{at_host}’s own drops are known"),
    _("{lost_messages} of {sent_messages} messages lost at an unknown place: the two hosts "
        "dropped only {those_frames}"),
    _("{lost_messages} of {sent_messages} messages lost at an unknown place"),
    _("messages lost at an unknown place"), rank=58, leads=False,
    advice=_("watch both hosts with their systems' own tools while you measure again"),
    section=LOST, condition="the counters show neither that the hosts dropped the messages nor "
        "that the path did. This has one of three reasons. A counter is not known: on Windows and "
        "other systems the counters of socket, queue and backlog; for a VLAN, a bond or a bridge "
        "the counter of the interface below it. Or the counters grew, but by less than half of the "
        "loss. Or they may have grown because of the other direction")
note(
    "sent-again",
    _("{segments} sent again: {at_host} dropped {frames_here} {place}"),
    _("{segments} sent again, lost {place}: both hosts count all their drops, and {few_here}"),
    _("{segments} sent again, lost {place}: both hosts count all their drops, and there were "
        "none"),
    _("{segments} sent again; the place of the loss is unknown"),
    rank=78, leads=False,
    advice=_("TCP needs a few losses to find the rate of the path; many cost throughput"),
    section=LOST, condition="TCP sent segments again. The place of the loss is found by the rules "
        "above")
warning(
    "failed-trials", _("{counted_trials} failed (messages of {of_bytes}): {why}"),
    _("{counted_trials} failed: {why}"), rule="coverage:missing", rank=8,
    advice=_("run the matrix again: failed trials are repeated"),
    section=RUN, condition="trials failed. The finding has the reason")
note(
    "missing-cells",
    _("{cells} of {all_cells} have no result (messages of {of_bytes}): {why}"),
    _("{cells} of {all_cells} have no result: {why}"), rank=73,
    advice=_("blank cells are not part of any mean"),
    section=RUN, condition="cells have no result at all. The finding has the reason")
note(
    "fewer-cells", _("its mean includes {counted_cells}, but the means next to it include "
    "{most_cells}"),
    rule="coverage:fewer_cells", rank=74,
    advice=_("compare the means of those cells that both columns have"),
    section=RUN, condition="a mean includes fewer cells than the means next to it")
