"""Kinds of findings about other traffic on the interfaces of a stream's hosts."""

from netlab.findings.kinds.kind import note, warning
from netlab.messages import _

# This is a table: each row has as few lines as possible, so it is not formatted.
# fmt: off

warning(
    "other-traffic",
    _("it uses {other_bit_per_s} of the link at {at_host} ({way}); together with this stream it "
        "fills {link_filled_share} of the link"),
    _("it uses {other_bit_per_s} of the link; together with this stream it fills "
        "{link_filled_share} of the link"),
    limit=_("other traffic on the link"), figures=("other_bit_per_s", "link_filled_share"),
    advice=_("stop the other traffic on that interface, or measure on a dedicated link"),
    section="The bottleneck of a stream",
    condition="other traffic is *certain* if, within the window, an interface of one of the two "
        "hosts counted in one direction more bytes than our own traffic (that of the test) can "
        "explain. The excess is more than each of these: 1 % of what the link carries, 5 % of our "
        "traffic, and twice our traffic in one update interval of the counters. Over TCP, our "
        "traffic is the segments in and out of every socket, including those sent again. Over UDP, "
        "our traffic is the messages of the send calls with their fragments. Each frame is counted "
        "with padding, FCS and VLAN tag. The control connections of the test count as 10 kB plus "
        "10 kB/s of our traffic. The excess is ignored if it may be our own UDP frames that a host "
        "dropped behind its interface (in a packet filter, where no counter shows them). It may be "
        "our own frames if three conditions hold. First, our lost frames have enough bytes to "
        "explain the excess. Second, the mean length of the extra frames is that of our frames, "
        "within 0.5 % plus FCS and VLAN tag. Third, the link had room left, or data stopped. The "
        "finding is stated in three cases. First: our own and the certain other traffic together "
        "fill at least 98 % of the link (IEEE 802.3 framing), and neither `loss-limit/socket` nor "
        "`loss-limit/host` holds. Second: no rule except `not-determined` holds, and the probable "
        "other traffic (see above this table) is large enough. This means that it is at least 3 % "
        "of the link, at least twice the possible error of the counters, and at least three "
        "quarters of the missing throughput. Instead of the last condition, it is enough if the "
        "probable other traffic and the waits for a CPU together are at least three quarters of "
        "the missing throughput, and the other traffic is the largest of these parts. Third: a "
        "stream belongs to a finding `rate-limit/link`, `rate-limit/shaper` or "
        "`rate-limit/either`, and the probable other traffic was added to its rate (see below this "
        "table)")
note(
    "other-traffic-beside",
    _("{in_trials} other traffic used {other_bit_per_s} of the link ({way}); the link had room "
        "left"),
    _("other traffic used {other_bit_per_s} of the link ({way}); the link had room left"),
    rule="traffic:partial_traffic", rank=72, leads=False,
    advice=_("the link was not full: the other traffic did not limit the streams, but may have "
        "delayed them"),
    section="The bottleneck of a stream",
    condition="there is certain other traffic (see `other-traffic`), but the link had room left, "
        "so the other traffic is not the limit of the stream. There is one finding per host and "
        "direction")
