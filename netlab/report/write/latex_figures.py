"""Charts → figures of a LaTeX document, which include the charts' PDF files. No I/O."""

from __future__ import annotations

import re
from collections.abc import Iterable

from netlab.report.tables.elements import Chart, HeatMap, Strip
from netlab.report.write.latex_prose import latex_prose

_SAFE_NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9-]*")
"""Names that are safe in an argument of LaTeX."""


def figures(charts: Iterable[Chart | Strip | HeatMap], folder: str, marker: str = ".") -> list[str]:
    """A figure for each chart, as wide as the text. LaTeX leaves out a figure whose PDF is not in
    ``folder``.
    """
    return [_figure(chart, folder, marker) for chart in charts if _SAFE_NAME.fullmatch(chart.name)]


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
