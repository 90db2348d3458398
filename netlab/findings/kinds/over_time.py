"""Kinds of findings about changes over the time of a run or of a trial. No I/O."""

from netlab.findings.kinds.kind import note, warning
from netlab.messages import _

SECTION = "Over time"

# This is a table: each row has as few lines as possible, so it is not formatted.
# fmt: off

warning(
    "trend/proved",
    _("{what}: {change_share} from the first to the last of {blocks} blocks, over {lasted_s}, "
        "as the median of {counted_cells}; chance alone gives such a change in one of {one_of} "
        "runs"),
    _("{what}: {change_share} from the first to the last of {blocks} blocks, as the median of "
        "{counted_cells}; chance alone gives such a change in one of {one_of} runs"),
    rule="over_time.drift:drifts", rank=12, section=SECTION,
    condition="there are at least 6 blocks. Each trial has a *difference*: the logarithm of its "
        "figure (throughput or mean round trip), minus the mean of this logarithm over all trials "
        "of its cell. The *figure of a block* is the median of the differences of its trials. This "
        "figure rises or falls over the blocks, by the test of Mann and Kendall (p under 0.01, "
        "exact up to 60 blocks; tau of at least 0.6; Kendall, Rank Correlation Methods, 1970). The "
        "figure changes by more than 1 % over the run (Theil-Sen slope). Trials that were measured "
        "outside their block, paced streams and imported figures are left out",
    advice=_("conditions changed during the run: find what changed (heat, other load), and "
        "compare cells only within a block"))
note(
    "trend/possible",
    _("{what}: {change_share} from the first to the last of {blocks} blocks, as the median of "
        "{counted_cells}: consistent with drift, but {blocks} blocks are too few to prove it"),
    rank=74, section=SECTION,
    condition="there are 3 to 5 blocks and at least 5 cells. The figures of the blocks (see "
        "`trend/proved`) only rise, or only fall, from block to block. The whole change is more "
        "than 1 %, and at least a quarter of this change comes after the second block. Kendall's "
        "seasonal test has p under 0.01 (each cell is one season; Hirsch, Slack and Smith, Water "
        "Resources Research 18, 1982)",
    advice=_("repeat the cells at least 6 times to distinguish drift from chance"))
note(
    "first-trial-slower",
    _("{what} of the first trials: {change_share} compared with the later ones, slower in "
        "{slower_cells} of {counted_cells} (n = {blocks} trials each)"),
    rule="over_time.drift:first_trials", rank=74, section=SECTION,
    condition="there are at least 3 trials per cell. Each trial has a *difference* from the median "
        "of the later trials of its cell (all trials except the first). In significantly more than "
        "half of the cells, the first trial is slower than this median (exact sign test, p under "
        "0.01). In the first block, the median of the differences over all cells is more than 2 %, "
        "and more than 3 times as large as in any later block",
    advice=_("leave the first trial out of the means, or set a `warm_up` before each trial"))
warning(
    "dips/unexplained",
    _("{in_trials}: the rate dips by {depth_share} once every {period_ns}"),
    _("the rate dips by {depth_share} once every {period_ns}"),
    rule="over_time.dips:dips", rank=13, section=SECTION,
    condition="in more than half of a cell's trials, the throughput has a period: the "
        "autocorrelation of a series of at least 40 intervals shows it (Box and Jenkins, Time "
        "Series Analysis, 1970). The period is between 3 intervals and a quarter of the window. "
        "The median dip is deeper than 5 % of the median rate. In bytes per interval, the median "
        "dip is also deeper than 3 times the largest receive call, because data arrive in portions "
        "of that size",
    advice=_("look for something with this period: a timer, a CPU quota, a scan, other traffic"))
note(
    "dips/congestion",
    _("{in_trials}: the rate dips by {depth_share} once every {period_ns}, and TCP sent "
        "{resent_segments} again: this is TCP’s congestion control"),
    _("the rate dips by {depth_share} once every {period_ns}, and TCP sent "
        "{resent_segments} again: this is TCP’s congestion control"),
    rank=74, section=SECTION,
    condition="as `dips/unexplained`, and TCP sent segments again in each trial with such dips",
    advice=_("TCP probes the rate of the path this way: check the queue before the slowest link"))
