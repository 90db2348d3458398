"""Links that carry less than the matrix says: rows of the table of kinds. Pure."""

from netlab.findings.kinds.kind import warning
from netlab.messages import _

_SECTION = "The bottleneck of a stream"

# A table: as few lines per row as possible.
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
            "suspect a host, the cable or its duplex, not the varied settings"),
        _("at most {throughput_bit_per_s}, {ceiling_share} of what the link of "
            "{link_rate_bit_per_s} carries: suspect a host, the cable or its duplex, not the "
            "varied settings")),
    rule="link_checks:links", rank=2, limit=_("a slower link"), section="About a run",
    advice=_("check speed, duplex, cable and driver at both ends, and the stated rate of the "
        "link"),
    condition="the best unpaced cell of a pairing reaches at most 11 % of the ceiling. Also stated "
        "if the link seems to run at a lower rate that links negotiate (10, 100, 1000, 2500, 5000, "
        "10,000 Mbit/s and higher) and that is at most 90 % of the stated rate. Two observations "
        "show this: the best of several cells (three, or two with different ceilings) are between "
        "2 % below and 0.5 % above the ceiling of that rate, or the streams are limited to it as "
        "for `link-or-shaper`. Some messages must fill at least half a frame, and no limit of a "
        "host may explain the figures (IEEE 802.3)")
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
    condition="in one direction of a pairing, the unpaced streams that no other rule explains have "
        "at least three ceilings that differ from each other by 5 %. All these streams are limited "
        "to one rate in bytes on the wire, within 0.5 % (TCP up to 3 % below UDP), and this rate "
        "fits three times as closely as one in bytes of frames or of IP packets. No cell is more "
        "than 0.5 % above it, and the streams below it have a known reason or are at most a third "
        "of all. Streams with loss count only if their own rate caused the loss (random loss "
        "affects all streams alike): other streams with the same rate lost at most a tenth as "
        "much, or the shares lost by different protocols and message sizes differ by at least 2 %. "
        "Not stated with data both ways")
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
    condition="as `slower-link`, but the rate in bytes of frames (with or without FCS) or of IP "
        "packets fits three times as closely as the rate in bytes on the wire")
warning(
    "link-or-shaper", _("{rate_limit_bit_per_s} on the wire"),
    says=(
        _("a limit of {rate_limit_bit_per_s} on the wire (a link or a shaper) {direction}: "
            "{trials} of {of_trials} trials stop, {with_others}, at {ceiling_share} of what the "
            "link of {link_rate_bit_per_s} carries"),
        _("a limit of {rate_limit_bit_per_s} on the wire (a link or a shaper) {direction}: "
            "{trials} of {of_trials} trials stop at {ceiling_share} of what the link of "
            "{link_rate_bit_per_s} carries"),
        _("a limit of {rate_limit_bit_per_s} on the wire (a link or a shaper): {trials} of "
            "{of_trials} trials stop at {ceiling_share} of what the link of "
            "{link_rate_bit_per_s} carries")),
    rank=2, limit=_("a slower link or a shaper"), section=_SECTION,
    advice=_("check the speed of the links at both ends and the stated rate, and look for a "
        "rate limit on the path"),
    condition="as `slower-link` with fewer ceilings: there are at least three trials that no other "
        "rule explains, and all are limited to the same share of the wire ceiling within 0.5 %. "
        "This finding takes precedence over a wait for a CPU without a recorded effect, and over "
        "congestion if TCP kept a queue filled (its round trip was at least twice the shortest, by "
        "at least 16 frames). A trial is left out if at least half of the missing throughput is "
        "due to time in which data stopped, or to CPU time given to other machines. The probable "
        "use of the link by other traffic (at least 1.5 %) is added to a stream's rate; the sum "
        "must be below 98 % of the link. For TCP, the rate of the *plateau* is used if at least a "
        "quarter of the steps of at least 15 ms (tcp_info) have one rate within 2 %, and "
        "throughput is at least 2 % lower than that rate: the difference is time in which data "
        "stood still. Not stated without TCP if all trials waited for a CPU to the same extent, "
        "and long enough to explain the missing throughput")
