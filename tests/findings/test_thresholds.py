"""The conditions of findings name the constants of their rules: no threshold stands there twice."""

from __future__ import annotations

import re
import runpy

import pytest
from folders import ROOT

from netlab.findings import stream_rules
from netlab.findings.catalogue import Kind

RULES = runpy.run_path(str(ROOT / "docs" / "scripts" / "findings_rules.py"))
when = RULES["when"]

BY_HAND = {
    # What a probe records or does.
    "cpu-bound": "80", "queue-on-path": "10 10", "host-delay": "5 10", "clock": "0.5",
    # What functions compute, and what another room decides.
    "above-wire": "0.1 0.2", "no-timestamps": "0.1 0.2", "search-limit": "0.1",
    "search-doubt": "1.25",
    # A scale of its own, the ends of a range, and the time-outs of TCP.
    "deviation": "1 3", "far-host": "3", "trip-made-of": "100", "two-modes": "20 30",
    "first-packet-lost": "1 2 3 4 5 7 0.9 1",
    # Those of a source are its own: the formula of RFC 8337, and the rates of IEEE 802.3.
    "target": "3", "link-far-below": "10 100 1000 2500 5000 10,000",
}  # fmt: skip
"""Name of a kind → the numbers of its condition that are no constants of its rule."""

SOURCES = (
    r"\[[^\]]*\]|\([^)]*\b(?:RFC|1[89]\d\d)\b[^)]*\)|RFC \d+|IEEE [\d.]+|section [\d.]+|"
    r"`[^`]*`|\d+th percentile|12 bytes"
)


def test_a_number_in_a_condition_is_the_constant_of_the_rule_and_not_written_again() -> None:
    for kind in Kind:
        plain = re.sub(SOURCES, "", re.sub(r"\{[^}]*\}", "", RULES["rule_of"](kind)[1]))
        numbers = re.findall(r"\d+(?:[.,]\d+)*", plain)
        assert numbers == BY_HAND.get(kind.name, "").split(), kind.name


def test_a_condition_is_stated_with_the_value_of_each_constant_that_it_names(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    assert [kind for kind in Kind if "{" in when(kind)] == []
    assert "for more than 5 % of the window" in when(Kind.OTHER_LOAD)
    monkeypatch.setattr(stream_rules, "STARVED", 0.07)
    assert "for more than 7 % of the window" in when(Kind.OTHER_LOAD)
    assert "in a window of at least 0.2 s" in when(Kind.HOST_DELAY_PROCESS)
    assert "(4 % together if" in when(Kind.CPU_BOUND_SENDER)
    assert "longest 2 % of the calls" in when(Kind.SENDER_CALL_RATE)
    assert "At least 10,000 messages" in when(Kind.SATURATED_CORE)
