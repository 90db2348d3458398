"""Writes the tables of docs/findings.md from the table of kinds: a table a section, a row a kind.

``python docs/scripts/findings_table.py`` (``make docs``). What a row says of itself (``section``,
``stated``) is all that goes in; the prose around the tables is the page's own. A section that the
page does not have is added with its heading. Where ``findings_measured.json`` stands beside this
file, precision and recall of each kind come from there::

    {"outlier": {"said": 58, "right": 57, "planted": 60, "found": 57}}

``said``: runs in which it was said, ``right`` of them rightly; ``planted``: runs with its cause,
``found`` of them told. ``make benchmark-truths WITH="--score --figures FILE"`` writes it.
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
"""Before this heading stand sections that the page has no place for yet."""
BAR = "\\|"

Figures = Mapping[str, Mapping[str, int]]


def sections() -> dict[str, list[Kind]]:
    """Heading → its kinds, in the order of the table; without kinds that do not say where."""
    found: dict[str, list[Kind]] = {}
    for kind in Kind:
        if kind.section:
            found.setdefault(kind.section, []).append(kind)
    return found


def measured() -> Figures:
    """What was measured of each kind; empty where nothing was."""
    if not MEASURED.exists():
        return {}
    figures: Figures = json.loads(MEASURED.read_text("utf-8"))
    return figures


def table(kinds: list[Kind], figures: Figures) -> str:
    """One section's table."""
    names = ["kind", "severity", "stated where", *(["precision", "recall"] if figures else [])]
    lines = [_line(names), _line(["---"] * len(names)).replace(" ", "")]
    for kind in kinds:
        cells = [f"`{kind}`", kind.severity, kind.stated.replace("|", BAR)]
        if figures:
            known = figures.get(str(kind), {})
            cells += [_share(known, "right", "said"), _share(known, "found", "planted")]
        lines.append(_line(cells))
    return "".join(lines)


def _line(cells: list[str]) -> str:
    return f"| {' | '.join(cells)} |\n"


def _share(known: Mapping[str, int], part: str, whole: str) -> str:
    if not known.get(whole):
        return "–"
    return f"{100 * known[part] / known[whole]:.3g} % ({known[part]} of {known[whole]})"


def updated(text: str) -> str:
    """The page with its tables made again."""
    figures = measured()
    for heading, kinds in sections().items():
        begin, rows = BEGIN.format(heading), table(kinds, figures)
        if begin not in text:
            text = text.replace(NEXT, f"## {heading}\n{begin}{END}\n{NEXT}", 1)
        before, rest = text.split(begin, 1)
        text = f"{before}{begin}{rows}{END}{rest.split(END, 1)[1]}"
    return text


if __name__ == "__main__":
    PAGE.write_text(updated(PAGE.read_text("utf-8")), "utf-8")
