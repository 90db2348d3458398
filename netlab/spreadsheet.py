"""Changes texts that a spreadsheet would treat as a formula, by their first character. No I/O."""

from __future__ import annotations

_FORMULA_STARTS = ("=", "+", "-", "@", "\t", "\r")


def harmless(text: str) -> str:
    """The text, with an apostrophe in front if a spreadsheet would treat it as a formula.

    Source: OWASP, CSV injection.
    """
    return "'" + text if text.startswith(_FORMULA_STARTS) else text
