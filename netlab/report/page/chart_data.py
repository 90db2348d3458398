"""Charts → the data from which the page's script draws them, packed. No I/O.

The data comes from the same objects as the drawn pictures, so that both show the same figures.
Charts with bars, or with a line whose x values do not increase, are shown as pictures only.
"""

from __future__ import annotations

import base64
import gzip
import json
from collections.abc import Iterable, Sequence
from itertools import pairwise
from typing import Any

from netlab.report.tables.elements import Chart, Curve, HeatMap, Strip
from netlab.results.load_timeline import short


def packed_charts(charts: Iterable[Chart | Strip | HeatMap]) -> str:
    """Gzipped JSON in base64: an object for each chart, by the chart's name. The same charts give
    the same bytes. Empty if the script can draw none of the charts."""
    by_name = {chart.name: data for chart in charts if (data := _data(chart)) is not None}
    if not by_name:
        return ""
    text = json.dumps(by_name, separators=(",", ":"), ensure_ascii=True, allow_nan=False)
    return base64.b64encode(gzip.compress(text.encode("ascii"), 6, mtime=0)).decode("ascii")


def _data(chart: Chart | Strip | HeatMap) -> dict[str, Any] | None:
    match chart:
        case HeatMap():
            return _map(chart)
        case Strip():
            lines = [line for panel in chart.panels for line in panel.lines]
            return _strip(chart) if _can_be_explored(lines) else None
        case _:
            explorable = not chart.as_bars and _can_be_explored([*chart.lines, *chart.ceilings])
            return _diagram(chart) if explorable else None


def _can_be_explored(curves: Sequence[Curve]) -> bool:
    """Whether there is any figure, and each line runs from left to right."""
    return any(y is not None for curve in curves for _x, y in curve.points) and all(
        x < next_x for curve in curves for (x, _), (next_x, _) in pairwise(curve.points)
    )


def _diagram(chart: Chart) -> dict[str, Any]:
    panels = [(panel.title, panel.lines) for panel in chart.panels] or [("", chart.lines)]
    ceilings = _lines(chart.ceilings)
    return {
        "title": chart.title,
        "x": chart.x_label,
        "ticks": [[short(x), label] for x, label in chart.x_ticks],
        "logX": chart.log_x,
        "logY": chart.log_y,
        "fromZero": chart.from_zero,
        "panels": [
            {**_panel(title, chart.unit, lines), "quantity": chart.quantity, "ceilings": ceilings}
            for title, lines in panels
        ],
    }


def _strip(strip: Strip) -> dict[str, Any]:
    panels = [_panel(panel.title, panel.unit, panel.lines) for panel in strip.panels]
    return {
        "title": strip.title,
        "x": strip.x_label,
        "ticks": [],
        "fromZero": strip.from_zero,
        "bands": [[short(band.from_x), short(band.until_x), band.label] for band in strip.bands],
        "panels": panels,
    }


def _panel(title: str, unit: str, lines: Sequence[Curve]) -> dict[str, Any]:
    return {"title": title, "unit": unit, "quantity": "", "lines": _lines(lines), "ceilings": []}


def _lines(curves: Sequence[Curve]) -> list[dict[str, Any]]:
    return [
        {
            "label": curve.label,
            "place": curve.place,
            "joined": curve.joined,
            "x": [short(x) for x, _y in curve.points],
            "y": _places(y for _x, y in curve.points),
            "half": _places(curve.half_widths),
        }
        for curve in curves
    ]


def _map(chart: HeatMap) -> dict[str, Any]:
    return {
        "title": chart.title,
        "unit": chart.unit,
        "x": chart.x_label,
        "y": chart.y_label,
        "rows": chart.rows,
        "columns": chart.columns,
        "values": [_places(row) for row in chart.values],
        "inside": [_places(row) for row in chart.inside],
        "insideLabel": chart.inside_label,
    }


def _places(values: Iterable[float | None]) -> list[float | None]:
    return [None if value is None else short(value) for value in values]
