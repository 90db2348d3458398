"""Kinds of findings about links that carry less than the matrix says.."""

from netlab.findings.kinds.kind import value, warning
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
    condition="a *lower link rate* is one that links negotiate (10, 100, 1000, 2500, 5000, 10,000 "
        "Mbit/s and higher; IEEE 802.3), at most 90 % of the stated rate. A cell *has* it if its "
        "throughput is between 2 % below and 0.5 % above the wire ceiling of such a link. Stated "
        "in three cases: the best unpaced cell of a pairing reaches at most 11 % of the stated "
        "link's ceiling; or that cell has a lower link rate, and so have at least three cells "
        "(two, if their ceilings differ); or the rate that `rate-limit` finds is a lower link "
        "rate. The first two need an unpaced cell with messages of at least 700 bytes, and do not "
        "count if a limit of a host explains the best cell or `mesh-limit` names it")
warning(
    "rate-limit", rank=2, section=_SECTION,
    condition="one rate limits the streams of one direction of a pairing (those described below "
        "this table). The medians for each protocol and message size differ by at most 0.5 %; TCP "
        "may be up to 3 % below UDP. No cell is more than 0.5 % above the rate, and no trial more "
        "than 2 %; at most a third of the streams are below it without a known reason. `link`: the "
        "rate is one in bytes on the wire, over at least three wire ceilings that differ by at "
        "least 5 %, and the medians differ at least three times as much in bytes of frames or IP "
        "packets. `shaper`: the other way round. `either`: the records do not show which bytes "
        "count; at least three trials have one share of the wire ceiling within 0.5 % (one may be "
        "1 % lower if its time without a CPU explains it twice), and with fewer than three "
        "ceilings no stream is below it without a known reason. Not stated with data both ways",
    values={
        "link": value(
            _("{rate_limit_bit_per_s} on the wire"), limit=_("a slower link"),
            says=(
                _("a link of {rate_limit_bit_per_s} {direction}, but the matrix states "
                    "{link_rate_bit_per_s}: {trials} of {of_trials} trials, with {columns} "
                    "combinations of protocol and message size, reach this rate on the wire and "
                    "no more"),
                _("a link of {rate_limit_bit_per_s}, but the matrix states "
                    "{link_rate_bit_per_s}: {trials} of {of_trials} trials, with {columns} "
                    "combinations of protocol and message size, reach this rate on the wire and "
                    "no more")),
            advice=_("check speed, duplex, cable and driver at both ends, and the stated rate of "
                "the link")),
        "shaper": value(
            _("{rate_limit_bit_per_s} in bytes of {counted}"), limit=_("a shaper or policer"),
            says=(
                _("a shaper or policer limits the rate {direction} to {rate_limit_bit_per_s}, "
                    "counted in {counted}: {trials} of {of_trials} trials, with {columns} "
                    "combinations of protocol and message size, reach this rate and no more"),
                _("a shaper or policer limits the rate to {rate_limit_bit_per_s}, counted in "
                    "{counted}: {trials} of {of_trials} trials, with {columns} combinations of "
                    "protocol and message size, reach this rate and no more")),
            advice=_("look for a rate limit on the path: in a switch, a router or a host's "
                "queue")),
        "either": value(
            _("{rate_limit_bit_per_s} on the wire"), limit=_("a slower link or a shaper"),
            says=(
                _("a limit of {rate_limit_bit_per_s} on the wire (a link or a shaper) "
                    "{direction}: {trials} of {of_trials} trials, {with_others}, reach "
                    "{ceiling_share} of what the link of {link_rate_bit_per_s} carries, and no "
                    "more"),
                _("a limit of {rate_limit_bit_per_s} on the wire (a link or a shaper) "
                    "{direction}: {trials} of {of_trials} trials reach {ceiling_share} of what "
                    "the link of {link_rate_bit_per_s} carries, and no more"),
                _("a limit of {rate_limit_bit_per_s} on the wire (a link or a shaper): {trials} "
                    "of {of_trials} trials reach {ceiling_share} of what the link of "
                    "{link_rate_bit_per_s} carries, and no more")),
            advice=_("check the speed of the links at both ends and the stated rate, and look for "
                "a rate limit on the path"))})
