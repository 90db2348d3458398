"""Links that carry less than the matrix says: rows of the table of kinds. Pure."""

from netlab.findings.kinds.kind import warning
from netlab.messages import _

_SECTION = "What limited a stream"

# A table: as few lines a row as it takes.
# fmt: off

warning(
    "link-far-below", _("as much as a link of {step_rate_bit_per_s} carries"),
    _("{ceiling_share} of what the link of {link_rate_bit_per_s} carries"),
    says=(
        _("nowhere more than {throughput_bit_per_s}, {direction}: as much as a link of "
            "{step_rate_bit_per_s} carries, and the one stated has {link_rate_bit_per_s}"),
        _("nowhere more than {throughput_bit_per_s}, as much as a link of {step_rate_bit_per_s} "
            "carries: {ceiling_share} of what the link of {link_rate_bit_per_s} carries, of which "
            "other pairings reach {others_ceiling_share}"),
        _("nowhere more than {throughput_bit_per_s}, as much as a link of {step_rate_bit_per_s} "
            "carries, and the one stated has {link_rate_bit_per_s}"),
        _("nowhere more than {throughput_bit_per_s}, {ceiling_share} of what the link of "
            "{link_rate_bit_per_s} carries, of which other pairings reach "
            "{others_ceiling_share}: suspect a host, the cable or its duplex rather than what was "
            "varied"),
        _("nowhere more than {throughput_bit_per_s}, {ceiling_share} of what the link of "
            "{link_rate_bit_per_s} carries: suspect a host, the cable or its duplex rather than "
            "what was varied")),
    rule="link_checks:links", rank=2, limit=_("a slower link"), section="About a run",
    advice=_("look at speed, duplex, cable and driver at both ends, and at the rate stated for "
        "the link"),
    stated="a pairing reaches at most 11 % of the ceiling in its best unpaced cell; or the best of "
        "several cells (three, or two of different ceilings) lie from 2 % below to 0.5 % above "
        "the ceiling of a rate that links negotiate (10, 100, 1000, 2500, 5000, 10,000 Mbit/s and "
        "on), at most 90 % of the stated one; or its streams stop at such a rate as for "
        "`link-or-shaper`. With messages of half a frame and more among them, and no host's own "
        "limit explains it (IEEE 802.3)")
warning(
    "slower-link", _("{rate_limit_bit_per_s} on the wire"),
    says=(
        _("{direction} a link of {rate_limit_bit_per_s} where {link_rate_bit_per_s} is stated: "
            "{trials} of {of_trials} trials, messages of {columns} kinds, stop at this rate on "
            "the wire"),
        _("a link of {rate_limit_bit_per_s} where {link_rate_bit_per_s} is stated: {trials} of "
            "{of_trials} trials, messages of {columns} kinds, stop at this rate on the wire")),
    rank=2, limit=_("a slower link"), section=_SECTION,
    advice=_("look at speed, duplex, cable and driver at both ends, and at the rate stated for "
        "the link"),
    stated="by direction of a pairing: unpaced streams that nothing else explains, of three "
        "ceilings and more that differ pairwise by 5 %, stop within 0.5 % of one rate in bytes on "
        "the wire (TCP up to 3 % below UDP), three times as closely as in bytes of frames or IP "
        "packets; no cell lies more than 0.5 % above it, and what lies below has its reason or is "
        "a third at most. Loss counts where it is of the rate offered: streams that lost hardly a "
        "tenth as much stop there as well. Not with data both ways")
warning(
    "shaper", _("{rate_limit_bit_per_s} in bytes of {counted}"),
    says=(
        _("{direction} a shaper or policer lets {rate_limit_bit_per_s} pass, counted in {counted}: "
            "{trials} of {of_trials} trials, messages of {columns} kinds, stop at this rate"),
        _("a shaper or policer lets {rate_limit_bit_per_s} pass, counted in {counted}: {trials} "
            "of {of_trials} trials, messages of {columns} kinds, stop at this rate")),
    rank=2, limit=_("a shaper or policer"), section=_SECTION,
    advice=_("look for a rate limit on the path: in a switch, a router, or a host's own queue"),
    stated="the same at one rate in bytes of frames (with or without FCS) or of IP packets, which "
        "lies three times as close as that in bytes on the wire")
warning(
    "link-or-shaper", _("{rate_limit_bit_per_s} on the wire"),
    says=(
        _("{direction} a limit of {rate_limit_bit_per_s} on the wire, link or shaper: {trials} of "
            "{of_trials} trials stop, {with_others}, at {ceiling_share} of what the link of "
            "{link_rate_bit_per_s} carries"),
        _("{direction} a limit of {rate_limit_bit_per_s} on the wire, link or shaper: {trials} of "
            "{of_trials} trials stop at {ceiling_share} of what the link of "
            "{link_rate_bit_per_s} carries"),
        _("a limit of {rate_limit_bit_per_s} on the wire, link or shaper: {trials} of {of_trials} "
            "trials stop at {ceiling_share} of what the link of {link_rate_bit_per_s} carries")),
    rank=2, limit=_("a slower link or a shaper"), section=_SECTION,
    advice=_("look at the speed of both ends' links, at the rate stated for them, and for a rate "
        "limit on the path"),
    stated="the same with fewer ceilings: three trials and more, all that nothing else explains, "
        "stop within 0.5 % of one share of the wire. A wait for a CPU gives way where nothing "
        "shows what it led to, and so does congestion where TCP kept a queue filled (its round "
        "trip twice the shortest, by 16 frames and more). Not of trials in which what is missing "
        "is by half or more: time in which data stopped, or CPU time given to other machines. "
        "What others are likely to have used of the link (1.5 % and more) counts with a stream's "
        "rate, and both together must stay below 98 % of the link. TCP's rate is that of its "
        "plateau, where a quarter of its steps of 15 ms and more (tcp_info) have one rate within "
        "2 % and throughput lacks 2 % and more of it: what it lacks is the time in which its data "
        "stood. Without TCP it is not said where all trials waited for a CPU alike, for as long as "
        "what is missing")
