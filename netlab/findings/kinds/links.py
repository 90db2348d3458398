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
    condition="one of three observations shows a slower link. First: the best unpaced cell of a "
        "pairing reaches at most 11 % of the wire ceiling. Second: the best cell has a *lower link "
        "rate*, and at least three cells have the same rate (two are enough if their ceilings "
        "differ). Third: the streams are limited to a lower link rate, as for `slower-link` or "
        "`link-or-shaper`. A lower link rate is a rate that links negotiate (10, 100, 1000, 2500, "
        "5000, 10,000 Mbit/s and higher; IEEE 802.3), and is at most 90 % of the stated rate. A "
        "cell has this rate if it is between 2 % below and 0.5 % above the ceiling of the rate. "
        "The first two observations require a message size of at least 700 bytes in some cell. "
        "They do not count if a limit of a host, or a finding about hosts against hosts, explains "
        "the best cell")
warning(
    "slower-link", _("{rate_limit_bit_per_s} on the wire"),
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
    condition="the rule judges each direction of a pairing, by its unpaced streams that no other "
        "rule explains. These streams have at least three wire ceilings, and any two of the three "
        "differ by at least 5 %. The streams have one rate in bytes on the wire: the medians for "
        "each protocol and message size differ by at most 0.5 %. TCP may be up to 3 % below UDP. "
        "Counted in bytes of frames or of IP packets, the medians differ at least three times as "
        "much. The median of each cell is at most 0.5 % above the rate, and each trial at most 2 "
        "%. At most a third of the streams are below the rate without a known reason, such as a "
        "wait for a CPU. Streams with loss count only if they were sent faster than the link "
        "carries, because random loss affects all streams alike. One of two observations shows "
        "this. Other streams at the same rate lost at most a tenth as much. Or the shares lost "
        "with two protocols or message sizes differ by at least 2 percentage points. Not stated "
        "with data both ways")
warning(
    "shaper", _("{rate_limit_bit_per_s} in bytes of {counted}"),
    says=(
        _("a shaper or policer limits the rate {direction} to {rate_limit_bit_per_s}, counted "
            "in {counted}: {trials} of {of_trials} trials, with {columns} combinations of "
            "protocol and message size, reach this rate and no more"),
        _("a shaper or policer limits the rate to {rate_limit_bit_per_s}, counted in {counted}: "
            "{trials} of {of_trials} trials, with {columns} combinations of protocol and message "
            "size, reach this rate and no more")),
    rank=2, limit=_("a shaper or policer"), section=_SECTION,
    advice=_("look for a rate limit on the path: in a switch, a router or a host's queue"),
    condition="as `slower-link`, but the streams have one rate in bytes of frames (with or without "
        "FCS) or of IP packets. Counted in bytes on the wire, the medians differ at least three "
        "times as much")
warning(
    "link-or-shaper", _("{rate_limit_bit_per_s} on the wire"),
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
    condition="as `slower-link`, but the streams have fewer than three different ceilings, or no "
        "way to count bytes fits clearly better than the others. At least three trials that no "
        "other rule explains are limited to the same share of the wire ceiling, within 0.5 %. One "
        "of the three may be up to 1 % lower because of a wait for a CPU. Two kinds of trials with "
        "another limit also count. In the first kind, the only explanation is a wait for a CPU "
        "without a recorded effect. In the second kind, the explanation is `congestion`, and TCP "
        "kept a queue filled. The round trip was at least twice the shortest, and the queue had at "
        "least 16 frames. A trial is left out if stopped data, or CPU time given to other "
        "machines, explains at least half of the missing throughput. If other traffic probably "
        "used at least 1.5 % of the link, the rule adds its rate to the rate of the stream. This "
        "sum must be below 98 % of the link. The *plateau* of TCP is its rate while data flow. The "
        "series of tcp_info is divided into steps of at least 15 ms. At least a quarter of the "
        "steps have this rate, within 2 %. If throughput is more than 2 % below the plateau, the "
        "rule uses the plateau instead, because data stood still in the rest of the time. The "
        "trial is left out if throughput is more than 3 % below the plateau for another reason "
        "than a wait for a CPU. Not stated if no trial has a plateau and equal waits for a CPU "
        "explain the missing throughput in all trials. Waits are equal if the longest is at most "
        "1.5 times the shortest")
