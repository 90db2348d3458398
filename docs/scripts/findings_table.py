"""Writes the tables of docs/findings.md from the table of kinds: one per section, a row per kind.

``python docs/scripts/findings_table.py`` (``make docs``). The tables have only what a row states
(``section``, ``condition``); the prose around them belongs to the page. A section that the page
lacks is added with its heading. Precision and recall of each kind come from
``findings_measured.json`` next to this file, if it exists::

    {"outlier": {"said": 58, "right": 57, "planted": 60, "found": 57}}

``said``: runs with this finding, ``right`` of them correctly; ``planted``: runs with its cause,
``found`` of them detected. ``make benchmark-truths WITH="--score --figures FILE"`` writes the file.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path

from netlab.findings.kinds.catalogue import Kind

ROOT = Path(__file__).resolve().parent.parent.parent
PAGE = ROOT / "docs" / "findings.md"
MEASURED = Path(__file__).resolve().parent / "findings_measured.json"
BEGIN, END = "<!-- made by docs/scripts/findings_table.py: {} -->\n", "<!-- end -->\n"
NEXT = "## When data stop\n"
"""New sections are inserted before this heading."""
BAR = "\\|"

Figures = Mapping[str, Mapping[str, int]]


def sections() -> dict[str, list[Kind]]:
    """Heading → its kinds, in the order of the table; without kinds that have no section."""
    by_heading: dict[str, list[Kind]] = {}
    for kind in Kind:
        if kind.section:
            by_heading.setdefault(kind.section, []).append(kind)
    return by_heading


def measured() -> Figures:
    """The measured figures of each kind; empty if there are none."""
    if not MEASURED.exists():
        return {}
    figures: Figures = json.loads(MEASURED.read_text("utf-8"))
    return figures


def table(kinds: list[Kind], figures: Figures) -> str:
    """One section's table."""
    names = ["kind", "severity", "stated where", *(["precision", "recall"] if figures else [])]
    lines = [_line(names), _line(["---"] * len(names)).replace(" ", "")]
    for kind in kinds:
        cells = [f"`{kind}`", kind.severity, kind.condition.replace("|", BAR)]
        if figures:
            counts = figures.get(str(kind), {})
            cells += [_share(counts, "right", "said"), _share(counts, "found", "planted")]
        lines.append(_line(cells))
    return "".join(lines)


def _line(cells: list[str]) -> str:
    return f"| {' | '.join(cells)} |\n"


def _share(counts: Mapping[str, int], part: str, total: str) -> str:
    if not counts.get(total):
        return "–"
    return f"{100 * counts[part] / counts[total]:.3g} % ({counts[part]} of {counts[total]})"


def updated(text: str) -> str:
    """The page with current tables."""
    figures = measured()
    for heading, kinds in sections().items():
        begin, rows = BEGIN.format(heading), table(kinds, figures)
        if begin not in text:
            text = text.replace(NEXT, f"## {heading}\n{begin}{END}\n{NEXT}", 1)
        head, tail = text.split(begin, 1)
        text = f"{head}{begin}{rows}{END}{tail.split(END, 1)[1]}"
    return text


if __name__ == "__main__":
    PAGE.write_text(updated(PAGE.read_text("utf-8")), "utf-8")
