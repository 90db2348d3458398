"""Texts for a spreadsheet, which treats some beginnings as a formula. Pure."""

from __future__ import annotations

_FORMULA_STARTS = ("=", "+", "-", "@", "\t", "\r")


def harmless(text: str) -> str:
    """Text that no spreadsheet treats as a formula: an apostrophe in front makes it text.

    Source: OWASP, CSV injection.
    """
    return "'" + text if text.startswith(_FORMULA_STARTS) else text
