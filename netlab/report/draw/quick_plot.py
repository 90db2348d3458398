"""A chart for a notebook: means with their intervals, on axes that the user can change.

A cell is one combination of test, pairing (server and client) and settings.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, TypeAlias

from netlab.results.core import Frame

if TYPE_CHECKING:
    from matplotlib.axes import Axes

    Drawn: TypeAlias = Axes

WIDE = 100
"""From this ratio of the largest x to the smallest x upwards, the x axis is logarithmic."""


def quick_plot(summary: Frame, x: str, hue: str, y: str | None) -> Axes:
    """Draw means over the column ``x``, a line for each value of the column ``hue``.

    ``summary``: the result of ``netlab.results.core.summary_of``. Bars are 95 % intervals. If
    several cells have the same ``x`` and ``hue``, the mean of these cells is drawn, without a bar,
    and the title names the settings in which they differ. Raises ValueError for an unknown column
    or quantity, and if there is no result.
    """
    import matplotlib.pyplot as plt

    if summary.empty:
        raise ValueError("there is no result to draw")
    columns = [name for name in summary.columns if name not in ("n", "mean", "low", "high", "unit")]
    for name in (x, hue):
        if name not in columns:
            raise ValueError(f"{name!r} is no column to draw by; there are {', '.join(columns)}")
    quantities = list(dict.fromkeys(summary["quantity"]))
    if y is not None and y not in quantities:
        raise ValueError(f"{y!r} was not measured; there are {', '.join(quantities)}")
    rows = summary[summary["quantity"] == (y or quantities[0])].dropna(subset=[x])
    _, axes = plt.subplots()
    for level, line in rows.groupby(hue, sort=False, dropna=False):
        _draw(axes, line, x, str(level))
    first = rows.iloc[0]
    unit = f", {first['unit']}" if first["unit"] else ""
    pooled = [name for name in columns if name not in (x, hue, "quantity")]
    pooled = [name for name in pooled if rows.groupby([x, hue])[name].nunique().max() > 1]
    if pooled:
        axes.set_title(f"means over {', '.join(pooled)}")
    axes.set_xlabel(x)
    axes.set_ylabel(f"{first['quantity']}{unit}")
    axes.set_ylim(bottom=0)
    places = rows[x]
    if places.dtype != "string" and places.min() > 0 and places.max() >= WIDE * places.min():
        axes.set_xscale("log", base=2)
    axes.legend(title=hue)
    picture: Axes = axes
    return picture


def _draw(axes: Any, line: Frame, x: str, label: str) -> None:
    if line[x].duplicated().any():
        # Several cells with the same x are drawn as one mean, which has no interval.
        line = (
            line.groupby(x, as_index=False, sort=False)["mean"].mean().assign(low=None, high=None)
        )
    line = line.sort_values(x)
    means = line["mean"].astype(float)
    # A mean of fewer than three trials has no interval, so it has no bar.
    below = (means - line["low"].astype("Float64").fillna(means)).astype(float)
    above = (line["high"].astype("Float64").fillna(means) - means).astype(float)
    places = line[x].astype(str if line[x].dtype == "string" else float)
    axes.errorbar(places, means, yerr=[below, above], marker="o", capsize=3, label=label)
