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
            "suspect a host, the cable or its duplex mode, not the settings that the matrix "
            "varies"),
        _("at most {throughput_bit_per_s}, {ceiling_share} of what the link of "
            "{link_rate_bit_per_s} carries: suspect a host, the cable or its duplex mode, not the "
            "settings that the matrix varies")),
    rule="link_checks:links", rank=2, limit=_("a slower link"), section="About a run",
    advice=_("check speed, duplex, cable and driver at both ends, and the stated rate of the "
        "link"),
    condition="the best unpaced cell of a pairing reaches at most 11 % of the wire ceiling. Also "
        "stated if the link seems to run at a lower rate that links negotiate (10, 100, 1000, "
        "2500, 5000, 10,000 Mbit/s and higher). This rate must be at most 90 % of the stated rate, "
        "and one of two observations must show it. Either the best cells (three, or two with "
        "different ceilings) are between 2 % below and 0.5 % above the ceiling of that rate. Or "
        "the streams are limited to that rate as for `slower-link` or `link-or-shaper`. If the "
        "finding is not due to this last observation, some messages must have at least 700 bytes, "
        "and no limit of a host may explain the best cell (IEEE 802.3)")
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
        "rule explains. They have at least three wire ceilings that differ from each other by 5 "
        "%. They are limited to one rate in bytes on the wire, within 0.5 % (TCP may be up to 3 % "
        "below UDP). This rate fits three times as closely as one rate in bytes of frames or of "
        "IP packets. No cell is more than 0.5 % above the rate. Streams that are below it without "
        "a known reason, such as a wait for a CPU, are at most a third of all. Streams with loss "
        "count only if they were sent faster than the link carries, because random loss affects "
        "all streams alike. This is shown if other streams with the same rate lost at most a "
        "tenth as much, or if the shares lost by different protocols and message sizes differ by "
        "at least 2 %. Not stated with data both ways")
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
    condition="as `slower-link`, but one rate in bytes of frames (with or without FCS) or of IP "
        "packets fits three times as closely as one rate in bytes on the wire")
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
    condition="as `slower-link`, but the streams have fewer than three different ceilings, or none "
        "of the ways to count bytes fits clearly better than the others. There are at least three "
        "trials that no other rule explains, and all are limited to the same share of the wire "
        "ceiling, within 0.5 %. A trial also counts if its only explanation is a wait for a CPU "
        "without a recorded effect, or congestion if TCP kept a queue filled: its round trip was "
        "at least twice the shortest, and the queue had at least 16 frames. A trial is left out if "
        "at least half of the missing throughput is due to time in which data stopped, or to CPU "
        "time given to other machines. If other traffic probably used at least 1.5 % of the link, "
        "its rate is added to the stream's rate; the sum must be below 98 % of the link. The "
        "*plateau* of TCP is the rate that it has while its data flow: the series of tcp_info is "
        "divided into steps of at least 15 ms, and at least a quarter of them have this rate, "
        "within 2 %. It is used in place of throughput if throughput is at least 2 % lower, since "
        "data stood still in the rest of the time. Without a plateau, the finding is not stated if "
        "all trials waited for a CPU to the same extent, and long enough to explain the missing "
        "throughput")
