"""Changes over the time of a run, and of a trial: rows of the table of kinds. Pure."""

from netlab.findings.kinds.kind import note, warning
from netlab.messages import _

SECTION = "Over time"

# A table: as few lines per row as possible.
# fmt: off

warning(
    "drift",
    _("{what}: {change_share} from the first to the last of {blocks} blocks, over {lasted_s}, "
        "as the median of {counted_cells}; chance alone gives this in one of {one_of} runs"),
    _("{what}: {change_share} from the first to the last of {blocks} blocks, as the median of "
        "{counted_cells}; chance alone gives this in one of {one_of} runs"),
    rule="over_time.drift:drifts", rank=12, section=SECTION,
    condition="with at least 6 blocks: the median over the cells, in each block, of the logarithms "
        "minus the cell's mean rises or falls with the blocks by Mann and Kendall's test (exact "
        "p under 0.01; Kendall, Rank Correlation Methods, 1970), tau at least 0.6, and by more "
        "than 1 % over the run (Theil-Sen slope). Trials measured outside their block, paced "
        "streams and imports are left out",
    advice=_("conditions changed during the run: find what changed (heat, other load), and "
        "compare cells only within a block"))
note(
    "consistent-with-drift",
    _("{what}: {change_share} from the first to the last of {blocks} blocks, as the median of "
        "{counted_cells}: consistent with drift, but {blocks} blocks are too few to prove it"),
    rank=74, section=SECTION,
    condition="with 3 to 5 blocks and at least 5 cells: each block's median is beyond the one "
        "before, at least a quarter of the change comes after the second block, the change is "
        "more than 1 % in all, and Kendall's test with one season per cell has p under 0.01 "
        "(Hirsch, Slack and Smith, Water Resources Research 18, 1982)",
    advice=_("repeat the cells at least 6 times to distinguish drift from chance"))
note(
    "first-trial-slower",
    _("{what} of the first trials: {change_share} compared with the later ones, slower in "
        "{slower_cells} of {counted_cells} (n = {blocks} trials each)"),
    rule="over_time.drift:first_trials", rank=74, section=SECTION,
    condition="with at least 3 trials per cell: the first is slower than the median of the later "
        "ones in so many cells that an exact sign test has p under 0.01, by more than 2 % in "
        "the median cell, and by more than 3 times the deviation of any later block",
    advice=_("leave the first trial out of the means, or set a `warm_up` before each trial"))
warning(
    "periodic-dips",
    _("{in_trials}: the rate dips by {depth_share} once every {period_ns}"),
    _("the rate dips by {depth_share} once every {period_ns}"),
    rule="over_time.dips:dips", rank=13, section=SECTION,
    condition="in more than half of a cell's trials, the series of at least 40 intervals has a "
        "period, from 3 intervals to a quarter of the window, by its autocorrelation (Box and "
        "Jenkins, Time Series Analysis, 1970), and dips by more than 5 % and by more than 3 "
        "times the receiver's largest call over the bytes of an interval",
    advice=_("look for something with this period: a timer, a CPU quota, a scan, other traffic"))
note(
    "congestion-dips",
    _("{in_trials}: the rate dips by {depth_share} once every {period_ns}, and "
        "TCP sent {resent_segments} again: TCP’s congestion control"),
    _("the rate dips by {depth_share} once every {period_ns}, and TCP sent "
        "{resent_segments} again: TCP’s congestion control"),
    rank=74, section=SECTION,
    condition="as `periodic-dips`, and TCP sent segments again in each of these trials",
    advice=_("TCP probes the rate of the path this way: check the queue before the slowest link"))
