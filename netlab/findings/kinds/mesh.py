"""Kinds of findings about several hosts that were each measured with the others. No I/O."""

from netlab.findings.kinds.kind import note, warning
from netlab.messages import _

SECTION = "Hosts against hosts"

# This is a table: each row has as few lines as possible, so it is not formatted.
# fmt: off

warning(
    "mesh-limit/host",
    _("{both_ways_bit_per_s} with every peer, both ways; other hosts reach {others_bit_per_s}: "
        "limited by {limits}"),
    _("{both_ways_bit_per_s} with every peer ({one_peer} and {other_peer}), both ways; other "
        "hosts reach {others_bit_per_s}: consistent with a link of {as_link_rate_bit_per_s} at "
        "that host, but the matrix states {link_rate_bit_per_s}"),
    _("{both_ways_bit_per_s} with every peer, both ways; other hosts reach {others_bit_per_s}: "
        "this fits a link of {as_link_rate_bit_per_s} at that host, but the matrix states "
        "{link_rate_bit_per_s}"),
    _("{both_ways_bit_per_s} with every peer ({one_peer} and {other_peer}), both ways; other "
        "hosts reach {others_bit_per_s}: consistent with a slow host"),
    _("{both_ways_bit_per_s} with every peer, both ways; other hosts reach {others_bit_per_s}"),
    _("sends at most {sends_at_most_bit_per_s} to every peer; receives {receives_bit_per_s}; "
        "other hosts reach {others_bit_per_s}: limited by {limits}"),
    _("sends at most {sends_at_most_bit_per_s} to every peer ({one_peer} and {other_peer}); "
        "receives {receives_bit_per_s}: consistent with a slow sender"),
    _("sends at most {sends_at_most_bit_per_s} to every peer; receives {receives_bit_per_s}"),
    _("sends at most {sends_at_most_bit_per_s} to every peer; other hosts reach "
        "{others_bit_per_s}"),
    _("receives at most {receives_at_most_bit_per_s} from every peer; sends {sends_bit_per_s}; "
        "other hosts reach {others_bit_per_s}: limited by {limits}"),
    _("receives at most {receives_at_most_bit_per_s} from every peer ({one_peer} and "
        "{other_peer}); sends {sends_bit_per_s}: consistent with a slow receiver"),
    _("receives at most {receives_at_most_bit_per_s} from every peer; sends {sends_bit_per_s}"),
    _("receives at most {receives_at_most_bit_per_s} from every peer; other hosts reach "
        "{others_bit_per_s}"),
    rule=lambda mesh: mesh, rank=2, section=SECTION,
    condition="the rule compares at least three hosts, in streams with the same protocol, message "
        "size and other settings. The *figure* of a pair is the median share of the wire ceiling "
        "that its trials reach. The *margin* is the larger of 2 % and 3 pooled deviations within "
        "pairs. If there are few trials (Student's t) or many pairs (Bonferroni's bound), the "
        "margin is more than 3 deviations. If no pair was repeated, the margin is at least 5 % "
        "instead of 2 %. One host, as the sender or as the receiver, is below the fastest pair by "
        "more than the margin with each of its peers. At least two of these peers reach the figure "
        "of the fastest pair, within the margin, with another host. If the host has only two "
        "peers, the finding says *consistent with*. The rule assumes that the slower link of two "
        "hosts limits their pair",
    advice=_("check what only this host has: its cable and port, its driver, its CPU"))
warning(
    "mesh-limit/pair",
    _("between {one} and {other} at most {throughput_bit_per_s}, both ways, but each of them "
        "reaches {expected_bit_per_s} with other hosts"),
    _("from {sending} to {receiving} {throughput_bit_per_s}, but each of them reaches "
        "{expected_bit_per_s} with other hosts"),
    rank=3, says_of_what=True, section=SECTION,
    condition="a pair is slower than the fastest pair with the same sender, and slower than the "
        "fastest pair with the same receiver. Both differences exceed the margin of "
        "`mesh-limit/host`. Not stated if every trial of the pair has a limit that is not on the "
        "path, such as a limit of a host",
    advice=_("check what only these two share: the link between their switches, a route, a "
        "filter"))
warning(
    "mesh-limit/mesh",
    _("all {pairs} pairs reach {throughput_bit_per_s}, {ceiling_share} of what a link of "
        "{link_rate_bit_per_s} carries: no host stands out"),
    rank=3, section=SECTION,
    condition="the figures of all pairs of at least three hosts differ by at most the margin of "
        "`mesh-limit/host`. The margin is not larger than the distance of the fastest pair from "
        "the wire ceiling. Each pair stays below 98 % of the wire ceiling (96 % with data both "
        "ways), with every combination of settings. Fewer than half of the trials have a limit "
        "that is not on the path, such as a limit of a host",
    advice=_("check what all of them share, such as the switch, and the stated rate of the link"))
note(
    "far-host",
    _("adds {added_ns} to each of its round trips; {typical_ns} is typical"),
    rule="mesh.round_trips:far_hosts", rank=67, section=SECTION,
    condition="there are at least four hosts, and each was measured with at least three others. "
        "Median polish of the median round trips gives the time that each host adds to its round "
        "trips (Tukey, Exploratory Data Analysis, 1977). The *typical* round trip is that between "
        "two hosts that add the median time. One host adds more than the median time. The "
        "difference exceeds each of three values: 10 % of the typical round trip, 3 x 1.4826 times "
        "the median of the absolute residuals of the polish, and 3 pooled deviations within pairs",
    advice=_("check what only this host has: a longer path, power saving, interrupt moderation"))
