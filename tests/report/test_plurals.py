"""Texts for people count correctly and print no exponents."""

from __future__ import annotations

import re
from itertools import product

import pytest
from hypothesis import given
from hypothesis import strategies as st

from netlab.findings.finding import Kind
from netlab.findings.kind import Templates
from netlab.messages import Message
from netlab.report.language import wording_in
from netlab.report.text.findings import _COUNTED, _FORMS, filled, value_of
from netlab.units import (
    format_bytes,
    format_rate,
    format_seconds,
    format_share,
    many,
    plain_figures,
)

COUNTS = (0, 1, 2, 5)
NOUNS = (
    *("trials", "segments", "cells", "hosts", "packets", "messages", "frames", "streams"),
    *("rounds", "records", "lines", "bytes", "connections", "pairs", "columns", "figures"),
)
MANY, ONE = "|".join(NOUNS), "|".join(word[:-1] for word in NOUNS)
WRONG = re.compile(rf"(?<![\d.,/])1 (?:{MANY})\b|(?<![\d.,])[025] (?:{ONE})\b")
EXPONENT = re.compile(r"\d[eE][+-]?\d")
SEVERAL = re.compile(
    r".*_(bytes|per_s)|mtu_bytes|way|of_trials|packets|sent_messages|connections|pairs|streams"
    r"|blocks|fragments"
)
"""Words, and figures that are never one in their sentence: lengths of packets, rates, totals.
"""


def templates_of(kind: Kind) -> Templates:
    return (*kind.says, *kind.shown)


def filled_in(template: Message, number: int) -> str:
    """A template with every count in it being ``number``."""

    def value(name: str) -> str | None:
        if name in _COUNTED:
            return value_of(name, {_COUNTED[name][0]: number})
        counts = re.search(rf"\{{{name}\}} (?:{MANY})\b", template)
        return str(number) if counts and not SEVERAL.fullmatch(name) else "some"

    message = filled((template,), value)
    assert message is not None
    return message


def test_a_finding_uses_singular_and_plural_as_its_counts_require() -> None:
    for kind, number in product(Kind, COUNTS):
        for template in templates_of(kind):
            assert WRONG.search(filled_in(template, number)) is None, (kind, template)


@pytest.mark.parametrize("name", _COUNTED)
def test_each_counted_noun_has_a_singular_and_a_plural_in_english_and_german(name: str) -> None:
    of, _ = _COUNTED[name]
    singular, plural = (value_of(name, {of: number}) for number in (1.0, 2.0))
    assert singular and plural
    assert singular.replace("1", "2") != plural
    assert value_of(name, {}) is None
    if name != "all_trials":
        german = wording_in("de").text(plural)
        assert german != plural, "no German plural"
        assert german.startswith(("2 ", "die 2 "))


def test_regular_nouns_are_counted_with_singular_and_plural() -> None:
    for number, word in product(COUNTS, ONE.split("|")):
        assert many(number, word) == (f"1 {word}" if number == 1 else f"{number} {word}s")


@given(st.floats(1e-12, 1e15, allow_nan=False))
def test_no_figure_for_people_has_an_exponent(value: float) -> None:
    texts = [
        format_share(value),
        format_rate(value),
        format_seconds(value),
        format_bytes(round(value)),
        plain_figures(value, 12),
        *(form(value) for form in _FORMS.values()),
    ]
    assert [text for text in texts if EXPONENT.search(text)] == []


@given(st.floats(-1e12, 1e12, allow_nan=False), st.integers(1, 12))
def test_a_plain_figure_is_the_number_rounded_to_the_requested_digits(
    number: float, figures: int
) -> None:
    text = plain_figures(number, figures)
    assert float(text) == float(f"{number:.{figures}g}")
    assert re.fullmatch(r"-?[0-9]+(\.[0-9]*[1-9])?", text)


def test_a_share_is_printed_in_percent_with_at_most_three_significant_digits() -> None:
    assert f"{format_share(0.005)} to {format_share(12.5)}" == "0.5 % to 1250 %"
    assert format_share(0.123456) == "12.3 %"
    assert format_share(1e-7) == "0.00001 %"
    assert plain_figures(0.0) == plain_figures(-0.0) == "0"
