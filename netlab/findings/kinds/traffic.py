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
    "those sent again; for UDP, the send calls with their fragments. Each frame is counted with "
    "padding, check sequence and VLAN tag. Control connections count as 10 kB and 10 kB/s. The "
    "excess is ignored if it may be frames of ours that a host dropped behind its interface (in a "
    "packet filter, which counts them nowhere): if there were no more extra frames than lost "
    "frames of ours, all as long as ours, and the link had room or data stopped. ")

warning(
    "other-traffic",
    _("it uses {other_bit_per_s} of the link at {at_host} ({way}), together with this stream "
        "{link_filled_share}"),
    _("it uses {other_bit_per_s} of the link, together with this stream {link_filled_share}"),
    limit=_("other traffic on the link"), figures=("other_bit_per_s", "link_filled_share"),
    advice=_("stop the other traffic on that interface, or measure on a dedicated link"),
    section="The bottleneck of a stream",
    condition=_STATED + "Our own and the other traffic together fill at least 98 % of the link "
        "(IEEE 802.3 framing). Also stated if no rule except `not-determined` holds, and if these "
        "three hold for the probable share of other traffic: it is at least 3 % of the link and "
        "twice the possible error of the counters; it is the largest part of the missing "
        "throughput; and with the ends' waits for a CPU it is at least three quarters of it")
note(
    "other-traffic-beside",
    _("{in_trials} other traffic used {other_bit_per_s} of the link ({way}); the link had room "
        "left"),
    _("other traffic used {other_bit_per_s} of the link ({way}); the link had room left"),
    rule="traffic.partial_traffic:partial_traffic", rank=72, leads=False,
    advice=_("the link was not full: the other traffic did not limit the streams, but may have "
        "delayed them"),
    section="The bottleneck of a stream",
    condition=_STATED + "The link had room left. There is one finding per host and direction")
