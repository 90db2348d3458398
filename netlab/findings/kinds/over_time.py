"""Over the time of a run, and of a trial: rows of the table of kinds. Pure."""

from netlab.findings.kinds.kind import note, warning
from netlab.messages import _

SECTION = "Over time"

# A table: as few lines a row as it takes.
# fmt: off

warning(
    "drift",
    _("{what}: {change_share} from the first of {blocks} blocks to the last, over {lasted_s}, in "
        "the middle one of {counted_cells}; by chance in one of {one_of} runs"),
    _("{what}: {change_share} from the first of {blocks} blocks to the last, in the middle one of "
        "{counted_cells}; by chance in one of {one_of} runs"),
    rule="over_time.drift:drifts", rank=12, section=SECTION,
    stated="with 6 blocks and more: the medians over the cells, in each block, of the logarithms "
        "less the cell's mean go up or down with the blocks by Mann and Kendall's test, exact p "
        "under 0.01 (Kendall, Rank Correlation Methods, 1970), tau 0.6 and more, and by more than "
        "1 % over the run (Theil-Sen slope); trials measured outside their block, paced streams "
        "and imports are left out",
    advice=_("the trials of a cell are not of the same lab: find what changed (heat, other load), "
        "and compare cells within a block only"))
note(
    "consistent-with-drift",
    _("{what}: {change_share} from the first of {blocks} blocks to the last, in the middle one of "
        "{counted_cells}: consistent with drift, of which {blocks} blocks are no proof"),
    rank=74, section=SECTION,
    stated="with 3 to 5 blocks and 5 cells and more: each block's median lies beyond the one "
        "before, a quarter of the change and more after the second, more than 1 % in all, and "
        "Kendall's test with a season a cell has p under 0.01 (Hirsch, Slack and Smith, Water "
        "Resources Research 18, 1982)",
    advice=_("repeat the cells 6 times and more to tell drift from chance"))
note(
    "first-trial-slower",
    _("{what} of the first trials: {change_share} against the later ones, slower in {slower_cells} "
        "of {counted_cells} (n = {blocks} trials each)"),
    rule="over_time.drift:first_trials", rank=74, section=SECTION,
    stated="with 3 trials a cell and more: the first is slower than the median of the later ones "
        "in so many cells that an exact sign test has p under 0.01, by more than 2 % in the middle "
        "one, and by more than 3 times what any later block is off",
    advice=_("leave the first trial out of the means, or let a `warm_up` go before each"))
warning(
    "periodic-dips",
    _("{in_trials}: the rate falls by {depth_share} every {period_ns}"),
    _("the rate falls by {depth_share} every {period_ns}"),
    rule="over_time.dips:dips", rank=13, section=SECTION,
    stated="in more than half of a cell's trials the series of 40 intervals and more has a period, "
        "of 3 intervals to a quarter of the window, by its autocorrelation (Box and Jenkins, Time "
        "Series Analysis, 1970), and dips by more than 5 % and 3 times the receiver's largest call "
        "over the bytes of an interval",
    advice=_("look for what comes that often: a timer, a CPU quota, a scan, other traffic"))
note(
    "congestion-dips",
    _("{in_trials}: the rate falls by {depth_share} every {period_ns}, with "
        "{resent_segments} sent again: TCP’s congestion control"),
    _("the rate falls by {depth_share} every {period_ns}, with {resent_segments} sent "
        "again: TCP’s congestion control"),
    rank=74, section=SECTION,
    stated="the same where TCP sent segments again in each of these trials",
    advice=_("that is how it seeks the rate of the path: look at the queue before the slowest "
        "link"))
