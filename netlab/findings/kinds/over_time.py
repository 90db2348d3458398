"""Kinds of findings about changes over the time of a run or of a trial."""

from netlab.findings.kinds.kind import note, value, warning
from netlab.messages import _

SECTION = "Over time"

# This is a table: each row has as few lines as possible, so it is not formatted.
# fmt: off

warning(
    "trend", section=SECTION,
    condition="the *figure of a block* is the median over its trials of the logarithm of "
        "throughput or mean round trip, minus the cell's mean of it. `proved`: over at least 6 "
        "blocks it rises or falls by the test of Mann and Kendall (p under 0.01, exact up to 60 "
        "blocks; tau of at least 0.6; Kendall, Rank Correlation Methods, 1970), by more than 1 % "
        "over the run (Theil-Sen). `possible`: over 3 to 5 blocks and at least 5 cells it only "
        "rises or only falls, by more than 1 %, at least a quarter of it after the second block, "
        "and Kendall's seasonal test has p under 0.01 (season: the cell; Hirsch, Slack and Smith, "
        "Water Resources Research 18, 1982). Trials outside their block, paced streams and "
        "imported figures are left out",
    values={
        "proved": value(
            _("{what}: {change_share} from the first to the last of {blocks} blocks, over "
                "{lasted_s}, as the median of {counted_cells}; chance alone gives such a change in "
                "one of {one_of} runs"),
            _("{what}: {change_share} from the first to the last of {blocks} blocks, as the median "
                "of {counted_cells}; chance alone gives such a change in one of {one_of} runs"),
            rule="over_time:drifts", rank=12,
            advice=_("conditions changed during the run: find what changed (heat, other load), and "
                "compare cells only within a block")),
        "possible": value(
            _("{what}: {change_share} from the first to the last of {blocks} blocks, as the median "
                "of {counted_cells}: consistent with drift, but {blocks} blocks are too few to "
                "prove it"), severity="note", rank=74,
            advice=_("repeat the cells at least 6 times to distinguish drift from chance"))})
note(
    "first-trial-slower",
    _("{what} of the first trials: {change_share} compared with the later ones, slower in "
        "{slower_cells} of {counted_cells} (n = {blocks} trials each)"),
    rule="over_time:first_trials", rank=74, section=SECTION,
    condition="there are at least 3 trials per cell. Each trial has a *difference* from the median "
        "of the later trials of its cell (all trials except the first). In significantly more than "
        "half of the cells, the first trial is slower than this median (exact sign test, p under "
        "0.01). In the first block, the median of the differences over all cells is more than 2 %, "
        "and more than 3 times as large as in any later block",
    advice=_("leave the first trial out of the means, or set a `warm_up` before each trial"))
warning(
    "dips", rule="over_time:dips", section=SECTION,
    condition="in more than half of a cell's trials, the throughput has a period by the "
        "autocorrelation of at least 40 intervals (Box and Jenkins, Time Series Analysis, 1970), "
        "between 3 intervals and a quarter of the window. The median dip is deeper than 5 % of the "
        "median rate, and than 3 times the largest receive call. `congestion`: TCP sent segments "
        "again in each of these trials",
    values={
        "unexplained": value(
            _("{in_trials}: the rate dips by {depth_share} once every {period_ns}"),
            _("the rate dips by {depth_share} once every {period_ns}"), rank=13,
            advice=_("look for something with this period: a timer, a CPU quota, a scan, other "
                "traffic")),
        "congestion": value(
            _("{in_trials}: the rate dips by {depth_share} once every {period_ns}, and TCP sent "
                "{resent_segments} again: this is TCP’s congestion control"),
            _("the rate dips by {depth_share} once every {period_ns}, and TCP sent "
                "{resent_segments} again: this is TCP’s congestion control"),
            severity="note", rank=74,
            advice=_("TCP probes the rate of the path this way: check the queue before the "
                "slowest link"))})
