"""Sentences and headings → LaTeX in which siunitx sets every number that has a unit. No I/O."""

from __future__ import annotations

import re

from netlab.report.write.latex_escape import latex_text

_UNITS = {
    "%": r"\percent",
    "µs": r"\micro\second",
    "us": r"\micro\second",
    **{unit: unit for unit in ("h", "min", "s", "ms", "ns", "GHz", "MHz", "1/s", "frames/s")},
    **{f"{prefix}bit/s": f"{prefix}bit/s" for prefix in ("", "k", "M", "G", "T")},
    **{unit: unit for unit in ("B", "kB", "MB", "GB", "KiB", "MiB", "GiB")},
    **{unit: unit for unit in ("byte", "bytes", "Byte", "byte/s", "Byte/s")},
}
"""Unit in the report → unit for siunitx, which prints text that is not a macro unchanged."""

_GROUPS = ",.’\u00a0\u202f"
"""Characters that group digits, or that are the decimal marker, in some language."""
_UNGROUPED: dict[int, str] = dict.fromkeys(map(ord, _GROUPS), "")
_NUMBER = r"[-−]?\d+(?:[{groups}]\d{{3}}(?!\d))*(?:{marker}\d+)?"
_UNIT = "|".join(sorted(map(re.escape, _UNITS), key=len, reverse=True))


def digits(text: str, marker: str) -> str | None:
    """A figure in the form of siunitx, ``1488095.5`` for ``1.488.095,5``; ``None`` for words."""
    plain = text.replace("−", "-").translate(_UNGROUPED | {ord(marker): "."})
    return plain if re.fullmatch(r"-?\d+(\.\d+)?", plain) else None


def latex_prose(text: str, marker: str = ".") -> str:
    """LaTeX source as from ``latex_text``, but with ``94.10 Mbit/s`` as ``\\qty{94.10}{Mbit/s}``.

    ``93.27 ± 0.48 Mbit/s`` is one quantity with its interval. ``marker`` is the decimal marker of
    the text.
    """
    parts, at = [], 0
    for match in _quantity(marker).finditer(text):
        number = digits(match["number"], marker)
        half = digits(match["half"], marker) if match["half"] else None
        if number is None:
            continue
        parts.append(latex_text(text[at : match.start()]))
        quantity = number if half is None else f"{number} +- {half}"
        parts.append(rf"\qty{{{quantity}}}{{{_UNITS[match['unit']]}}}")
        at = match.end()
    return "".join([*parts, latex_text(text[at:])])


def _quantity(marker: str) -> re.Pattern[str]:
    groups = re.escape(_GROUPS.replace(marker, ""))
    number = _NUMBER.format(groups=groups, marker=re.escape(marker))
    return re.compile(
        rf"(?<![\w.,/^-])(?P<number>{number})(?: ± (?P<half>{number}))?"
        rf"[ \u00a0\u202f](?P<unit>{_UNIT})(?![\w/²³^])"
    )
