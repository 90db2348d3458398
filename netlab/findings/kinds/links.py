"""Kinds of findings about links that carry less than the matrix says. No I/O."""

from netlab.findings.kinds.kind import warning
from netlab.messages import _

_SECTION = "The bottleneck of a stream"

# This is a table: each row has as few lines as possible, so it is not formatted.
# fmt: off

warning(
    "link-far-below", _("as much as a link of {step_rate_bit_per_s} carries"),
    _("{ceiling_share} of what the link of {link_rate_bit_per_s} carries"),
    says=(
        _("at most {throughput_bit_per_s}, {direction}: as much as a link of "
            "{step_rate_bit_per_s} carries, but the matrix states {link_rate_bit_per_s}"),
        _("at most {throughput_bit_per_s}, as much as a link of {step_rate_bit_per_s} carries: "
            "{ceiling_share} of what the stated link of {link_rate_bit_per_s} carries, while "
            "other pairings reach {others_ceiling_share}"),
        _("at most {throughput_bit_per_s}, as much as a link of {step_rate_bit_per_s} carries, "
            "but the matrix states {link_rate_bit_per_s}"),
        _("at most {throughput_bit_per_s}, {ceiling_share} of what the link of "
            "{link_rate_bit_per_s} carries, while other pairings reach {others_ceiling_share}: "
            "suspect a host, the cable or its duplex mode, not the settings that the matrix "
            "varies"),
        _("at most {throughput_bit_per_s}, {ceiling_share} of what the link of "
            "{link_rate_bit_per_s} carries: suspect a host, the cable or its duplex mode, not the "
            "settings that the matrix varies")),
    rule="link_checks:links", rank=2, limit=_("a slower link"), section="About a run",
    advice=_("check speed, duplex, cable and driver at both ends, and the stated rate of the "
        "link"),
    condition="a *lower link rate* is a rate that links negotiate (10, 100, 1000, 2500, 5000, "
        "10,000 Mbit/s and higher; IEEE 802.3), and that is at most 90 % of the stated rate. A "
        "cell *has* this rate if its throughput is between 2 % below and 0.5 % above the wire "
        "ceiling of a link of this rate. The *best cell* of a pairing is the unpaced cell that "
        "reaches the largest share of the wire ceiling of the stated link. The finding is stated "
        "in three cases. First: the best cell reaches at most 11 % of the wire ceiling. Second: "
        "the best cell has a lower link rate, and at least three cells of the pairing have this "
        "rate (two are enough if their wire ceilings differ). Third: `rate-limit/link` or "
        "`rate-limit/either` holds, and the rate that it finds is a lower link rate; then this "
        "finding replaces the other one. The first two cases need at least one unpaced cell of the "
        "pairing with messages of at least 700 bytes. They do not count if a limit of a host "
        "explains the best cell, or if `mesh-limit/host`, `mesh-limit/pair` or `mesh-limit/mesh` "
        "names the best cell")
warning(
    "rate-limit/link", _("{rate_limit_bit_per_s} on the wire"),
    says=(
        _("a link of {rate_limit_bit_per_s} {direction}, but the matrix states "
            "{link_rate_bit_per_s}: {trials} of {of_trials} trials, with {columns} combinations "
            "of protocol and message size, reach this rate on the wire and no more"),
        _("a link of {rate_limit_bit_per_s}, but the matrix states {link_rate_bit_per_s}: "
            "{trials} of {of_trials} trials, with {columns} combinations of protocol and message "
            "size, reach this rate on the wire and no more")),
    rank=2, limit=_("a slower link"), section=_SECTION,
    advice=_("check speed, duplex, cable and driver at both ends, and the stated rate of the "
        "link"),
    condition="the rule judges each direction of a pairing, by the streams described below this "
        "table. These streams have at least three wire ceilings, any two of which differ by at "
        "least 5 %. The streams are limited to one rate, counted in bytes on the wire: the medians "
        "for each protocol and message size differ by at most 0.5 %. TCP may be up to 3 % below "
        "UDP. If the bytes of frames or of IP packets are counted instead, the medians differ at "
        "least three times as much. No stream of this direction is faster: the median of each cell "
        "is at most 0.5 % above the rate, and each trial is at most 2 % above it. At most a third "
        "of the streams are below the rate without a known reason, such as a wait for a CPU. Not "
        "stated with data both ways")
warning(
    "rate-limit/shaper", _("{rate_limit_bit_per_s} in bytes of {counted}"),
    says=(
        _("a shaper or policer limits the rate {direction} to {rate_limit_bit_per_s}, counted "
            "in {counted}: {trials} of {of_trials} trials, with {columns} combinations of "
            "protocol and message size, reach this rate and no more"),
        _("a shaper or policer limits the rate to {rate_limit_bit_per_s}, counted in {counted}: "
            "{trials} of {of_trials} trials, with {columns} combinations of protocol and message "
            "size, reach this rate and no more")),
    rank=2, limit=_("a shaper or policer"), section=_SECTION,
    advice=_("look for a rate limit on the path: in a switch, a router or a host's queue"),
    condition="as `rate-limit/link`, but the streams are limited to one rate counted in bytes of "
        "frames (with or without FCS) or in bytes of IP packets. If the bytes on the wire are "
        "counted instead, the medians differ at least three times as much")
warning(
    "rate-limit/either", _("{rate_limit_bit_per_s} on the wire"),
    says=(
        _("a limit of {rate_limit_bit_per_s} on the wire (a link or a shaper) {direction}: "
            "{trials} of {of_trials} trials, {with_others}, reach {ceiling_share} of what the "
            "link of {link_rate_bit_per_s} carries, and no more"),
        _("a limit of {rate_limit_bit_per_s} on the wire (a link or a shaper) {direction}: "
            "{trials} of {of_trials} trials reach {ceiling_share} of what the link of "
            "{link_rate_bit_per_s} carries, and no more"),
        _("a limit of {rate_limit_bit_per_s} on the wire (a link or a shaper): {trials} of "
            "{of_trials} trials reach {ceiling_share} of what the link of "
            "{link_rate_bit_per_s} carries, and no more")),
    rank=2, limit=_("a slower link or a shaper"), section=_SECTION,
    advice=_("check the speed of the links at both ends and the stated rate, and look for a "
        "rate limit on the path"),
    condition="as `rate-limit/link`, but the records do not show which bytes the limit counts. "
        "Either the streams have fewer than three different wire ceilings, or no way to count "
        "bytes fits clearly better than the others. At least three trials are limited to the same "
        "share of the wire ceiling, within 0.5 %. One of these three may be up to 1 % lower, if "
        "its share of time without a CPU is at least twice this difference. If there are fewer "
        "than three different wire ceilings, no stream may be below the rate without a known "
        "reason")
