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
    condition="a pairing reaches at most 11 % of the ceiling in its best unpaced cell. Also stated "
        "if the best of several cells (three, or two with different ceilings) are between 2 % "
        "below and 0.5 % above the ceiling of a rate that links negotiate (10, 100, 1000, 2500, "
        "5000, 10,000 Mbit/s and higher), and that rate is at most 90 % of the stated one; or "
        "if its streams stop at such a rate as for `link-or-shaper`. Some of its messages must "
        "fill at least half a frame, and no host's own limit may explain it (IEEE 802.3)")
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
    condition="for one direction of a pairing: unpaced streams that nothing else explains, with at "
        "least three ceilings that differ pairwise by 5 %, stop within 0.5 % of one rate in "
        "bytes on the wire (TCP up to 3 % below UDP), and this rate fits three times as closely "
        "as one in bytes of frames or IP packets. No cell is more than 0.5 % above it, and the "
        "streams below it have a known reason or are at most a third. Loss counts if it comes "
        "from the offered rate: streams that lost hardly a tenth as much stop there as well. "
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
    condition="as `slower-link` with fewer ceilings: at least three trials, all those that nothing "
        "else explains, stop within 0.5 % of one share of the wire. A wait for a CPU gives way "
        "if nothing shows its effect, and congestion gives way if TCP kept a queue filled (its "
        "round trip at least twice the shortest, by at least 16 frames). Trials are left out if "
        "at least half of what is missing is time in which data stopped, or CPU time given to "
        "other machines. What other traffic probably used of the link (at least 1.5 %) is added "
        "to a stream's rate, and both together must stay below 98 % of the link. TCP's rate is "
        "that of its plateau, if a quarter of its steps of at least 15 ms (tcp_info) have one "
        "rate within 2 % and throughput is at least 2 % lower: the difference is the time in "
        "which its data stood still. Without TCP, it is not stated if all trials waited for a "
        "CPU alike, for as long as what is missing")
