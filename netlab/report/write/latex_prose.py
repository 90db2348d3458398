"""Sentences and headings → LaTeX in which siunitx sets every number that has a unit. Pure."""

from __future__ import annotations

import re

from netlab.report.write.latex_escape import latex_text

_UNITS = {
    "%": r"\percent",
    "µs": r"\micro\second",
    "us": r"\micro\second",
    **{each: each for each in ("h", "min", "s", "ms", "ns", "GHz", "MHz", "1/s", "frames/s")},
    **{f"{prefix}bit/s": f"{prefix}bit/s" for prefix in ("", "k", "M", "G", "T")},
    **{each: each for each in ("B", "kB", "MB", "GB", "KiB", "MiB", "GiB")},
    **{each: each for each in ("byte", "bytes", "Byte", "byte/s", "Byte/s")},
}
"""Unit as the report writes it → as siunitx reads it; what is no macro it sets as it stands."""

_GROUPS = ",.’\u00a0\u202f"
"""What groups digits in one language or another, or is its decimal marker."""
_UNGROUPED: dict[int, str] = dict.fromkeys(map(ord, _GROUPS), "")
_NUMBER = r"[-−]?\d+(?:[{groups}]\d{{3}}(?!\d))*(?:{marker}\d+)?"
_UNIT = "|".join(sorted(map(re.escape, _UNITS), key=len, reverse=True))


def digits(text: str, marker: str) -> str | None:
    """``1.488.095,5`` as ``1488095.5``: a figure as siunitx reads it; ``None`` for words."""
    plain = text.replace("−", "-").translate(_UNGROUPED | {ord(marker): "."})
    return plain if re.fullmatch(r"-?\d+(\.\d+)?", plain) else None


def latex_prose(text: str, marker: str = ".") -> str:
    """Text as ``latex_text`` gives it, ``94.10 Mbit/s`` in it as ``\\qty{94.10}{Mbit/s}``.

    ``93.27 ± 0.48 Mbit/s`` is one quantity with its interval. ``marker`` is the decimal marker of
    the text.
    """
    made, at = [], 0
    for found in _quantity(marker).finditer(text):
        number = digits(found["number"], marker)
        half = digits(found["half"], marker) if found["half"] else None
        if number is None:
            continue
        made.append(latex_text(text[at : found.start()]))
        whole = number if half is None else f"{number} +- {half}"
        made.append(rf"\qty{{{whole}}}{{{_UNITS[found['unit']]}}}")
        at = found.end()
    return "".join([*made, latex_text(text[at:])])


def _quantity(marker: str) -> re.Pattern[str]:
    groups = re.escape(_GROUPS.replace(marker, ""))
    number = _NUMBER.format(groups=groups, marker=re.escape(marker))
    return re.compile(
        rf"(?<![\w.,/^-])(?P<number>{number})(?: ± (?P<half>{number}))?"
        rf"[ \u00a0\u202f](?P<unit>{_UNIT})(?![\w/²³^])"
    )
