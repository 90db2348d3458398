"""Kinds of findings about several hosts that were each measured with the others."""

from netlab.findings.kinds.kind import note, value, warning
from netlab.messages import _

SECTION = "Hosts against hosts"

# This is a table: each row has as few lines as possible, so it is not formatted.
# fmt: off

warning(
    "mesh-limit", rule=lambda mesh: mesh, rank=3, section=SECTION,
    condition="among at least three hosts, in streams with the same settings, the *figure* of a "
        "pair is the median share of the wire ceiling of its trials; the *margin* is the larger of "
        "2 % (5 % if no pair was repeated) and 3 pooled deviations within pairs, more with few "
        "trials (Student's t) or many pairs (Bonferroni's bound). `host`: with each peer the host "
        "is below the fastest pair by more than the margin, as sender or as receiver, and at least "
        "two of these peers reach the fastest pair's figure with another host. Two peers only: "
        "*consistent with*. `pair`: slower by more than the margin than the fastest pair of its "
        "sender and of its receiver, unless each of its trials has a limit that is not on the "
        "path. `mesh`: all pairs differ by at most the margin, which is not larger than the "
        "distance of the fastest pair from the ceiling; all stay below 98 % of it (96 % both "
        "ways), and fewer than half of the trials have a limit that is not on the path",
    values={
        "host": value(
            _("{both_ways_bit_per_s} with every peer, both ways; other hosts reach "
                "{others_bit_per_s}: limited by {limits}"),
            _("{both_ways_bit_per_s} with every peer ({one_peer} and {other_peer}), both ways; "
                "other hosts reach {others_bit_per_s}: consistent with a link of "
                "{as_link_rate_bit_per_s} at that host, but the matrix states "
                "{link_rate_bit_per_s}"),
            _("{both_ways_bit_per_s} with every peer, both ways; other hosts reach "
                "{others_bit_per_s}: this fits a link of {as_link_rate_bit_per_s} at that host, "
                "but the matrix states {link_rate_bit_per_s}"),
            _("{both_ways_bit_per_s} with every peer ({one_peer} and {other_peer}), both ways; "
                "other hosts reach {others_bit_per_s}: consistent with a slow host"),
            _("{both_ways_bit_per_s} with every peer, both ways; other hosts reach "
                "{others_bit_per_s}"),
            _("sends at most {sends_at_most_bit_per_s} to every peer; receives "
                "{receives_bit_per_s}; other hosts reach {others_bit_per_s}: limited by {limits}"),
            _("sends at most {sends_at_most_bit_per_s} to every peer ({one_peer} and "
                "{other_peer}); receives {receives_bit_per_s}: consistent with a slow sender"),
            _("sends at most {sends_at_most_bit_per_s} to every peer; receives "
                "{receives_bit_per_s}"),
            _("sends at most {sends_at_most_bit_per_s} to every peer; other hosts reach "
                "{others_bit_per_s}"),
            _("receives at most {receives_at_most_bit_per_s} from every peer; sends "
                "{sends_bit_per_s}; other hosts reach {others_bit_per_s}: limited by {limits}"),
            _("receives at most {receives_at_most_bit_per_s} from every peer ({one_peer} and "
                "{other_peer}); sends {sends_bit_per_s}: consistent with a slow receiver"),
            _("receives at most {receives_at_most_bit_per_s} from every peer; sends "
                "{sends_bit_per_s}"),
            _("receives at most {receives_at_most_bit_per_s} from every peer; other hosts reach "
                "{others_bit_per_s}"), rank=2,
            advice=_("check what only this host has: its cable and port, its driver, its CPU")),
        "pair": value(
            _("between {one} and {other} at most {throughput_bit_per_s}, both ways, but each of "
                "them reaches {expected_bit_per_s} with other hosts"),
            _("from {sending} to {receiving} {throughput_bit_per_s}, but each of them reaches "
                "{expected_bit_per_s} with other hosts"), says_of_what=True,
            advice=_("check what only these two share: the link between their switches, a route, a "
                "filter")),
        "mesh": value(
            _("all {pairs} pairs reach {throughput_bit_per_s}, {ceiling_share} of what a link of "
                "{link_rate_bit_per_s} carries: no host stands out"),
            advice=_("check what all of them share, such as the switch, and the stated rate of the "
                "link"))})
note(
    "far-host",
    _("adds {added_ns} to each of its round trips; {typical_ns} is typical"),
    rule="mesh:far_hosts", rank=67, section=SECTION,
    condition="there are at least four hosts, and each was measured with at least three others. "
        "Median polish of the median round trips gives the time that each host adds to its round "
        "trips (Tukey, Exploratory Data Analysis, 1977). The *typical* round trip is that between "
        "two hosts that add the median time. One host adds more than the median time. The "
        "difference exceeds each of three values: 10 % of the typical round trip, 3 x 1.4826 times "
        "the median of the absolute residuals of the polish, and 3 pooled deviations within pairs",
    advice=_("check what only this host has: a longer path, power saving, interrupt moderation"))
