"""Charts → what the page's script draws of them, packed. Pure.

The same nouns as the drawn pictures are made of, so that both show the same figures. Bars and maps
stay as they are drawn.
"""

from __future__ import annotations

import base64
import gzip
import json
from collections.abc import Iterable, Sequence
from typing import Any

from netlab.report.tables.elements import Chart, Curve, HeatMap, Panel, Strip

DIGITS = 6
"""That count, of a coordinate: more than a screen shows, and than a figure is known to."""


def packed_charts(charts: Iterable[Chart | Strip | HeatMap]) -> str:
    """Gzipped JSON in base64: an object a chart, by its name; the same charts give the same
    bytes. Empty where there is none to explore."""
    found = {chart.name: data for chart in charts if (data := _data(chart)) is not None}
    if not found:
        return ""
    text = json.dumps(found, separators=(",", ":"), ensure_ascii=True, allow_nan=False)
    return base64.b64encode(gzip.compress(text.encode("ascii"), 6, mtime=0)).decode("ascii")


def _data(chart: Chart | Strip | HeatMap) -> dict[str, Any] | None:
    if isinstance(chart, Strip):
        panels = [_panel(each) for each in chart.panels]
        return {"title": chart.title, "x": chart.x_label, "ticks": [], "panels": panels}
    if isinstance(chart, HeatMap) or chart.as_bars or not chart.lines:
        return None
    return {
        "title": chart.title,
        "x": chart.x_label,
        "ticks": [[_short(x), label] for x, label in chart.x_ticks],
        "logX": chart.log_x,
        "logY": chart.log_y,
        "fromZero": chart.from_zero,
        "panels": [_of_chart(chart)],
    }


def _of_chart(chart: Chart) -> dict[str, Any]:
    return {
        "title": "",
        "unit": chart.unit,
        "quantity": chart.quantity,
        "lines": _lines(chart.lines),
        "ceilings": _lines(chart.ceilings),
    }


def _panel(panel: Panel) -> dict[str, Any]:
    lines = _lines(panel.lines)
    return {
        "title": panel.title,
        "unit": panel.unit,
        "quantity": "",
        "lines": lines,
        "ceilings": [],
    }


def _lines(curves: Sequence[Curve]) -> list[dict[str, Any]]:
    return [
        {
            "label": curve.label,
            "place": curve.place,
            "joined": curve.joined,
            "x": [_short(x) for x, _y in curve.points],
            "y": [None if y is None else _short(y) for _x, y in curve.points],
            "half": [None if half is None else _short(half) for half in curve.half_widths],
        }
        for curve in curves
    ]


def _short(value: float) -> float:
    return float(f"{value:.{DIGITS}g}")
