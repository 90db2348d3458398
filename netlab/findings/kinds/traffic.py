"""Other traffic on the interfaces of a stream's hosts: rows of the table of kinds. Pure."""

from netlab.findings.kinds.kind import note, warning
from netlab.messages import _

# A table: as few lines per row as possible.
# fmt: off

_STATED = (
    "in one direction of the window (w0 to w1), an interface of one of the two hosts counted more "
    "bytes than our own traffic can explain. The excess is more than each of these: 1 % of the "
    "link, 5 % of our traffic, and twice our rate times the longest time between two changes of "
    "the counters. Our traffic is, for TCP, the segments in and out of every socket, including "
    "those sent again; for UDP, the send calls with their fragments. Each frame is counted "
    "padded, with check sequence and VLAN tag; control connections count as 10 kB and 10 kB/s. "
    "The finding is not stated if both of these hold: there were no more extra frames than "
    "frames that we lost, each as long as ours; and either the link had room or data stopped. A "
    "host may drop such frames behind its interface (a packet filter) and count them nowhere. ")

warning(
    "other-traffic",
    _("it uses {other_bit_per_s} of the link at {at_host} ({way}), together with this stream "
        "{link_filled_share}"),
    _("it uses {other_bit_per_s} of the link, together with this stream {link_filled_share}"),
    limit=_("other traffic on the link"), figures=("other_bit_per_s", "link_filled_share"),
    advice=_("stop the other traffic on that interface, or measure on a dedicated link"),
    section="The bottleneck of a stream",
    condition=_STATED + "Together with ours the other traffic fills at least 98 % of the link "
        "(IEEE 802.3 framing). Also stated if no rule except `not-determined` holds, and what others "
        "probably used (at least 3 % of the link, twice what the counters may be off) is the "
        "largest part of what is missing, and is at least three quarters of it together with "
        "the ends' waits for a CPU")
note(
    "other-traffic-beside",
    _("{in_trials} other traffic used {other_bit_per_s} of the link ({way}); the link had room "
        "left"),
    _("other traffic used {other_bit_per_s} of the link ({way}); the link had room left"),
    rule="traffic.partial_traffic:partial_traffic", rank=72, leads=False,
    advice=_("the link was not full: the other traffic did not limit the streams, but may have "
        "delayed them"),
    section="The bottleneck of a stream",
    condition=_STATED + "The link must have room left; one finding per host and direction")
