"""Statistics of trials; each module has one subject, does no I/O, and cites its sources.

The unit of analysis is the trial (one execution of a test). The values that one trial has, for
example one for each second, are autocorrelated. So they are never used as independent values.
"""

from netlab.stats.comparison import (
    MARGIN,
    ComparisonResult,
    Verdict,
    compare,
    judged_together,
    pairs_by_block,
)
from netlab.stats.intervals import (
    MIN_TRIALS,
    interval,
    precise,
)
from netlab.stats.outliers import Outlier, outliers_among_siblings, outliers_on_axis
from netlab.stats.summary import (
    mean,
    mean_absolute_deviation,
    median,
    median_absolute_deviation,
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
