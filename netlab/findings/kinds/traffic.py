"""Traffic of others on the interfaces of a stream's hosts: rows of the table of kinds. Pure."""

from netlab.findings.kinds.kind import note, warning
from netlab.messages import _

# A table: as few lines a row as it takes.
# fmt: off

_STATED = (
    "what an interface of one of the two hosts counted in one direction from w0 to w1 is more than "
    "the most that can be ours (TCP: segments in and out of every socket, those sent again among "
    "them; UDP: send calls with their fragments; each frame padded, with check sequence and VLAN "
    "tag; 10 kB and 10 kB/s of control connections), by more than 1 % of the link, 5 % of ours, "
    "and twice our rate times the longest time between two changes of the counters. Not where "
    "no more frames came on top than we lost, each as long as ours, and the link had room or data "
    "stopped: a host drops such behind its interface (a packet filter) and counts them nowhere; ")

warning(
    "other-traffic",
    _("they use {other_bit_per_s} of the link at {at_host}, {way}; with this stream "
        "{link_filled_share} of it"),
    _("they use {other_bit_per_s} of the link; with this stream {link_filled_share} of it"),
    limit=_("others on the same link"), figures=("other_bit_per_s", "link_filled_share"),
    advice=_("end what else uses that interface, or measure on a link of its own"),
    section="What limited a stream",
    stated=_STATED + "and with ours it fills 98 % of the link and more (IEEE 802.3 framing). Also "
        "where no rule but `not-determined` holds, and what others are likely to have used (3 % of "
        "the link and more, twice what the counters may be off) is the largest part of what is "
        "missing, with the ends' waits for a CPU three quarters of it and more")
note(
    "other-traffic-beside",
    _("{in_trials} others used {other_bit_per_s} of the link, {way}, which left room"),
    _("others used {other_bit_per_s} of the link, {way}, which left room"),
    rule="traffic.beside:beside", rank=72, leads=False,
    advice=_("the link was not full: the figures are the streams' own, but others' traffic may "
        "delay them"),
    section="What limited a stream",
    stated=_STATED + "and the link has room left; one finding a host and direction")
