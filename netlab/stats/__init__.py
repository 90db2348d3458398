"""Statistics of trials; each module has one subject, and cites its sources."""

from netlab.stats.comparison import (
    MARGIN,
    ComparisonResult,
    Verdict,
    compare,
    judged_together,
    pairs_by_block,
)
from netlab.stats.summary import (
    MIN_TRIALS,
    Outlier,
    interval,
    mean,
    mean_absolute_deviation,
    median,
    median_absolute_deviation,
    outliers_among_siblings,
    outliers_on_axis,
    precise,
    rounded,
    standard_deviation,
    variance,
)

__all__ = [
    "MARGIN",
    "MIN_TRIALS",
    "ComparisonResult",
    "Outlier",
    "Verdict",
    "compare",
    "interval",
    "judged_together",
    "mean",
    "mean_absolute_deviation",
    "median",
    "median_absolute_deviation",
    "outliers_among_siblings",
    "outliers_on_axis",
    "pairs_by_block",
    "precise",
    "rounded",
    "standard_deviation",
    "variance",
]
