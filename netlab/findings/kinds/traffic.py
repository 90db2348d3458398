"""Kinds of findings about other traffic on the interfaces of a stream's hosts. No I/O."""

from netlab.findings.kinds.kind import note, warning
from netlab.messages import _

# This is a table: each row has as few lines as possible, so it is not formatted.
# fmt: off

_STATED = (
    "within the window, an interface of one of the two hosts counted in one direction more bytes "
    "than our own traffic can explain. The excess is more than each of these: 1 % of what the link "
    "carries, 5 % of our traffic, and twice our traffic in one update interval of the counters. "
    "Over TCP, our traffic is the segments in and out of every socket, including those sent again. "
    "Over UDP, it is the messages of the send calls with their fragments. Each frame is counted "
    "with padding, FCS and VLAN tag. Control connections count as 10 kB plus 10 kB/s. The excess "
    "is ignored if it may be our own UDP frames that a host dropped behind its interface (in a "
    "packet filter, where no counter shows them). Three conditions must hold for this. First, the "
    "number of extra frames does not exceed that of our lost frames. Second, their mean length is "
    "that of our frames, within 0.5 % plus FCS and VLAN tag. Third, the link had room, or data "
    "stopped. ")

warning(
    "other-traffic",
    _("it uses {other_bit_per_s} of the link at {at_host} ({way}); together with this stream it "
        "fills {link_filled_share} of the link"),
    _("it uses {other_bit_per_s} of the link; together with this stream it fills "
        "{link_filled_share} of the link"),
    limit=_("other traffic on the link"), figures=("other_bit_per_s", "link_filled_share"),
    advice=_("stop the other traffic on that interface, or measure on a dedicated link"),
    section="The bottleneck of a stream",
    condition=_STATED + "In addition, our own and the other traffic together fill at least 98 % of "
        "the link (IEEE 802.3 framing). Also stated if no rule except `not-determined` holds, and "
        "the probable rate of other traffic explains the missing throughput. This rate is at least "
        "3 % of the link and twice the possible error of the counters. Either this rate alone is "
        "at least three quarters of the missing throughput. Or this rate plus the waits for a CPU "
        "is at least three quarters of the missing throughput, and this rate is the largest part. "
        "Also stated for streams of `link-or-shaper` to whose rate other traffic was added")
note(
    "other-traffic-beside",
    _("{in_trials} other traffic used {other_bit_per_s} of the link ({way}); the link had room "
        "left"),
    _("other traffic used {other_bit_per_s} of the link ({way}); the link had room left"),
    rule="traffic.partial_traffic:partial_traffic", rank=72, leads=False,
    advice=_("the link was not full: the other traffic did not limit the streams, but may have "
        "delayed them"),
    section="The bottleneck of a stream",
    condition=_STATED + "In addition, the link had room left. There is one finding per host and "
        "direction")
