"""Writes the tables of docs/findings.md from the table of kinds: one per section, a row per kind.

``python docs/scripts/findings_table.py`` (``make docs``). The tables have only what a row states
(``section``, ``condition``); the prose around them belongs to the page. A section that the page
lacks is added with its heading. What produced each kind comes from ``findings_produced.json``,
precision and recall from ``findings_measured/`` (findings_produced.py describes both).
"""

from __future__ import annotations

import json
import runpy
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from netlab.findings.kinds.catalogue import Kind

ROOT = Path(__file__).resolve().parent.parent.parent
PAGE = ROOT / "docs" / "findings.md"
PRODUCED = runpy.run_path(str(Path(__file__).resolve().parent / "findings_produced.py"))
BEGIN, END = "<!-- made by docs/scripts/findings_table.py: {} -->\n", "<!-- end -->\n"
NEXT = "## When data stop\n"
"""New sections are inserted before this heading."""
BAR, NOTHING = "\\|", "–"

MOST_NAMED = 2
"""Runs or causes that a cell names. More of them are only counted."""

Figures = Mapping[str, Mapping[str, int]]
Origins = Mapping[str, Mapping[str, Any]]


def sections() -> dict[str, list[Kind]]:
    """Heading → its kinds, in the order of the table; without kinds that have no section."""
    by_heading: dict[str, list[Kind]] = {}
    for kind in Kind:
        if kind.section:
            by_heading.setdefault(kind.section, []).append(kind)
    return by_heading


def table(kinds: list[Kind], figures: Figures, origins: Origins) -> str:
    """One section's table."""
    names = ["kind", "severity", "stated where", "produced by", "precision", "recall"]
    lines = [_line(names), _line(["---"] * len(names)).replace(" ", "")]
    above = ""
    for kind in kinds:
        counts = figures.get(str(kind), {})
        stated = "as above" if kind.condition == above else kind.condition.replace("|", BAR)
        above = kind.condition
        cells = [f"`{kind}`", kind.severity, stated]
        cells += [by(origins.get(str(kind), {}))]
        cells += [_share(counts, "right", "said"), _share(counts, "found", "planted")]
        lines.append(_line(cells))
    return "".join(lines)


def by(origin: Mapping[str, Any]) -> str:
    """What produced a kind, and how often: a cell of the table."""
    words = [
        f"{name}: {_named(runs, sum(runs.values()))}"
        for name, runs in origin.items()
        if name in ("recorded", "imported")
    ]
    if causes := origin.get("planted"):
        shares = {cause: f"{stated}/{runs}" for cause, (stated, runs) in causes.items()}
        total = [sum(column) for column in zip(*causes.values(), strict=True)]
        words.append(f"planted: {_named(shares, f'{total[0]}/{total[1]}')}")
    if tests := origin.get("tested"):
        words.append(f"tested: {len(tests)}")
    return "; ".join(words) or NOTHING


def _named(counts: Mapping[str, Any], total: Any) -> str:
    if len(counts) > MOST_NAMED:
        return f"{total} in {len(counts)}"
    return ", ".join(f"`{name}` {count}" for name, count in counts.items())


def _line(cells: list[str]) -> str:
    return f"| {' | '.join(cells)} |\n"


def _share(counts: Mapping[str, int], part: str, total: str) -> str:
    if not counts.get(total):
        return NOTHING
    return f"{counts[part]}/{counts[total]}"


def updated(text: str) -> str:
    """The page with current tables."""
    figures, origins = PRODUCED["figures"](), json.loads(PRODUCED["PRODUCED"].read_text("utf-8"))
    for heading, kinds in sections().items():
        begin, rows = BEGIN.format(heading), table(kinds, figures, origins)
        if begin not in text:
            text = text.replace(NEXT, f"## {heading}\n{begin}{END}\n{NEXT}", 1)
        head, tail = text.split(begin, 1)
        text = f"{head}{begin}{rows}{END}{tail.split(END, 1)[1]}"
    return text


if __name__ == "__main__":
    PAGE.write_text(updated(PAGE.read_text("utf-8")), "utf-8")
