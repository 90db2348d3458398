"""Makes the list of docs/reference/findings.md: the whole rule of each kind of finding.

``python docs/scripts/code_map.py findings`` prints it, and ``make site`` puts it into the page. It
has the rules of findings_rules.py and the advice of the table of kinds. What produced each kind
comes from ``findings_produced.json``, precision and recall from
``findings_measured/`` (findings_produced.py describes both).
"""

from __future__ import annotations

import itertools
import json
import re
import runpy
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path
from typing import Any

from netlab.findings.catalogue import Kind

PAGE = Path(__file__).resolve().parent.parent / "findings.md"
RULES = runpy.run_path(str(Path(__file__).resolve().parent / "findings_rules.py"))
PRODUCED = runpy.run_path(str(Path(__file__).resolve().parent / "findings_produced.py"))
HEAD = """\
| kind | severity | what to do | produced by | precision | recall |
|---|---|---|---|---|---|
"""
BAR, NOTHING = "\\|", "–"
VALUES = re.compile(r"(?:^|(?<=[.;:] ))(?=(?:`[a-z-]+`(?: \(\w+\))?, )*`[a-z-]+`(?: \(\w+\))?: )")
"""In a rule, the beginning of the part about one value of the kind, or about several."""
OF_ALL = re.compile(r"(?<=\. )(?=Not stated|Only the first)")
"""In a rule, the beginning of what holds for all values again."""

Figures = Mapping[str, Mapping[str, int]]
Origins = Mapping[str, Mapping[str, Any]]


def sections() -> dict[str, list[Kind]]:
    """Heading of docs/findings.md → its kinds, in the order of the page and of the table."""
    headings = re.findall(r"^## (.*)$", PAGE.read_text("utf-8"), re.MULTILINE)
    by_heading = {t: [kind for kind in Kind if RULES["rule_of"](kind)[0] == t] for t in headings}
    return {title: kinds for title, kinds in by_heading.items() if kinds}


def parts(kinds: Iterable[Kind], figures: Figures, origins: Origins) -> Iterator[str]:
    """For each rule of a section a heading, the rule, and a table with a row per kind."""
    for condition, same in itertools.groupby(kinds, key=RULES["when"]):
        alike = [*same]
        rows = (_row(kind, figures.get(kind, {}), origins.get(kind, {})) for kind in alike)
        yield f"### {alike[0].name}\n\n{_text(condition)}\n\n{HEAD}{''.join(rows)}"


def _text(condition: str) -> str:
    """A rule as Markdown, with an item for each value that it tells apart."""
    rule = f"{condition[:1].upper()}{condition[1:].removesuffix('.')}.".replace(
        "](#", "](../findings.md#"
    )
    first, *values = VALUES.split(rule)
    if not values:
        return rule
    *items, last = values
    last, *of_all = OF_ALL.split(last, maxsplit=1)
    listed = "\n".join(f"- {item.strip().removesuffix(';')}" for item in (*items, last))
    return "\n\n".join(part.strip() for part in (first, listed, *of_all) if part)


def _row(kind: Kind, counts: Mapping[str, int], origin: Mapping[str, Any]) -> str:
    cells = [f"`{kind}`", kind.severity, kind.advice.replace("|", BAR), by(origin)]
    cells += [_share(counts, "right", "said"), _share(counts, "found", "planted")]
    return f"| {' | '.join(cells)} |\n"


def by(origin: Mapping[str, Any]) -> str:
    """What produced a kind, and how often: a cell of the table."""
    words = [
        f"{name}: {_named(runs)}"
        for name, runs in origin.items()
        if name in ("recorded", "imported")
    ]
    if causes := origin.get("planted"):
        shares = {cause: f"{stated}/{runs}" for cause, (stated, runs) in causes.items()}
        words.append(f"planted: {_named(shares)}")
    if tests := origin.get("tested"):
        words.append(f"tested: {len(tests)}")
    return "; ".join(words) or NOTHING


def _named(counts: Mapping[str, Any]) -> str:
    return ", ".join(f"`{name}` {count}" for name, count in counts.items())


def _share(counts: Mapping[str, int], part: str, total: str) -> str:
    if not counts.get(total):
        return NOTHING
    return f"{counts[part]}/{counts[total]}"


def listed() -> str:
    """The list: the sections with their parts."""
    figures, origins = PRODUCED["figures"](), json.loads(PRODUCED["PRODUCED"].read_text("utf-8"))
    return "\n".join(
        f"## {heading}\n\n" + "\n".join(parts(kinds, figures, origins))
        for heading, kinds in sections().items()
    )
