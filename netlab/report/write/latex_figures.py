"""Charts → figures of a LaTeX document, of the files that stand beside it. Pure."""

from __future__ import annotations

import re
from collections.abc import Iterable

from netlab.report.tables.elements import Chart, HeatMap, Strip
from netlab.report.write.latex_prose import latex_prose

_SAFE_NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9-]*")
"""A name that a file of LaTeX may hold in an argument."""


def figures(charts: Iterable[Chart | Strip | HeatMap], folder: str, marker: str = ".") -> list[str]:
    """A figure a chart, as wide as the text; one whose PDF is not in ``folder`` is left out when
    the document is set.
    """
    return [_figure(each, folder, marker) for each in charts if _SAFE_NAME.fullmatch(each.name)]


def _figure(chart: Chart | Strip | HeatMap, folder: str, marker: str) -> str:
    file = f"{folder}/{chart.name}.pdf"
    unit = chart.unit if isinstance(chart, Chart) else ""
    caption = latex_prose(", ".join(word for word in (chart.title, unit) if word), marker)
    return "\n".join(
        [
            rf"\IfFileExists{{{file}}}{{%",
            r"\begin{figure}[!htbp]",
            r"\centering",
            rf"\includegraphics[width=\textwidth,height=0.85\textheight,keepaspectratio]{{{file}}}",
            rf"\caption{{{caption}}}",
            r"\end{figure}}{}",
            "",
        ]
    )
